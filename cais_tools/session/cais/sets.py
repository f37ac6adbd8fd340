"""The output sets for a whole wanted state: which rule uses which, what is kept, changed, made and removed. Sans I/O.

A set is changed in place where all its rules want the same of it (a group with 10,000 rules gets a rank more: one
multicast group changes, not 10,000 rules); else rules move to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.session.cais.model import Group, OutputSet, State
from cais_tools.session.cais.tables import FIRST_OUTPUT_SET, LAST_OUTPUT_SET, output_group, receiver_entry
from cais_tools.session.cais.wanted import RuleKey, Wanted
from cais_tools.session.entities import Update, UpdateType

__all__ = ["SetPlan", "plan_sets"]

_Content = tuple[frozenset[int], frozenset[int]]
"""Ports that get a copy, and those of them that get the payload."""


@dataclass
class SetPlan:
    """`set_of` each rule; what is written before the rules are, and what after; texts for people."""

    set_of: dict[RuleKey, int] = field(default_factory=dict[RuleKey, int])
    copies_first: list[Update] = field(default_factory=list[Update])
    receivers_first: list[Update] = field(default_factory=list[Update])
    receivers_last: list[Update] = field(default_factory=list[Update])
    copies_last: list[Update] = field(default_factory=list[Update])
    leftovers: list[str] = field(default_factory=list[str])
    repairs: list[str] = field(default_factory=list[str])
    problem: str | None = None


def plan_sets(state: State, wanted: Wanted, groups: Mapping[int, Group]) -> SetPlan:
    content_of = _contents(wanted, groups)
    used_now = {RuleKey(*rule.key, rule.priority): rule.output_set for rule in state.rules}
    sets = state.output_sets
    final = _final_contents(content_of, used_now, sets)
    plan = SetPlan()
    by_content = {content: set_id for set_id, content in reversed(final.items())}
    free = iter([each for each in range(FIRST_OUTPUT_SET, LAST_OUTPUT_SET + 1) if each not in sets])
    made: dict[int, _Content] = {}
    for key, content in content_of.items():
        current = used_now.get(key)
        if current is not None and final.get(current) == content:
            plan.set_of[key] = current
            continue
        if content not in by_content:
            set_id = next(free, None)
            if set_id is None:
                count = LAST_OUTPUT_SET - FIRST_OUTPUT_SET + 1
                plan.problem = f"more than {count} different output sets are wanted; rules with equal outputs share one"
                return plan
            by_content[content] = set_id
            made[set_id] = content
        plan.set_of[key] = by_content[content]
    _write(plan, sets, final, made, set(used_now.values()))
    return plan


def _contents(wanted: Wanted, groups: Mapping[int, Group]) -> dict[RuleKey, _Content]:
    members = {group_id: frozenset(group.ports) for group_id, group in groups.items()}
    shared: dict[tuple[int, tuple[int, ...]], _Content] = {}
    found: dict[RuleKey, _Content] = {}
    for key, rule in wanted.by_key.items():
        which = rule.group_id, rule.outputs
        if which not in shared:
            outputs = frozenset(rule.outputs)
            shared[which] = members[rule.group_id] | outputs, outputs
        found[key] = shared[which]
    return found


def _final_contents(
    content_of: Mapping[RuleKey, _Content], used_now: Mapping[RuleKey, int], sets: Mapping[int, OutputSet]
) -> dict[int, _Content]:
    """The sets of now that are used later on, as they are then."""
    as_now = {set_id: (each.ports, each.receivers) for set_id, each in sets.items() if each.ports}
    asked: dict[int, set[_Content]] = {}
    for key, content in content_of.items():
        if key in used_now:
            asked.setdefault(used_now[key], set()).add(content)
    wanted_contents = set(content_of.values())
    final = {
        set_id: content
        for set_id, content in as_now.items()
        if content in wanted_contents and (content in asked.get(set_id, ()) or set_id not in asked)
    }
    there = set(final.values())
    for set_id, contents in asked.items():
        if set_id in as_now and set_id not in final and len(contents) == 1:
            [content] = contents
            if content not in there:
                final[set_id] = content
                there.add(content)
    # One of each: those that rules use already go before those that nobody uses.
    unique: dict[_Content, int] = {}
    kept: dict[int, _Content] = {}
    for set_id in sorted(final, key=lambda each: (each not in asked, each)):
        if set_id in asked or final[set_id] not in unique:
            kept[set_id] = final[set_id]
            unique.setdefault(final[set_id], set_id)
    return kept


def _write(
    plan: SetPlan,
    sets: Mapping[int, OutputSet],
    final: Mapping[int, _Content],
    made: Mapping[int, _Content],
    used_now: set[int],
) -> None:
    for set_id, (ports, receivers) in made.items():
        plan.copies_first.append(Update(UpdateType.INSERT, output_group(OutputSet(set_id, ports, receivers))))
        _receivers(plan, set_id, frozenset(), receivers)
    users = set(plan.set_of.values())
    for set_id, now in sets.items():
        if set_id in users and set_id in final:
            _change(plan, now, *final[set_id])
            continue
        _receivers(plan, set_id, now.receivers, frozenset())
        if now.ports:
            plan.copies_last.append(Update(UpdateType.DELETE, output_group(now)))
        if set_id in used_now:
            plan.repairs.append(f"output set {set_id}, which lacks copies")
        elif now.ports or now.receivers:
            plan.leftovers.append(f"output set {set_id}, which no rule uses")


def _change(plan: SetPlan, now: OutputSet, ports: frozenset[int], receivers: frozenset[int]) -> None:
    if (now.ports, now.receivers) == (ports, receivers):
        return
    union = now.ports | ports
    if union != now.ports:
        plan.copies_first.append(Update(UpdateType.MODIFY, output_group(OutputSet(now.set_id, union, receivers))))
    _receivers(plan, now.set_id, now.receivers, receivers)
    if union != ports:
        plan.copies_last.append(Update(UpdateType.MODIFY, output_group(OutputSet(now.set_id, ports, receivers))))
    plan.repairs.append(f"copies of output set {now.set_id} that its rules do not want, or lack")


def _receivers(plan: SetPlan, set_id: int, now: frozenset[int], then: frozenset[int]) -> None:
    plan.receivers_first += [Update(UpdateType.INSERT, receiver_entry(set_id, port)) for port in sorted(then - now)]
    plan.receivers_last += [Update(UpdateType.DELETE, receiver_entry(set_id, port)) for port in sorted(now - then)]
