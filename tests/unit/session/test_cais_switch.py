"""Groups and rules on the fake switch with the shipped program."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from cais_tools.errors import CaisError, Refused, Unreachable, UsageError
from cais_tools.session import (
    AppliedKind,
    DeviceError,
    MulticastGroup,
    Pipeline,
    SessionOptions,
    TableEntry,
    connect,
    load_shipped,
)
from cais_tools.session.cais import CaisSwitch, ChangeKind, Member, RuleSpec, Span, changes
from cais_tools.session.cais.tables import mac_entry
from cais_tools.wire.job import Job
from tests.unit.session.fake_switch import FakeSwitch

ANY = Span()
ALL4 = (1, 2, 3, 4)


def _spec(
    group_id: int = 0,
    op: int = 0,
    layer: Span = ANY,
    chunk: Span = ANY,
    inputs: tuple[int, ...] = ALL4,
    outputs: tuple[int, ...] = ALL4,
    **more: int,
) -> RuleSpec:
    return RuleSpec(group_id, op, layer, chunk, inputs, outputs, **more)


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return load_shipped()


@pytest.fixture
def switch(fake: FakeSwitch, pipeline: Pipeline) -> Generator[CaisSwitch]:
    with connect(fake.address, SessionOptions(timeout=10)) as session:
        session.load(pipeline)
        fake.writes.clear()
        yield CaisSwitch(session, new_epoch=lambda: 1000)


def test_the_build_of_the_program(switch: CaisSwitch) -> None:
    assert switch.lanes == 64


def _order(fake: FakeSwitch) -> list[str]:
    """The kinds of what was written, in order, without repetition."""
    kinds: list[str] = []
    for request in fake.writes:
        for update in request.updates:
            is_table = update.entity.WhichOneof("entity") == "table_entry"
            kind = fake._table_name(update.entity) if is_table else "multicast"
            if not kinds or kinds[-1] != kind:
                kinds.append(kind)
    return kinds


def test_another_program_is_refused(session: object, fake: FakeSwitch) -> None:
    with connect(fake.address) as other, pytest.raises(Refused, match="runs another program, not CAIS"):
        CaisSwitch(other)


def test_a_rule_creates_its_group_in_the_right_order(switch: CaisSwitch, fake: FakeSwitch) -> None:
    change = switch.add_rule(_spec(layer=Span(5, 5), chunk=Span(0, 0)))
    assert (change.kind, change.group.kind) == (ChangeKind.CREATED, ChangeKind.CREATED)
    assert _order(fake) == ["multicast", "receivers", "members", "groups", "rules"]
    group = switch.state().groups[0]
    assert group == change.group.group
    assert group.members == tuple(Member(rank, rank + 1) for rank in range(4))
    assert (group.slot_base, group.slots, group.epoch, group.participants) == (0, 256, 1000, 15)
    [rule] = switch.rules()
    assert rule == change.rule
    assert (rule.inputs, rule.outputs, rule.output_set) == (ALL4, ALL4, 16)


def test_the_same_rule_twice_is_refused_and_ensuring_it_changes_nothing(switch: CaisSwitch, fake: FakeSwitch) -> None:
    switch.add_rule(_spec())
    fake.writes.clear()
    with pytest.raises(Refused, match="this rule exists"):
        switch.add_rule(_spec())
    change = switch.ensure_rule(_spec())
    assert (change.kind, change.group.kind) == (ChangeKind.UNCHANGED, ChangeKind.UNCHANGED)
    assert fake.writes == []


def test_ensuring_a_rule_with_other_outputs_swaps_the_set(switch: CaisSwitch) -> None:
    switch.add_rule(_spec())
    change = switch.ensure_rule(_spec(outputs=(2,)))
    assert change.kind is ChangeKind.CHANGED
    state = switch.state()
    assert [rule.outputs for rule in state.rules] == [(2,)]
    assert list(state.output_sets) == [17]
    assert state.output_sets[17].ports == set(ALL4)  # members that are no outputs get the header


def test_ensuring_other_outputs_does_not_make_rules_ambiguous(switch: CaisSwitch) -> None:
    switch.add_rule(_spec(chunk=Span(0, 9)))
    switch.add_rule(_spec(chunk=Span(5, 14)))
    before = switch.state()
    with pytest.raises(Refused, match="same priority"):
        switch.ensure_rule(_spec(chunk=Span(5, 14), outputs=(1,)))
    assert switch.state() == before
    switch.ensure_rule(_spec(chunk=Span(5, 14)))
    assert switch.ensure_rule(_spec(chunk=Span(5, 14), outputs=(1,), priority=999)).kind is ChangeKind.CHANGED


def test_ensuring_a_rule_with_another_priority_leaves_one_rule(switch: CaisSwitch) -> None:
    switch.add_rule(_spec())
    change = switch.ensure_rule(_spec(priority=9))
    assert change.kind is ChangeKind.CHANGED
    assert [(rule.priority, rule.output_set) for rule in switch.rules()] == [(9, 16)]


def test_rules_with_the_same_outputs_share_a_set(switch: CaisSwitch, fake: FakeSwitch) -> None:
    for layer in range(3):
        switch.add_rule(_spec(layer=Span(layer, layer)))
    assert {rule.output_set for rule in switch.rules()} == {16}
    switch.add_rule(_spec(group_id=1))
    assert [rule.output_set for rule in switch.rules()] == [16, 16, 16, 17]
    switch.delete_rule(0, 0, Span(1, 1), ANY)
    assert list(switch.state().output_sets) == [16, 17]


def test_more_ports_extend_the_group_results_first(switch: CaisSwitch, fake: FakeSwitch) -> None:
    switch.add_rule(_spec())
    fake.writes.clear()
    change = switch.add_rule(_spec(op=3, inputs=(1, 2, 3, 4, 5), outputs=(1, 2, 3, 4, 5)))
    assert change.group.kind is ChangeKind.CHANGED
    assert change.group.added == (5,)
    assert _order(fake) == ["multicast", "receivers", "multicast", "members", "groups", "rules"]
    state = switch.state()
    assert state.groups[0].epoch == 1000
    assert state.groups[0].members[4] == Member(4, 5)
    assert all(5 in each.ports for each in state.output_sets.values())
    assert state.output_sets[16].receivers == set(ALL4)


def test_ports_that_contradict_the_group_are_refused_with_both_lists(switch: CaisSwitch) -> None:
    switch.add_rule(_spec())
    with pytest.raises(Refused, match=r"input ports 1,2 contradict group 0, which has ports 1,2,3,4"):
        switch.add_rule(_spec(op=3, inputs=(1, 2)))


def test_a_broadcast_has_an_owner(switch: CaisSwitch) -> None:
    change = switch.add_rule(_spec(op=2, inputs=(3,), outputs=(1, 2, 4)))
    assert change.group.group.ports == ALL4
    [rule] = switch.rules()
    assert (rule.inputs, rule.outputs) == ((3,), (1, 2, 4))
    with pytest.raises(Refused, match="input port 9 is no member of group 0"):
        switch.add_rule(_spec(op=2, layer=Span(1, 1), inputs=(9,), outputs=(1, 2, 4)))


def test_an_all_gather_by_chunk(switch: CaisSwitch) -> None:
    for rank, owner in enumerate(ALL4):
        others = tuple(port for port in ALL4 if port != owner)
        switch.add_rule(_spec(op=1, chunk=Span(rank * 10, rank * 10 + 9), inputs=(owner,), outputs=others))
    assert {rule.inputs for rule in switch.rules()} == {(1,), (2,), (3,), (4,)}
    assert len(switch.state().output_sets) == 4


def test_overlapping_rules_of_equal_priority_are_ambiguous(switch: CaisSwitch) -> None:
    switch.add_rule(_spec(chunk=Span(0, 9), outputs=(1,)))
    with pytest.raises(Refused, match="same priority"):
        switch.add_rule(_spec(chunk=Span(5, 14), outputs=(2,)))
    switch.add_rule(_spec(chunk=Span(5, 14), outputs=(2,), priority=999))
    switch.add_rule(_spec(chunk=Span(20, 29), outputs=(2,)))


@pytest.mark.parametrize(
    ("inputs", "outputs", "hint"),
    [((0, 1), (1,), "starting at 1"), ((1,), (), "port numbers"), ((1,), (511,), None), ((1,), (-1,), None)],
)
def test_impossible_ports(
    switch: CaisSwitch, fake: FakeSwitch, inputs: tuple[int, ...], outputs: tuple[int, ...], hint: str | None
) -> None:
    with pytest.raises(UsageError) as error:
        switch.add_rule(_spec(inputs=inputs, outputs=outputs))
    assert hint is None or hint in (error.value.hint or "")
    assert fake.writes == []


def test_a_port_that_the_switch_does_not_have(switch: CaisSwitch, fake: FakeSwitch) -> None:
    fake.behaviour.ports = frozenset(ALL4)
    with pytest.raises(DeviceError, match="refused multicast group 16 to ports 1, 2, 3, 4, 7") as error:
        switch.add_rule(_spec(outputs=(1, 7)))
    assert "have all these ports" in (error.value.hint or "")
    assert fake.names() == []


@pytest.mark.parametrize("table", ["receivers", "members", "groups", "rules"])
def test_a_refusal_half_way_leaves_nothing(switch: CaisSwitch, fake: FakeSwitch, table: str) -> None:
    fake.behaviour.refuse = frozenset({table})
    with pytest.raises(CaisError, match=f"refused {table}.*nothing was changed"):
        switch.add_rule(_spec())
    assert fake.names() == []


@pytest.mark.parametrize("details", [True, False])
def test_a_stage_that_fails_in_part_is_undone(switch: CaisSwitch, fake: FakeSwitch, details: bool) -> None:
    fake.behaviour.details = details
    fake.behaviour.refuse_match = b"\x03"  # among the receivers and members, port 3
    with pytest.raises(DeviceError):
        switch.add_rule(_spec())
    assert fake.names() == []


@pytest.mark.parametrize("change", ["add", "ensure", "delete", "remove"])
def test_a_set_that_no_rule_uses_goes_with_the_next_change(switch: CaisSwitch, fake: FakeSwitch, change: str) -> None:
    switch.add_rule(_spec())
    switch.session.insert(
        MulticastGroup.of_ports(17, ALL4), TableEntry("receivers", {"output_set": 17, "egress_port": 2}, "deliver")
    )
    assert sorted(switch.state().output_sets) == [16, 17]
    match change:
        case "add":
            switch.add_rule(_spec(op=3))
        case "ensure":
            switch.ensure_rule(_spec(outputs=(1,)))
        case "delete":
            switch.delete_rule(0, 0, ANY, ANY, keep_group=True)
        case _:
            switch.remove_group(0)
    state = switch.state()
    assert 17 not in state.output_sets
    assert set(state.output_sets) == {rule.output_set for rule in state.rules}


def test_many_rules_are_added_in_a_few_writes(switch: CaisSwitch, fake: FakeSwitch) -> None:
    one_by_one = CaisSwitch(switch.session, new_epoch=lambda: 1000)
    specs = [
        _spec(),
        *(_spec(op=1, chunk=Span(port, port), inputs=(port,), outputs=tuple(set(ALL4) - {port})) for port in ALL4),
        _spec(op=3, inputs=(*ALL4, 5), outputs=(5,)),
        _spec(op=4, inputs=(*ALL4, 5, 6), outputs=ALL4),
        _spec(group_id=1),
    ]
    added = switch.add_rules(specs)
    # Multicast groups, receivers, members and entry of each group, three stages of either port more, rules.
    assert len(fake.writes) == 13
    together = switch.state()
    assert [change.rule.key for change in added] == [spec.key for spec in specs]
    for group_id in (0, 1):
        switch.remove_group(group_id)
    assert fake.names() == []
    for spec in specs:
        one_by_one.add_rule(spec)
    assert switch.state() == together


def test_many_rules_are_added_or_none(switch: CaisSwitch, fake: FakeSwitch) -> None:
    with pytest.raises(Refused, match="this rule exists"):
        switch.add_rules([_spec(), _spec(op=3), _spec()])
    with pytest.raises(Refused, match="same priority"):
        switch.add_rules([_spec(chunk=Span(0, 9)), _spec(chunk=Span(5, 14), outputs=(1,))])
    assert fake.writes == []
    fake.behaviour.refuse = frozenset({"rules"})
    with pytest.raises(DeviceError, match="2 rules: the switch refused"):
        switch.add_rules([_spec(), _spec(op=3)])
    assert fake.names() == []


def test_a_set_that_somebody_else_uses_is_left_alone(switch: CaisSwitch, fake: FakeSwitch) -> None:
    switch.session.insert(TableEntry("receivers", {"output_set": 16, "egress_port": 3}, "acknowledge"))
    assert switch.add_rule(_spec()).rule.output_set == 17


@pytest.mark.parametrize("details", [True, False])
def test_a_refused_extension_leaves_the_group_as_it_was(switch: CaisSwitch, fake: FakeSwitch, details: bool) -> None:
    switch.add_rule(_spec())
    before = switch.state()
    fake.behaviour.refuse = frozenset({"rules"})
    fake.behaviour.details = details
    with pytest.raises(CaisError):
        switch.add_rule(_spec(op=3, inputs=(1, 2, 3, 4, 5), outputs=(5,)))
    assert switch.state() == before


def test_a_failure_of_undoing_says_what_is_in_force(switch: CaisSwitch, fake: FakeSwitch) -> None:
    switch.add_rule(_spec())
    fake.behaviour.refuse = frozenset({"groups"})
    real = fake._refusal

    def refuse_members_too(update: object) -> int | None:
        entity = getattr(update, "entity")  # noqa: B009
        is_delete = getattr(update, "type") == 3  # noqa: B009
        if is_delete and entity.WhichOneof("entity") == "table_entry" and fake._table_name(entity) == "members":
            return 13
        return real(update)

    fake._refusal = refuse_members_too
    with pytest.raises(Refused, match=r"still in force: INSERT members group_id=0, ingress_port=5"):
        switch.ensure_group(0, [5])


def test_a_connection_that_breaks_within_a_stage(switch: CaisSwitch, fake: FakeSwitch) -> None:
    entries = [mac_entry(number, 1) for number in range(300)]  # two Writes
    fake.behaviour.lost_write = 2
    with pytest.raises(Unreachable, match="closed the connection"):
        changes.perform(switch.session, [[changes.insert(each) for each in entries]], "300 routes")
    assert fake.names() == []


def test_a_connection_that_stays_broken_says_what_is_in_force(switch: CaisSwitch, fake: FakeSwitch) -> None:
    stages = [[changes.insert(mac_entry(number, 1))] for number in range(3)]
    fake.behaviour.lost_write = 3
    fake.behaviour.stays_lost = True
    with pytest.raises(
        Refused,
        match=r"INSERT mac dst_addr=0; INSERT mac dst_addr=1; INSERT mac dst_addr=2 \(perhaps\)$",
    ) as error:
        changes.perform(switch.session, stages, "routes")
    assert error.value.exit_code == Unreachable.exit_code
    assert len(fake.names()) == 2  # the third one's undoing was carried out, but not answered either


def test_group_full(switch: CaisSwitch) -> None:
    switch.ensure_group(0, range(1, 33))
    with pytest.raises(Refused, match="group 0 full: 32 members and 1 more"):
        switch.ensure_group(0, [40])


def test_slots_used_up(switch: CaisSwitch) -> None:
    switch.ensure_group(0, [1, 2], slots=2048)
    switch.ensure_group(1, [1, 2], slots=2048)
    with pytest.raises(Refused, match="slots used up: 256 wanted, 4096 of 4096"):
        switch.ensure_group(2, [1, 2])
    switch.remove_group(0)
    assert switch.ensure_group(2, [1, 2]).group.slot_base == 0


def test_a_group_keeps_its_slots(switch: CaisSwitch) -> None:
    switch.ensure_group(0, [1, 2])
    with pytest.raises(Refused, match="has 256 slots, not 512"):
        switch.ensure_group(0, [1, 2], slots=512)


@pytest.mark.parametrize("group_id", [-1, 256])
def test_group_ids_have_8_bits(switch: CaisSwitch, group_id: int) -> None:
    with pytest.raises(UsageError, match="between 0 and 255"):
        switch.ensure_group(group_id, [1])


def test_a_job_gets_the_next_epoch(switch: CaisSwitch) -> None:
    switch.ensure_group(0, [1, 2])
    assert switch.start_job(0) == Job.of_epoch(1001)
    assert switch.start_job(0) == Job.of_epoch(1002)
    assert switch.ensure_group(0, [2, 1]).kind is ChangeKind.UNCHANGED
    assert switch.state().groups[0].epoch == 1002
    with pytest.raises(Refused, match="no group 7"):
        switch.start_job(7)


def test_the_epoch_never_becomes_0(switch: CaisSwitch) -> None:
    switch._new_epoch = lambda: 2**32 - 1
    switch.ensure_group(0, [1])
    assert switch.start_job(0).epoch == 1


def test_a_group_that_is_created_anew_has_another_epoch(fake: FakeSwitch, switch: CaisSwitch) -> None:
    anew = CaisSwitch(switch.session)
    epochs: set[int] = set()
    for _ in range(20):
        epochs |= {anew.ensure_group(0, [1, 2]).group.epoch, anew.start_job(0).epoch}
        anew.remove_group(0)
    assert len(epochs) == 40
    assert all(0 < epoch < 2**32 for epoch in epochs)


def test_deleting_the_last_rule_frees_the_group(switch: CaisSwitch, fake: FakeSwitch) -> None:
    switch.add_rule(_spec())
    switch.add_rule(_spec(op=3))
    assert switch.delete_rule(0, 3, ANY, ANY).op == 3
    assert 0 in switch.state().groups
    fake.writes.clear()
    fake.count("group_outcomes", 2, 9)
    switch.delete_rule(0, 0, ANY, ANY)
    assert _order(fake)[:5] == ["rules", "groups", "members", "receivers", "multicast"]
    assert fake.names() == []
    assert switch.snapshot().groups == {}


def test_deleting_a_rule_but_keeping_the_group(switch: CaisSwitch) -> None:
    switch.add_rule(_spec())
    switch.delete_rule(0, 0, ANY, ANY, keep_group=True)
    state = switch.state()
    assert (list(state.groups), state.rules, state.output_sets) == ([0], (), {})


def test_a_rule_that_is_not_there(switch: CaisSwitch) -> None:
    switch.add_rule(_spec(layer=Span(5, 5)))
    with pytest.raises(Refused, match="there is no rule for group 0, allreduce, layer any") as error:
        switch.delete_rule(0, 0, ANY, ANY)
    assert error.value.hint == "there are: layer 5, chunk any"
    with pytest.raises(Refused, match="there is no group 3"):
        switch.remove_group(3)


def test_members_left_by_an_interrupted_change_are_replaced(switch: CaisSwitch) -> None:
    switch.session.insert(TableEntry("members", {"group_id": 0, "ingress_port": 9}, "set_member", {"rank_mask": 1}))
    assert switch.state().strays == {0: (Member(0, 9),)}
    switch.ensure_group(0, [1, 9])
    state = switch.state()
    assert state.groups[0].ports == (1, 9)
    assert not state.strays


def test_other_traffic(switch: CaisSwitch) -> None:
    assert switch.set_flood_ports([1, 2]) is AppliedKind.INSERTED
    assert switch.set_flood_ports([1, 2, 3]) is AppliedKind.MODIFIED
    assert switch.session.read_multicast_groups(1) == [MulticastGroup.of_ports(1, [1, 2, 3])]
    assert switch.add_mac("02:00:00:00:00:01", 1) is AppliedKind.INSERTED
    assert switch.add_mac("02:00:00:00:00:01", 1) is AppliedKind.UNCHANGED
    assert switch.add_mac("02:00:00:00:00:01", 2) is AppliedKind.MODIFIED


def test_a_snapshot(switch: CaisSwitch, fake: FakeSwitch) -> None:
    switch.add_rule(_spec())
    for outcome, packets in {0: 10, 1: 20, 2: 8, 10: 2}.items():
        fake.count("group_outcomes", outcome, packets, packets * 100)
    fake.count("group_outcomes", 7 * 16 + 10, 5)  # somebody sends for a group that nobody installed
    fake.count("port_in", 1, 40, 4000)
    fake.count("port_out", 2, 30, 3000)
    fake.count("queue_delay", 2 * 16 + 3, 30)
    fake.count("bad_frames", 1, 6)
    shot = switch.snapshot()
    assert (shot.pool, shot.slots_allocated, shot.slots_in_use) == (4096, 256, 2)
    assert list(shot.groups) == [0, 7]
    assert shot.groups[7].slots == 0
    assert shot.groups[0].aggregated_bytes == 3800
    assert shot.bad_frames == {"short": 0, "payload_len": 6}
    assert list(shot.ports) == [1, 2, 3, 4]
    assert shot.ports[1].received.bytes == 4000
    assert shot.ports[2].delay.counts[3] == 30
    assert shot.fallback_ratio == pytest.approx(7 / 45)
    part = switch.snapshot(groups=[0], ports=[2])
    assert (list(part.groups), list(part.ports)) == ([0], [2])
    assert part.groups[0] == shot.groups[0]
    assert part.ports[2] == shot.ports[2]
