"""The wanted state of a switch: groups and rules as a file says, or as a switch has them. Values only, sans I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from cais_tools.session.cais.findings import NOWHERE, Place
from cais_tools.session.cais.model import Group, Member, Rule, Span, State, default_priority, op_label

__all__ = ["Link", "RuleKey", "Wanted", "WantedGroup", "WantedRule", "wanted_of", "with_others"]


class RuleKey(NamedTuple):
    """What makes a rule an entry of its own on the switch: its match and its priority."""

    group_id: int
    op: int
    layer: Span
    chunk: Span
    priority: int


@dataclass(frozen=True, slots=True)
class Link:
    """The ranks' links: Gb/s, round-trip time and how long a sum waits for the slowest rank, in microseconds."""

    gbps: float
    rtt_us: float
    hold_us: float = 0.0


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """`ports` in the order of `ranks`, which are 0 to n-1 unless somebody wants others."""

    group_id: int
    ports: tuple[int, ...]
    slots: int
    ranks: tuple[int, ...]
    link: Link | None = None
    place: Place = field(default=NOWHERE, compare=False)

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(Member(rank, port) for rank, port in sorted(zip(self.ranks, self.ports, strict=True)))


@dataclass(frozen=True, slots=True)
class WantedRule:
    """`inputs` are all members, or the owner alone; the switch needs no owner and its tables name none. `outputs` are
    sorted where they are read.
    """

    group_id: int
    op: int
    layer: Span
    chunk: Span
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    priority: int
    place: Place = field(default=NOWHERE, compare=False)

    @property
    def match(self) -> tuple[int, int, Span, Span]:
        return self.group_id, self.op, self.layer, self.chunk

    @property
    def key(self) -> RuleKey:
        return RuleKey(self.group_id, self.op, self.layer, self.chunk, self.priority)

    @property
    def has_default_priority(self) -> bool:
        return self.priority == default_priority(self.layer, self.chunk)

    def __str__(self) -> str:
        return f"rule for group {self.group_id}, {op_label(self.op)}, layer {self.layer}, chunk {self.chunk}"


@dataclass(frozen=True)
class Wanted:
    """All that shall be in force."""

    groups: Mapping[int, WantedGroup] = field(default_factory=dict[int, WantedGroup])
    rules: tuple[WantedRule, ...] = ()

    @cached_property
    def by_key(self) -> dict[RuleKey, WantedRule]:
        return {rule.key: rule for rule in self.rules}


def wanted_of(state: State) -> Wanted:
    """What the switch has, as something to want: a rule whose group has no entry is no part of it."""
    return Wanted(
        {group_id: _group(group) for group_id, group in state.groups.items()},
        tuple(_rule(rule) for rule in state.rules if rule.group_id in state.groups),
    )


def with_others(wanted: Wanted, state: State) -> Wanted:
    """`wanted`, and whatever else the switch has: groups of other numbers, rules with other matches."""
    have = wanted_of(state)
    named = {rule.match for rule in wanted.rules}
    return Wanted(
        dict(sorted({**have.groups, **wanted.groups}.items())),
        (*wanted.rules, *(rule for rule in have.rules if rule.match not in named)),
    )


def _group(group: Group) -> WantedGroup:
    ranks = tuple(member.rank for member in group.members)
    return WantedGroup(group.group_id, group.ports, group.slots, ranks)


def _rule(rule: Rule) -> WantedRule:
    return WantedRule(rule.group_id, rule.op, rule.layer, rule.chunk, rule.inputs, rule.outputs, rule.priority)
