"""Wanted states, small enough that rules and groups often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from cais_tools.session.cais.model import Span, default_priority
from cais_tools.session.cais.overlaps import overlaps
from cais_tools.session.cais.wanted import RuleKey, Wanted, WantedGroup, WantedRule
from cais_tools.wire.header import Op

PORTS = range(1, 7)


def port_lists() -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.sampled_from(PORTS), min_size=1, max_size=5, unique=True).map(tuple)


def spans() -> st.SearchStrategy[Span]:
    numbers = st.integers(0, 4)
    ranges = st.tuples(numbers, numbers).map(lambda ends: Span(min(ends), max(ends)))
    return st.one_of(st.just(Span()), ranges)


@st.composite
def groups(draw: st.DrawFn, group_id: int) -> WantedGroup:
    ports = draw(port_lists())
    ranks = tuple(range(len(ports)))
    if draw(st.integers(0, 3)) == 0:
        ranks = tuple(draw(st.permutations(range(len(ports) + 2)))[: len(ports)])
    return WantedGroup(group_id, ports, draw(st.sampled_from([2, 256, 1024])), ranks)


@st.composite
def rules(draw: st.DrawFn, group: WantedGroup) -> WantedRule:
    op = draw(st.sampled_from([Op.ALLREDUCE, Op.BROADCAST, Op.ALLREDUCE_MAX]))
    outputs = draw(st.one_of(st.just(group.ports), port_lists()))
    layer, chunk = draw(spans()), draw(spans())
    priority = draw(st.one_of(st.just(default_priority(layer, chunk)), st.integers(1, 3)))
    return WantedRule(group.group_id, op, layer, chunk, group.ports, outputs, priority)


@st.composite
def wanted_states(draw: st.DrawFn) -> Wanted:
    """Without what the checks refuse: one rule for a match, no two with different outputs for the same packet."""
    ids = draw(st.lists(st.integers(0, 3), max_size=3, unique=True))
    some = {group_id: draw(groups(group_id)) for group_id in sorted(ids)}
    by_key: dict[RuleKey, WantedRule] = {}
    matches: set[object] = set()
    for group in some.values():
        for rule in draw(st.lists(rules(group), max_size=5)):
            if rule.match not in matches:
                matches.add(rule.match)
                by_key[rule.key] = rule
    kept = list(by_key.values())
    for _, second in list(overlaps(kept)):
        if second in kept:
            kept.remove(second)
    return Wanted(some, tuple(kept))
