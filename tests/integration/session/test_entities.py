"""Every kind of entity through the session, on all switches that have it: written twice, read back, as it was."""

from __future__ import annotations

import pytest

from cais_tools.session import (
    ActionProfileGroup,
    ActionProfileMember,
    AppliedKind,
    BatchFailed,
    CloneSession,
    CounterCell,
    CounterData,
    DeviceError,
    DigestConfig,
    GroupMember,
    MeterCell,
    MeterConfig,
    MulticastGroup,
    OneShotAction,
    RegisterCell,
    Replica,
    SwitchSession,
    TableEntry,
    ValueSet,
    read_pipeline,
)
from cais_tools.session.entities import Entity
from tests.integration.session.targets import CONFORMANCE, Bmv2, SwitchUnderTest
from tests.integration.switch.client import DATA, Wires


@pytest.fixture
def loaded(session: SwitchSession) -> SwitchSession:
    """The session, with a program that has every kind of object."""
    session.load(read_pipeline(DATA / "rehearsal.json", DATA / "rehearsal.p4info.txtpb"))
    return session


def member(number: int, port: int) -> ActionProfileMember:
    return ActionProfileMember("FrameIngress.members", number, "FrameIngress.send", {"port": port})


def kinds(session: SwitchSession, *entities: Entity) -> list[AppliedKind]:
    return [each.kind for each in session.apply(entities)]


def test_members_and_groups(loaded: SwitchSession, target: SwitchUnderTest) -> None:
    # bmv2 forgets watched ports in a group with weights.
    watched = None if isinstance(target, Bmv2) else 3
    group = ActionProfileGroup("FrameIngress.members", 4, frozenset({GroupMember(1, 2), GroupMember(2, 1, watched)}))
    entry = TableEntry("spread", {"kind": 6}, group_id=4)
    for entities in ([member(1, 1), member(2, 2)], [group], [entry]):
        assert set(kinds(loaded, *entities)) == {AppliedKind.INSERTED}
        assert set(kinds(loaded, *entities)) == {AppliedKind.UNCHANGED}
    assert loaded.read_action_profile_members("members") == [member(1, 1), member(2, 2)]
    assert loaded.read_action_profile_members("members", 2) == [member(2, 2)]
    assert loaded.read_action_profile_members("members", 9) == []
    assert loaded.read_action_profile_groups("members") == loaded.read_action_profile_groups("members", 4) == [group]
    assert loaded.read_action_profile_groups("members", 5) == []
    assert loaded.read_table("spread")[0].group_id == 4
    assert kinds(loaded, member(1, 3)) == [AppliedKind.MODIFIED]
    fewer = ActionProfileGroup("members", 4, frozenset({GroupMember(1)}))
    assert kinds(loaded, fewer) == [AppliedKind.MODIFIED]
    assert kinds(loaded, fewer) == [AppliedKind.UNCHANGED]
    with pytest.raises(BatchFailed):
        loaded.delete(member(1, 3))
    for gone in (entry, group, member(1, 3), member(2, 2)):
        loaded.delete(gone)
    assert loaded.read_action_profile_members("members") == []


def test_one_shot_action_sets(loaded: SwitchSession) -> None:
    def entry(*weights: int) -> TableEntry:
        actions = tuple(
            OneShotAction("FrameIngress.send", {"port": port}, weight, port) for port, weight in enumerate(weights, 1)
        )
        return TableEntry("FrameIngress.spread", {"kind": 6}, one_shot=actions)

    assert kinds(loaded, entry(1, 2)) == [AppliedKind.INSERTED]
    [found] = loaded.read_table("spread")
    assert found.one_shot is not None
    assert [(each.params, each.weight) for each in found.one_shot] == [({"port": 1}, 1), ({"port": 2}, 2)]
    assert kinds(loaded, entry(1, 2)) == [AppliedKind.UNCHANGED]
    assert kinds(loaded, entry(3)) == [AppliedKind.MODIFIED]
    loaded.delete(entry(3))
    assert loaded.read_table("spread") == []


def test_cells_of_counters_and_meters(loaded: SwitchSession) -> None:
    config = MeterConfig(1, 2, 3, 4)
    cell = MeterCell("FrameIngress.rate", 1, config)
    assert kinds(loaded, cell, CounterCell("both", 2, CounterData(3, 4))) == [AppliedKind.MODIFIED] * 2
    assert loaded.read_meter("rate")[1] == cell
    assert loaded.read_counter("both")[2] == CounterData(3, 4)
    loaded.modify(MeterCell("rate", 1))
    assert loaded.read_meter("rate")[1].config is None


def test_digests(loaded: SwitchSession) -> None:
    name = loaded.index.message.digests[0].preamble.name
    config = DigestConfig(name, max_list_size=7)
    assert loaded.read_digests(name) == []
    assert [kinds(loaded, config) for _ in range(2)] == [[AppliedKind.INSERTED], [AppliedKind.UNCHANGED]]
    assert loaded.read_digests(name) == [config]
    assert kinds(loaded, DigestConfig(name, max_list_size=9)) == [AppliedKind.MODIFIED]
    loaded.delete(config)


def test_registers_and_value_sets(session: SwitchSession, target: SwitchUnderTest) -> None:
    session.load(read_pipeline(DATA / "control.json", DATA / "control.p4info.txtpb"))
    index = session.index.message
    register, value_set = index.registers[0].preamble.name, index.value_sets[0]
    cell = RegisterCell(register, 1, 5)
    members = tuple({value_set.match[0].name: number} for number in (1, 2))
    if isinstance(target, Bmv2) or session.api_version == "1.3.0":
        with pytest.raises(BatchFailed) as refused:
            session.modify(cell)
        assert refused.value.code == "UNIMPLEMENTED"
        with pytest.raises(DeviceError, match="UNIMPLEMENTED"):
            session.read_value_set(value_set.preamble.name)
        return
    session.modify(cell, ValueSet(value_set.preamble.name, members))
    assert session.read_register(register, [1]) == {1: 5}
    assert session.read_value_set(value_set.preamble.name).members == members


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="needs ../shared/conformance")
def test_bmv2_takes_clone_sessions_for_multicast_groups(session: SwitchSession, target: SwitchUnderTest) -> None:
    if not target.hosts:
        pytest.skip("bmv2 has no ports without root")
    folder = CONFORMANCE / "p4runtime"
    session.load(read_pipeline(folder / "multicast.json", folder / "multicast.p4info.txtpb"))
    session.insert(CloneSession(5, frozenset({Replica(2, 9)})), MulticastGroup(6, frozenset({Replica(2, 7)})))
    wires = Wires(target.hosts)
    wires.send(1, b"\x80\x05" + bytes(20), b"\x00\x06" + bytes(20))
    expected = [9, 7] if session.api_version == "1.3.0" else [7]
    assert [frame[1] for frame in wires.receive(2, len(expected))] == expected
