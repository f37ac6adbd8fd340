"""What is written to a switch and read from it, with names instead of ids.

class                 protobuf message                 P4Runtime 1.4
TableEntry            p4.v1.TableEntry                 section 9.1
OneShotAction         p4.v1.ActionProfileAction        section 9.2.3
ActionProfileMember   p4.v1.ActionProfileMember        section 9.2.1
ActionProfileGroup    p4.v1.ActionProfileGroup         section 9.2.2
GroupMember           p4.v1.ActionProfileGroup.Member  section 9.2.2
CounterData           p4.v1.CounterData                section 9.3
CounterCell           p4.v1.CounterEntry               section 9.3.2
MeterConfig           p4.v1.MeterConfig                section 9.4
MeterCell             p4.v1.MeterEntry                 section 9.4.2
Replica               p4.v1.Replica                    section 9.5
MulticastGroup        p4.v1.MulticastGroupEntry        section 9.5.1
CloneSession          p4.v1.CloneSessionEntry          section 9.5.2
ValueSet              p4.v1.ValueSetEntry              section 9.6
RegisterCell          p4.v1.RegisterEntry              section 9.7
DigestConfig          p4.v1.DigestEntry                section 9.8
Update                p4.v1.Update                     section 12
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cais_tools.session.values import MatchValue, Value

__all__ = [
    "ActionProfileGroup",
    "ActionProfileMember",
    "CloneSession",
    "CounterCell",
    "CounterData",
    "DigestConfig",
    "Entity",
    "GroupMember",
    "MeterCell",
    "MeterConfig",
    "MulticastGroup",
    "OneShotAction",
    "RegisterCell",
    "Replica",
    "TableEntry",
    "Update",
    "UpdateType",
    "ValueSet",
]


@dataclass(frozen=True, slots=True)
class CounterData:
    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class OneShotAction:
    """A member of a one-shot action set: it is picked `weight` times as often as one of weight 1, and not at all while
    `watch_port` is down. `weight` 0 is for action profiles that take none.
    """

    action: str
    params: Mapping[str, Value] = field(default_factory=dict[str, Value])
    weight: int = 1
    watch_port: int | None = None


@dataclass(frozen=True)
class TableEntry:
    """One entry of a table.

    `table`, `action` and the keys of `match` and `params` are full names, aliases or unique suffixes when written,
    full names when read; values read are integers (Lpm, Ternary and Range of integers for such keys). A key that is
    left out, or None, does not count. `priority` is for tables with ternary, range or optional keys: 1 and more,
    the bigger one wins. `is_default` stands for the default entry: no match, and no action means "as in the program".
    In tables with an action profile one of `member_id`, `group_id` and `one_shot` is set instead of an action.
    """

    table: str
    match: Mapping[str, MatchValue] = field(default_factory=dict[str, MatchValue])
    action: str | None = None
    params: Mapping[str, Value] = field(default_factory=dict[str, Value])
    priority: int = 0
    is_default: bool = False
    counter: CounterData | None = None
    member_id: int | None = None
    group_id: int | None = None
    one_shot: tuple[OneShotAction, ...] | None = None

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={value}" for name, value in self.match.items())
        return f"{self.table} {'default' if self.is_default else keys or 'any'}"


@dataclass(frozen=True)
class ActionProfileMember:
    """An action with its arguments, for table entries and groups to refer to. `member_id` 1 and more."""

    profile: str
    member_id: int
    action: str
    params: Mapping[str, Value] = field(default_factory=dict[str, Value])

    def __str__(self) -> str:
        return f"member {self.member_id} of {self.profile}"


@dataclass(frozen=True, slots=True, order=True)
class GroupMember:
    """A member's part of a group; see OneShotAction."""

    member_id: int
    weight: int = 1
    watch_port: int | None = None


@dataclass(frozen=True, slots=True)
class ActionProfileGroup:
    """Members of which the selector picks one for each packet. `group_id` 1 and more.

    `max_size` is set when the group is inserted and cannot change; 0: the switch's own bound.
    """

    profile: str
    group_id: int
    members: frozenset[GroupMember] = frozenset()
    max_size: int = 0

    def __str__(self) -> str:
        return f"group {self.group_id} of {self.profile}"


@dataclass(frozen=True, slots=True)
class MeterConfig:
    """Rates in packets or bytes a second, bursts in packets or bytes, as the meter's unit is.

    For single-rate meters `pir` and `pburst` are equal to `cir` and `cburst`; `eburst` is for those of three colours.
    """

    cir: int
    cburst: int
    pir: int
    pburst: int
    eburst: int = 0


@dataclass(frozen=True, slots=True)
class MeterCell:
    """One cell of an indirect meter; only MODIFY is possible. `config` None: all packets are green."""

    meter: str
    index: int
    config: MeterConfig | None = None

    def __str__(self) -> str:
        return f"{self.meter}[{self.index}]"


@dataclass(frozen=True, slots=True)
class RegisterCell:
    """One cell of a register; only MODIFY is possible. Not every switch writes registers (bmv2 does not)."""

    register: str
    index: int
    value: Value

    def __str__(self) -> str:
        return f"{self.register}[{self.index}]"


@dataclass(frozen=True)
class ValueSet:
    """All members of a parser's value set, each a match like that of a table entry; only MODIFY is possible."""

    name: str
    members: tuple[Mapping[str, MatchValue], ...] = ()

    def __str__(self) -> str:
        return f"value set {self.name}"


@dataclass(frozen=True, slots=True)
class CounterCell:
    """One cell of an indirect counter; only MODIFY is possible."""

    counter: str
    index: int
    data: CounterData

    def __str__(self) -> str:
        return f"{self.counter}[{self.index}]"


@dataclass(frozen=True, slots=True, order=True)
class Replica:
    port: int
    instance: int = 0


@dataclass(frozen=True, slots=True)
class MulticastGroup:
    """Copies of a packet that go to several ports. `group_id` 1 and more."""

    group_id: int
    replicas: frozenset[Replica] = frozenset()

    @classmethod
    def of_ports(cls, group_id: int, ports: Iterable[int]) -> MulticastGroup:
        return cls(group_id, frozenset(Replica(port) for port in ports))

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(sorted({replica.port for replica in self.replicas}))

    def __str__(self) -> str:
        return f"multicast group {self.group_id} to ports {', '.join(map(str, self.ports)) or 'none'}"


@dataclass(frozen=True, slots=True)
class CloneSession:
    """Where clones go. `packet_length_bytes` 0 is the whole packet (bmv2 can do no other)."""

    session_id: int
    replicas: frozenset[Replica] = frozenset()
    packet_length_bytes: int = 0

    def __str__(self) -> str:
        return f"clone session {self.session_id}"


@dataclass(frozen=True, slots=True)
class DigestConfig:
    """That a digest is wanted, and how it is bundled."""

    digest: str
    max_timeout_ns: int = 0
    max_list_size: int = 1
    ack_timeout_ns: int = 1_000_000_000

    def __str__(self) -> str:
        return f"digest {self.digest}"


Entity = (
    TableEntry
    | ActionProfileMember
    | ActionProfileGroup
    | CounterCell
    | MeterCell
    | MulticastGroup
    | CloneSession
    | ValueSet
    | RegisterCell
    | DigestConfig
)


class UpdateType(enum.IntEnum):
    INSERT = 1
    MODIFY = 2
    DELETE = 3


@dataclass(frozen=True, slots=True)
class Update:
    type: UpdateType
    entity: Entity

    def __str__(self) -> str:
        return f"{self.type.name} {self.entity}"
