"""What is written to a switch and read from it, with names instead of ids.

class            protobuf message                     P4Runtime 1.4
TableEntry       p4.v1.TableEntry                     section 9.1
CounterData      p4.v1.CounterData                    section 9.2
CounterCell      p4.v1.CounterEntry                   section 9.2.1
Replica          p4.v1.Replica                        section 9.5
MulticastGroup   p4.v1.MulticastGroupEntry            section 9.5.2
CloneSession     p4.v1.CloneSessionEntry              section 9.5.3
DigestConfig     p4.v1.DigestEntry                    section 9.6
Update           p4.v1.Update                         section 12
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cais_tools.session.values import MatchValue, Value

__all__ = [
    "CloneSession",
    "CounterCell",
    "CounterData",
    "DigestConfig",
    "Entity",
    "MulticastGroup",
    "Replica",
    "TableEntry",
    "Update",
    "UpdateType",
]


@dataclass(frozen=True, slots=True)
class CounterData:
    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class TableEntry:
    """One entry of a table.

    `table`, `action` and the keys of `match` and `params` are full names, aliases or unique suffixes when written,
    full names when read; values read are integers (Lpm, Ternary and Range of integers for such keys). A key that is
    left out, or None, does not count. `priority` is for tables with ternary, range or optional keys: 1 and more,
    the bigger one wins. `is_default` stands for the default entry: no match, and no action means "as in the program".
    `member_id` and `group_id` are set instead of an action in tables with an action profile.
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

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={value}" for name, value in self.match.items())
        return f"{self.table} {'default' if self.is_default else keys or 'any'}"


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


Entity = TableEntry | CounterCell | MulticastGroup | CloneSession | DigestConfig


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
