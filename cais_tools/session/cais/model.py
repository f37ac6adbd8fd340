"""Groups, members, rules and output sets: what the CAIS tables of a switch say. Values only, sans I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.errors import UsageError
from cais_tools.wire.header import Op

__all__ = ["Group", "Member", "OutputSet", "Rule", "RuleSpec", "Span", "State", "default_priority", "op_label"]

_SPAN_BITS = 16
_SPAN_TOP = (1 << _SPAN_BITS) - 1
_SPAN = re.compile(r"(\w+)\s*(?:-|\.\.|:)\s*(\w+)")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The layers or chunks that a rule is for: `low` to `high`, both included; 16-bit numbers."""

    low: int = 0
    high: int = _SPAN_TOP

    def __post_init__(self) -> None:
        if not 0 <= self.low <= _SPAN_TOP or not 0 <= self.high <= _SPAN_TOP:
            raise UsageError(f"{self.low}-{self.high} is not between 0 and {_SPAN_TOP}")
        if self.low > self.high:
            raise UsageError(f"the range {self.low}-{self.high} is empty", hint="write the smaller number first")

    def __hash__(self) -> int:
        return self.low << _SPAN_BITS | self.high

    @classmethod
    def parse(cls, text: str) -> Span:
        """Read `any`, a number, or a range as `3-9` (also `3..9`). Raises UsageError."""
        text = text.strip()
        if text.lower() in ("any", "*"):
            return cls()
        found = _SPAN.fullmatch(text)
        try:
            if found:
                return cls(int(found[1], 0), int(found[2], 0))
            return cls(int(text, 0), int(text, 0))
        except ValueError:
            raise UsageError(f"{text!r} is no layer or chunk", hint="give a number, a range as 3-9, or any") from None

    @property
    def is_any(self) -> bool:
        return self.low == 0 and self.high == _SPAN_TOP

    @property
    def specificity(self) -> int:
        """16 for a single number, 0 for any; a range has as many as bits are settled by its size."""
        return _SPAN_BITS - (self.high - self.low).bit_length()

    def overlaps(self, other: Span) -> bool:
        return self.low <= other.high and other.low <= self.high

    def __str__(self) -> str:
        if self.is_any:
            return "any"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def op_label(op: int) -> str:
    """`allreduce-max` for 3; the number for one that we do not know."""
    try:
        return Op(op).label
    except ValueError:
        return str(op)


@dataclass(frozen=True, slots=True)
class Member:
    """A rank of a group and the switch port that it is behind."""

    rank: int
    port: int

    @property
    def rank_mask(self) -> int:
        return 1 << self.rank


@dataclass(frozen=True, slots=True)
class Group:
    """A tensor-parallel group: its slots are `slot_base` to `slot_base + slots - 1`.

    `participants` is what the switch waits for before a slot is complete: the OR of the members' rank masks.
    """

    group_id: int
    members: tuple[Member, ...]
    slot_base: int
    slots: int
    epoch: int
    participants: int

    @property
    def ports(self) -> tuple[int, ...]:
        """The members' ports in the order of their ranks."""
        return tuple(member.port for member in self.members)


@dataclass(frozen=True, slots=True)
class OutputSet:
    """Where a result goes: `ports` get a copy (multicast group of the same id), `receivers` with the payload."""

    set_id: int
    ports: frozenset[int]
    receivers: frozenset[int]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as the switch has it, with its hits. `inputs` are the ports that give payload."""

    group_id: int
    op: int
    layer: Span
    chunk: Span
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    priority: int
    output_set: int
    packets: int = 0
    bytes: int = 0

    @property
    def key(self) -> tuple[int, int, Span, Span]:
        return self.group_id, self.op, self.layer, self.chunk

    def __str__(self) -> str:
        return f"rule for group {self.group_id}, {op_label(self.op)}, layer {self.layer}, chunk {self.chunk}"


def default_priority(layer: Span, chunk: Span) -> int:
    """Exact before range before any; the narrower range first; at a tie the chunk decides."""
    return 1 + 17 * (layer.specificity + chunk.specificity) + chunk.specificity


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """A rule as somebody wants it.

    `inputs`: all members of the group, or for AllGather and Broadcast perhaps only the owner's port. `slots` is for
    the group, if the rule creates it; `priority` None follows from how specific the rule is.
    """

    group_id: int
    op: int
    layer: Span
    chunk: Span
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    slots: int | None = None
    priority: int | None = None

    @property
    def key(self) -> tuple[int, int, Span, Span]:
        return self.group_id, self.op, self.layer, self.chunk

    @property
    def has_owner(self) -> bool:
        """Whether one port gives payload and the other members only join."""
        return self.op in (Op.ALLGATHER, Op.BROADCAST) and len(self.inputs) == 1

    @property
    def effective_priority(self) -> int:
        return default_priority(self.layer, self.chunk) if self.priority is None else self.priority

    def __str__(self) -> str:
        return f"rule for group {self.group_id}, {op_label(self.op)}, layer {self.layer}, chunk {self.chunk}"


@dataclass(frozen=True, slots=True)
class State:
    """All that the CAIS tables say. `strays` are members whose group has no entry: left by an interrupted change."""

    pool: int
    groups: Mapping[int, Group] = field(default_factory=dict[int, Group])
    rules: tuple[Rule, ...] = ()
    output_sets: Mapping[int, OutputSet] = field(default_factory=dict[int, OutputSet])
    strays: Mapping[int, tuple[Member, ...]] = field(default_factory=dict[int, tuple[Member, ...]])

    def sets_of(self, group_id: int) -> list[OutputSet]:
        """The output sets that this group's rules use."""
        used = {rule.output_set for rule in self.rules if rule.group_id == group_id}
        return [self.output_sets[each] for each in sorted(used) if each in self.output_sets]

    @property
    def slots_allocated(self) -> int:
        return sum(group.slots for group in self.groups.values())
