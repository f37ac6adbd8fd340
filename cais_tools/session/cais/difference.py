"""What has to change on a switch so that it has the wanted state, and in which order. Sans I/O.

The order never leaves a rule without its multicast group, a group without its members, or two groups on one slot:

    copies and receivers of output sets -> rules of groups that go -> groups that go or begin anew -> members -> groups
    -> rules -> rules that go -> receivers and copies that nobody needs -> counters of groups that are gone

A rule that takes another's place is there before the other goes. Each stage may be interrupted: what is left to do is
the difference with what is in force then.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast, overload

from cais_tools.session.cais.findings import Finding, Severity
from cais_tools.session.cais.model import Group, Rule, State
from cais_tools.session.cais.sets import SetPlan, plan_sets
from cais_tools.session.cais.slots import place_groups
from cais_tools.session.cais.tables import group_entry, input_ports, member_entry, rule_entry
from cais_tools.session.cais.telemetry import outcome_cells
from cais_tools.session.cais.wanted import RuleKey, Wanted, WantedGroup, WantedRule
from cais_tools.session.entities import CounterCell, CounterData, Entity, Update, UpdateType

__all__ = ["Difference", "Item", "Kind", "Leftover", "difference"]


_T = TypeVar("_T")


class Kind(enum.Enum):
    ADD = "+"
    CHANGE = "~"
    REMOVE = "-"


@dataclass(frozen=True, slots=True)
class Leftover:
    """Entries that belong to no group or rule: an interrupted change left them."""

    text: str

    def __str__(self) -> str:
        return self.text


Thing = Group | Rule | Leftover


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a difference: a group or rule before and after; None where it is not there."""

    before: Thing | None
    after: Thing | None

    @property
    def kind(self) -> Kind:
        if self.before is None:
            return Kind.ADD
        return Kind.REMOVE if self.after is None else Kind.CHANGE

    @property
    def thing(self) -> Thing:
        thing = self.before if self.after is None else self.after
        assert thing is not None
        return thing

    @property
    def name(self) -> object:
        """What it is about; the same for what is left of it after an interruption."""
        match self.thing:
            case Group(group_id=group_id):
                return group_id
            case Rule() as rule:
                return rule.key
            case leftover:
                return leftover


class Updates(Sequence[Update]):
    """The same kind of update for many things; each is made when it is looked at, while earlier ones are under way."""

    def __init__(self, kind: UpdateType, make: Callable[[_T], Entity], things: Sequence[_T]) -> None:
        self._kind, self._make, self._things = kind, cast("Callable[[object], Entity]", make), things

    def __len__(self) -> int:
        return len(self._things)

    @overload
    def __getitem__(self, index: int) -> Update: ...

    @overload
    def __getitem__(self, index: slice) -> list[Update]: ...

    def __getitem__(self, index: int | slice) -> Update | list[Update]:
        if isinstance(index, slice):
            return [Update(self._kind, self._make(thing)) for thing in self._things[index]]
        return Update(self._kind, self._make(self._things[index]))


Stage = Sequence[Update]


@dataclass(frozen=True, slots=True)
class Difference:
    """`items` for people, `stages` for the switch: updates that may happen in any order within their stage.

    `problems` are why the wanted state cannot be reached; there are no stages then.
    """

    items: tuple[Item, ...] = ()
    stages: tuple[Stage, ...] = field(default=(), compare=False)
    problems: tuple[Finding, ...] = ()

    @property
    def updates(self) -> int:
        return sum(len(stage) for stage in self.stages)

    def count(self, kind: Kind) -> int:
        return sum(item.kind is kind for item in self.items)

    def __bool__(self) -> bool:
        return bool(self.items)


def difference(
    state: State, wanted: Wanted, new_epoch: Callable[[], int], *, rules_size: int | None = None
) -> Difference:
    """The way from `state` to `wanted`, which its checks have found without errors.

    `new_epoch` gives the epoch of a group that begins anew. `rules_size` is how many rules the table holds: where
    old and new ones together are more, those that go do so first.
    """
    groups, problems = _groups(state, wanted, new_epoch)
    if problems:
        return Difference(problems=tuple(problems))
    sets = plan_sets(state, wanted, groups.target)
    if sets.problem is not None:
        return Difference(problems=(Finding(Severity.ERROR, sets.problem),))
    rules = _rules(state, wanted, groups.target, sets)
    if rules_size is not None and len(state.rules) + len(rules.inserted) > rules_size:
        rules.gone_first, rules.gone_last = rules.gone_first + rules.gone_last, []
    leftovers = [*groups.leftovers, *sets.leftovers] + ([] if rules.items or groups.items else sets.repairs)
    items = (*groups.items, *rules.items, *(Item(Leftover(text), None) for text in leftovers))
    stages = _stages(groups, sets, rules)
    return Difference(items, tuple(stage for stage in stages if stage))


@dataclass
class _Groups:
    """What becomes of the groups: entries to write and to delete, and how each group is then."""

    target: dict[int, Group] = field(default_factory=dict[int, Group])
    items: list[Item] = field(default_factory=list[Item])
    entries_gone: list[Entity] = field(default_factory=list[Entity])
    members_gone: list[Entity] = field(default_factory=list[Entity])
    members: list[Update] = field(default_factory=list[Update])
    entries: list[Update] = field(default_factory=list[Update])
    removed: list[int] = field(default_factory=list[int])
    leftovers: list[str] = field(default_factory=list[str])


def _groups(state: State, wanted: Wanted, new_epoch: Callable[[], int]) -> tuple[_Groups, list[Finding]]:
    kept = {
        group_id: group
        for group_id, group in state.groups.items()
        if group_id in wanted.groups and group.slots == wanted.groups[group_id].slots
    }
    others = [wanted.groups[each] for each in wanted.groups if each not in kept]
    bases, homeless = place_groups(
        state.pool,
        [(group.slot_base, group.slots) for group in kept.values()],
        {group.group_id: group.slots for group in others},
    )
    problems = [_no_room(wanted.groups[group_id], state.pool) for group_id in homeless]
    plan = _Groups()
    if problems:
        return plan, problems
    bases |= {group_id: group.slot_base for group_id, group in kept.items()}
    for group_id in sorted(state.groups.keys() | wanted.groups.keys() | state.strays.keys()):
        before, want = state.groups.get(group_id), wanted.groups.get(group_id)
        if want is None:
            _remove(plan, state, group_id)
        else:
            _settle(plan, state, before, _target(want, before, bases[group_id], new_epoch))
    return plan, []


def _no_room(group: WantedGroup, pool: int) -> Finding:
    return Finding.at(
        group.place,
        ["slots"],
        Severity.ERROR,
        f"no {group.slots} slots in one piece are left of {pool} for group {group.group_id}",
        "ask for fewer; or clear the switch and apply again, which puts the groups together",
    )


def _target(want: WantedGroup, before: Group | None, base: int, new_epoch: Callable[[], int]) -> Group:
    """The group as it is to be. It goes on as it is where ranks only come in addition, else it begins anew."""
    members = want.members
    participants = sum(member.rank_mask for member in members)
    after = Group(want.group_id, members, base, want.slots, 0, participants)
    epoch = before.epoch if before is not None and _goes_on(before, after) else new_epoch()
    return replace(after, epoch=epoch)


def _goes_on(before: Group, after: Group) -> bool:
    return before.slots == after.slots and set(before.members) <= set(after.members)


def _remove(plan: _Groups, state: State, group_id: int) -> None:
    before = state.groups.get(group_id)
    if before is None:
        strays = state.strays[group_id]
        ports = ", ".join(str(member.port) for member in strays)
        plan.leftovers.append(f"members of group {group_id} without their group (ports {ports})")
        plan.members_gone += [member_entry(group_id, member) for member in strays]
        return
    plan.items.append(Item(before, None))
    plan.removed.append(group_id)
    plan.entries_gone.append(group_entry(before))
    plan.members_gone += [member_entry(group_id, member) for member in before.members]


def _settle(plan: _Groups, state: State, before: Group | None, after: Group) -> None:
    group_id = after.group_id
    plan.target[group_id] = after
    if before == after:
        return
    plan.items.append(Item(before, after))
    begins_anew = before is not None and not _goes_on(before, after)
    if before is not None and begins_anew:
        plan.entries_gone.append(group_entry(before))
    have = {each.port: each for each in (before.members if before else state.strays.get(group_id, ()))}
    want = {each.port: each for each in after.members}
    plan.members_gone += [member_entry(group_id, have[port]) for port in have.keys() - want.keys()]
    for port, member in want.items():
        if have.get(port) != member:
            kind = UpdateType.MODIFY if port in have else UpdateType.INSERT
            plan.members.append(Update(kind, member_entry(group_id, member)))
    kind = UpdateType.MODIFY if before is not None and not begins_anew else UpdateType.INSERT
    plan.entries.append(Update(kind, group_entry(after)))


@dataclass
class _Rules:
    items: list[Item] = field(default_factory=list[Item])
    gone_first: list[Rule] = field(default_factory=list[Rule])
    inserted: list[Rule] = field(default_factory=list[Rule])
    modified: list[Rule] = field(default_factory=list[Rule])
    gone_last: list[Rule] = field(default_factory=list[Rule])


def _rules(state: State, wanted: Wanted, groups: dict[int, Group], sets: SetPlan) -> _Rules:
    plan = _Rules()
    have = {RuleKey(*rule.key, rule.priority): rule for rule in state.rules}
    going = [rule for key, rule in have.items() if key not in wanted.by_key]
    going_by_match = {rule.key: rule for rule in going}
    for key, want in wanted.by_key.items():
        before = have.get(key)
        after = _target_rule(want, groups[want.group_id], sets.set_of[key], before)
        if before is None:
            plan.inserted.append(after)
            plan.items.append(Item(going_by_match.get(want.match), after))
        else:
            if before.output_set != after.output_set:
                plan.modified.append(after)
            if before.outputs != after.outputs:
                plan.items.append(Item(before, after))
    replaced = {rule.key for rule in plan.inserted} if going else set[object]()
    for rule in going:
        (plan.gone_last if rule.group_id in groups else plan.gone_first).append(rule)
        if rule.key not in replaced:
            plan.items.append(Item(rule, None))
    return plan


def _target_rule(want: WantedRule, group: Group, output_set: int, before: Rule | None) -> Rule:
    return Rule(
        group_id=want.group_id,
        op=want.op,
        layer=want.layer,
        chunk=want.chunk,
        inputs=input_ports(want.op, group.ports, want.outputs),
        outputs=tuple(sorted(want.outputs)),
        priority=want.priority,
        output_set=output_set,
        packets=before.packets if before else 0,
        bytes=before.bytes if before else 0,
    )


def _stages(groups: _Groups, sets: SetPlan, rules: _Rules) -> list[Stage]:
    cleared = [
        CounterCell("group_outcomes", cell, CounterData()) for each in groups.removed for cell in outcome_cells(each)
    ]
    return [
        sets.copies_first,
        sets.receivers_first,
        Updates(UpdateType.DELETE, rule_entry, rules.gone_first),
        _delete(groups.entries_gone),
        _delete(groups.members_gone),
        groups.members,
        groups.entries,
        Updates(UpdateType.INSERT, rule_entry, rules.inserted),
        Updates(UpdateType.MODIFY, rule_entry, rules.modified),
        Updates(UpdateType.DELETE, rule_entry, rules.gone_last),
        sets.receivers_last,
        sets.copies_last,
        [Update(UpdateType.MODIFY, cell) for cell in cleared],
    ]


def _delete(entities: Iterable[Entity]) -> list[Update]:
    return [Update(UpdateType.DELETE, entity) for entity in entities]
