"""What a trace holds, one class for each kind of event, and its form as JSON.

A packet passes through ingress once (again, when it is resubmitted or recirculated), and each copy of it through
egress: each pass is a `PassTrace`, and `packet` numbers those that belong together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, cast

__all__ = [
    "ActionRun",
    "Assigned",
    "BadChecksum",
    "ConditionChecked",
    "Counted",
    "Event",
    "Extracted",
    "Logged",
    "Metered",
    "Named",
    "Outcome",
    "ParserFailed",
    "PassTrace",
    "RegisterRead",
    "RegisterWritten",
    "Requested",
    "Selected",
    "StateEntered",
    "Stepped",
    "TableApplied",
    "unprogrammed",
]

_EXACT_BITS = 53
"""Integers of more bits lose some in most readers of JSON: values of wider fields are written as strings, `0x..`."""


@dataclass(frozen=True, slots=True)
class Named:
    """A value of `width` bits: a key, an argument, a field."""

    name: str
    value: int
    width: int


@dataclass(frozen=True, slots=True)
class StateEntered:
    kind: ClassVar[str] = "parser_state"
    state: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """`offset` and `length` in bytes."""

    kind: ClassVar[str] = "extract"
    header: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Selected:
    """The values that decide which state is next."""

    kind: ClassVar[str] = "select"
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ParserFailed:
    """Parsing ended with an error; the packet goes on to ingress all the same."""

    kind: ClassVar[str] = "parser_error"
    error: str


@dataclass(frozen=True, slots=True)
class BadChecksum:
    kind: ClassVar[str] = "bad_checksum"
    checksum: str


@dataclass(frozen=True, slots=True)
class ConditionChecked:
    kind: ClassVar[str] = "condition"
    condition: str
    result: bool


@dataclass(frozen=True, slots=True)
class TableApplied:
    """`entry` says what the entry that was hit matches on (empty: exactly the keys), None is a miss.

    `action` None: nothing was done.
    """

    kind: ClassVar[str] = "table"
    table: str
    keys: tuple[Named, ...]
    hit: bool
    entry: str | None
    priority: int
    action: str | None
    arguments: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class ActionRun:
    """An action that no table chose."""

    kind: ClassVar[str] = "action"
    action: str
    arguments: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Assigned:
    kind: ClassVar[str] = "set"
    field: Named


@dataclass(frozen=True, slots=True)
class RegisterRead:
    """`value` None: out of range, nothing was read."""

    kind: ClassVar[str] = "register_read"
    register: str
    index: int
    value: int | None


@dataclass(frozen=True, slots=True)
class RegisterWritten:
    """`before` None: out of range, nothing was written."""

    kind: ClassVar[str] = "register_write"
    register: str
    index: int
    before: int | None
    value: int


@dataclass(frozen=True, slots=True)
class Counted:
    kind: ClassVar[str] = "count"
    counter: str
    index: int


@dataclass(frozen=True, slots=True)
class Metered:
    """The colour is what is set next."""

    kind: ClassVar[str] = "meter"
    meter: str
    index: int


@dataclass(frozen=True, slots=True)
class Stepped:
    """Something done to headers, or to the packet as a whole."""

    kind: ClassVar[str] = "step"
    step: str


@dataclass(frozen=True, slots=True)
class Logged:
    """What the program's log_msg says."""

    kind: ClassVar[str] = "log"
    text: str


@dataclass(frozen=True, slots=True)
class Requested:
    """A clone, digest, resubmit or recirculate, made when the pipeline has ended. `ports`: where clones go."""

    kind: ClassVar[str] = "request"
    request: Literal["clone", "digest", "resubmit", "recirculate"]
    name: str
    ports: tuple[int, ...] = ()
    values: tuple[Named, ...] = ()


Event = (
    StateEntered
    | Extracted
    | Selected
    | ParserFailed
    | BadChecksum
    | ConditionChecked
    | TableApplied
    | ActionRun
    | Assigned
    | RegisterRead
    | RegisterWritten
    | Counted
    | Metered
    | Stepped
    | Logged
    | Requested
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a pass ended. `ports`: where copies go; `length`: bytes sent; `reason`: why, where it is not plain."""

    what: Literal["forwarded", "multicast", "dropped", "sent", "resubmitted", "recirculated"]
    ports: tuple[int, ...] = ()
    length: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PassTrace:
    """One pass of a packet, or what became of it between the two (`queue`: it was lost there).

    `port` is where it came in (ingress) or is to go out (egress, queue); `length` in bytes, as it came in. `origin` is
    `packet`, `clone`, `replica`, `resubmitted` or `recirculated`; `instance` the egress_rid of a replica.
    """

    packet: int
    timestamp_ns: int
    stage: Literal["ingress", "queue", "egress"]
    port: int
    length: int
    origin: str
    instance: int
    events: tuple[Event, ...]
    outcome: Outcome

    def as_dict(self) -> dict[str, Any]:
        """For JSON. Values of more than 53 bits are strings."""
        return {
            "packet": self.packet,
            "ts_ns": self.timestamp_ns,
            "stage": self.stage,
            "port": self.port,
            "length": self.length,
            "origin": self.origin,
            "instance": self.instance,
            "events": [{"event": event.kind, **dict(_items(event))} for event in self.events],
            "outcome": {**asdict(self.outcome), "ports": list(self.outcome.ports)},
        }


def unprogrammed(port: int, frame: bytes) -> PassTrace:
    """A frame that came in before there was a program; it has no number."""
    outcome = Outcome("dropped", reason="no program is loaded")
    return PassTrace(0, time.time_ns(), "ingress", port, len(frame), "packet", 0, (), outcome)


def _items(event: Event) -> Iterator[tuple[str, Any]]:
    for each in fields(event):
        value = getattr(event, each.name)
        if isinstance(value, Named):
            yield from (("field", value.name), ("value", _number(value.value)))
        elif isinstance(value, tuple):
            parts = cast("tuple[Named | int, ...]", value)
            yield each.name, [_part(part) for part in parts]
        else:
            yield each.name, _number(value) if isinstance(value, int) else value


def _part(part: Named | int) -> Any:
    return {"name": part.name, "value": _number(part.value)} if isinstance(part, Named) else _number(part)


def _number(value: int) -> int | str:
    return value if isinstance(value, bool) or value.bit_length() <= _EXACT_BITS else hex(value)
