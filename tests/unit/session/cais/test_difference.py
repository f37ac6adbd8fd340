"""From any state to any wanted state: right at the end, consistent all the way, and resumable from anywhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from cais_tools.session.cais.difference import Difference, Kind, Leftover, difference
from cais_tools.session.cais.model import Group, Rule, Span
from cais_tools.session.cais.tables import member_entry, output_group, receiver_entry, rule_entry
from cais_tools.session.cais.wanted import Wanted, WantedGroup, WantedRule, wanted_of, with_others
from cais_tools.session.entities import Update, UpdateType
from cais_tools.wire.header import Op
from tests.unit.session.cais.strategies import wanted_states
from tests.unit.session.cais.tables import Tables, assert_consistent


def _epochs() -> Callable[[], int]:
    return itertools.count(1).__next__


def _updates(found: Difference) -> Iterator[Update]:
    return itertools.chain.from_iterable(found.stages)


def _canonical(wanted: Wanted) -> tuple[object, object]:
    groups = {each.group_id: (each.members, each.slots) for each in wanted.groups.values()}
    return groups, {(rule.key, frozenset(rule.outputs)) for rule in wanted.rules}


def bring(tables: Tables, wanted: Wanted, epoch: Callable[[], int] = lambda: 1) -> Difference:
    found = difference(tables.state, wanted, epoch)
    assert not found.problems
    for update in _updates(found):
        tables.perform(update)
        assert_consistent(tables.state)
    return found


@settings(max_examples=70, deadline=None)
@given(wanted_states(), wanted_states())
def test_from_any_state_to_any_other(first: Wanted, second: Wanted) -> None:
    tables, epoch = Tables(), _epochs()
    for wanted in (first, second):
        bring(tables, wanted, epoch)
        assert _canonical(wanted_of(tables.state)) == _canonical(wanted)
        again = difference(tables.state, wanted, epoch)
        assert not again
        assert not again.stages


@settings(max_examples=70, deadline=None)
@given(wanted_states(), wanted_states(), st.floats(0, 1))
def test_an_interrupted_change_is_finished_by_the_next(first: Wanted, second: Wanted, share: float) -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, first, epoch)
    updates = list(_updates(difference(tables.state, second, epoch)))
    tables.perform_all(updates[: int(share * len(updates))])
    bring(tables, second, epoch)
    assert _canonical(wanted_of(tables.state)) == _canonical(second)
    assert not difference(tables.state, second, epoch).stages


@settings(max_examples=40, deadline=None)
@given(wanted_states(), wanted_states())
def test_what_has_to_be_done_is_shown(first: Wanted, second: Wanted) -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, first, epoch)
    found = difference(tables.state, second, epoch)
    assert bool(found.items) == bool(found.stages)


@settings(max_examples=40, deadline=None)
@given(wanted_states(), wanted_states())
def test_others_are_kept(first: Wanted, second: Wanted) -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, first, epoch)
    both = with_others(second, tables.state)
    assert {*first.groups, *second.groups} == {*both.groups}
    named = {rule.match for rule in second.rules}
    assert {rule.key for rule in first.rules if rule.match not in named} <= {rule.key for rule in both.rules}
    bring(tables, Wanted(both.groups, both.rules), epoch)
    assert _canonical(wanted_of(tables.state)) == _canonical(both)


ALL = Span()
GROUP = WantedGroup(0, (1, 2, 3), 256, (0, 1, 2))


def _rule(
    group: WantedGroup, outputs: tuple[int, ...] | None = None, priority: int = 1, chunk: Span = ALL
) -> WantedRule:
    return WantedRule(group.group_id, Op.ALLREDUCE, ALL, chunk, group.ports, outputs or group.ports, priority)


def _with(*rules: WantedRule, group: WantedGroup = GROUP) -> Wanted:
    return Wanted({group.group_id: group}, rules)


def test_a_group_that_gets_a_rank_goes_on_and_ten_thousand_rules_stay() -> None:
    tables, epoch = Tables(), _epochs()
    many = [_rule(GROUP, chunk=Span(each, each)) for each in range(100)]
    bring(tables, _with(*many), epoch)
    bigger = WantedGroup(0, (1, 2, 3, 4), 256, (0, 1, 2, 3))
    found = bring(tables, _with(*(_rule(bigger, chunk=each.chunk) for each in many), group=bigger), epoch)
    assert found.updates == 4, "copies, a receiver, a member and the group"
    assert tables.state.groups[0].epoch == 1
    assert found.count(Kind.CHANGE) == 101


def test_another_port_for_a_rank_begins_a_new_job() -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, _with(_rule(GROUP)), epoch)
    moved = WantedGroup(0, (1, 2, 5), 256, (0, 1, 2))
    bring(tables, _with(_rule(moved), group=moved), epoch)
    assert tables.state.groups[0].epoch == 2
    assert tables.state.groups[0].ports == (1, 2, 5)


def test_a_rule_with_another_priority_is_there_before_the_old_one_goes() -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, _with(_rule(GROUP, priority=1)), epoch)
    found = difference(tables.state, _with(_rule(GROUP, priority=9)), epoch)
    [item] = found.items
    assert isinstance(item.before, Rule)
    assert isinstance(item.after, Rule)
    assert (item.kind, item.before.priority, item.after.priority) == (Kind.CHANGE, 1, 9)
    assert [update.type for update in _updates(found)] == [UpdateType.INSERT, UpdateType.DELETE]


def test_where_the_table_is_too_small_for_both_the_old_rules_go_first() -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, _with(_rule(GROUP, priority=1)), epoch)
    found = difference(tables.state, _with(_rule(GROUP, priority=9)), epoch, rules_size=1)
    assert [update.type for update in _updates(found)] == [UpdateType.DELETE, UpdateType.INSERT]


def test_slots_of_a_group_that_goes_are_for_one_that_comes() -> None:
    tables, epoch = Tables(), _epochs()
    everything = WantedGroup(0, (1, 2), 4096, (0, 1))
    bring(tables, Wanted({0: everything}), epoch)
    other = WantedGroup(7, (1, 2), 4096, (0, 1))
    found = bring(tables, Wanted({7: other}), epoch)
    assert (found.count(Kind.ADD), found.count(Kind.REMOVE)) == (1, 1)


def test_without_room_there_is_a_problem_and_nothing_to_do() -> None:
    groups = {each: WantedGroup(each, (1, 2), 4096, (0, 1)) for each in (0, 1)}
    found = difference(Tables().state, Wanted(groups), _epochs())
    assert "no 4096 slots in one piece are left" in str(found.problems[0])
    assert not found.stages


def test_what_an_interrupted_change_left_is_shown_and_removed() -> None:
    tables = Tables()
    group = Group(3, WantedGroup(3, (1, 2), 2, (0, 1)).members, 0, 2, 1, 3)
    tables.perform(Update(UpdateType.INSERT, member_entry(3, group.members[0])))
    tables.perform(Update(UpdateType.INSERT, receiver_entry(16, 1)))
    found = bring(tables, Wanted(), _epochs())
    texts = [str(item.thing) for item in found.items]
    assert all(isinstance(item.thing, Leftover) for item in found.items)
    assert texts == ["members of group 3 without their group (ports 1)", "output set 16, which no rule uses"]
    assert not tables.entities


def test_copies_that_somebody_else_removed_are_put_back() -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, _with(_rule(GROUP)), epoch)
    [output_set] = tables.state.output_sets.values()
    tables.perform(Update(UpdateType.DELETE, output_group(output_set)))
    found = difference(tables.state, _with(_rule(GROUP)), epoch)
    assert found.items
    tables.perform_all(_updates(found))
    assert_consistent(tables.state)
    assert not difference(tables.state, _with(_rule(GROUP)), epoch)


def test_a_rule_of_a_group_that_is_not_there_goes() -> None:
    tables, epoch = Tables(), _epochs()
    bring(tables, _with(_rule(GROUP)), epoch)
    orphan = Rule(9, Op.ALLREDUCE, ALL, ALL, (), (1, 2, 3), 1, 16)
    tables.perform(Update(UpdateType.INSERT, rule_entry(orphan)))
    found = bring(tables, _with(_rule(GROUP)), epoch)
    assert found.count(Kind.REMOVE) == 1
