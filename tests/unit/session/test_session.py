"""The session against the fake switch: by the specification, and with bmv2's deviations."""

from __future__ import annotations

import pytest

from cais_tools.errors import Unreachable
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.session import (
    AppliedKind,
    BatchFailed,
    CloneSession,
    CounterData,
    DeviceError,
    Lpm,
    MulticastGroup,
    NoPipeline,
    Pipeline,
    Replica,
    SessionOptions,
    SwitchRestarted,
    SwitchSession,
    TableEntry,
    Update,
    UpdateType,
    connect,
)
from cais_tools.session.events import PacketIn, Reconnected, Restarted, StreamLost
from tests.unit.session.demo import demo_index
from tests.unit.session.fake_switch import FakeSwitch


def _route(number: int, port: int = 1) -> TableEntry:
    return TableEntry("lpm", {"dst": Lpm(number << 8, 24)}, "forward", {"port": port})


def test_without_a_program_everything_says_so(fake: FakeSwitch) -> None:
    with connect(fake.address) as session:
        assert session.program_info() is None
        with pytest.raises(NoPipeline, match="no P4 program is loaded"):
            session.insert(_route(1))
        with pytest.raises(NoPipeline):
            session.read_table("lpm")


def test_a_program_that_another_client_loads_is_found(fake: FakeSwitch) -> None:
    with connect(fake.address) as early:
        fake.config = p4runtime_pb2.ForwardingPipelineConfig(p4info=demo_index().message)
        assert early.read_table("lpm") == []


def test_loading_reports_before_and_after(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(_route(1), _route(2))
    pipeline = Pipeline(b"{}", demo_index(), "demo")
    assert not session.has_loaded(pipeline)
    rehearsal = session.load(pipeline, dry_run=True)
    assert rehearsal.dry_run
    assert rehearsal.entries_dropped == 2
    assert len(session.read_table("lpm")) == 2
    report = session.load(pipeline)
    assert report.before is not None
    assert report.before.fingerprint == 77
    assert not report.is_same_program
    assert session.has_loaded(pipeline)
    assert session.read_table("lpm") == []
    assert session.load(pipeline).is_same_program


def test_every_update_of_a_batch_has_a_verdict(session: SwitchSession) -> None:
    session.insert(_route(1))
    verdicts = session.try_write([Update(UpdateType.INSERT, _route(number)) for number in (0x200, 1, 0x300)])
    assert [verdict.code for verdict in verdicts] == ["OK", "ALREADY_EXISTS", "OK"]
    assert verdicts[1].index == 1
    assert len(session.read_table("lpm")) == 3


def test_a_batch_that_is_larger_than_a_write(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(*(_route(number) for number in range(300)))
    assert len(fake.writes) == 2
    with pytest.raises(BatchFailed, match="300 of 300 updates failed") as error:
        session.insert(*(_route(number) for number in range(300)))
    assert [each.index for each in error.value.verdicts] == list(range(300))
    assert {each.code for each in error.value.verdicts} == {"ALREADY_EXISTS"}  # 15 kB of errors in one trailer


def test_a_switch_that_does_not_say_which_update_failed(session: SwitchSession, fake: FakeSwitch) -> None:
    fake.behaviour.details = False
    session.insert(_route(1))
    with pytest.raises(BatchFailed) as error:
        session.insert(_route(1), _route(2))
    assert not error.value.verdicts[0].certain
    assert "does not say which" in (error.value.hint or "")


def test_apply_is_idempotent(session: SwitchSession) -> None:
    group = MulticastGroup.of_ports(5, [1, 2])
    clone = CloneSession(6, frozenset({Replica(1)}))
    entities = [_route(1), group, clone]
    assert {each.kind for each in session.apply(entities)} == {AppliedKind.INSERTED}
    assert {each.kind for each in session.apply(entities)} == {AppliedKind.UNCHANGED}
    changed = session.apply([_route(1, port=2), MulticastGroup.of_ports(5, [1]), clone])
    assert [each.kind.value for each in changed] == ["modified", "modified", "unchanged"]
    assert session.read_table("lpm")[0].params == {"port": 2}
    assert session.read_multicast_groups(5) == [MulticastGroup.of_ports(5, [1])]


def test_apply_finds_out_for_itself_without_details(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(_route(1), _route(2))
    fake.behaviour.details = False
    applied = session.apply([_route(1), _route(3)])
    assert [each.kind for each in applied] == [AppliedKind.UNCHANGED, AppliedKind.UNCHANGED]
    assert len(session.read_table("lpm")) == 3
    with pytest.raises(BatchFailed) as error:
        session.apply([_route(1, port=7)])
    assert error.value.code == "UNKNOWN"


def test_reading_what_is_not_there_is_empty(session: SwitchSession) -> None:
    assert session.read_multicast_groups(99) == []
    assert session.read_clone_sessions(99) == []
    assert session.read_default("lpm") is None


def test_counters(session: SwitchSession, fake: FakeSwitch) -> None:
    fake.count("count", 3, 7, 700)
    assert session.read_counter("count")[3] == CounterData(7, 700)
    assert len(session.read_counter("count")) == 8
    assert session.read_counters({"count": [2, 3]}) == {"count": {2: CounterData(), 3: CounterData(7, 700)}}
    session.clear_counter("count", [3])
    assert session.read_counter("count")[3] == CounterData()


def test_direct_counters_come_with_the_entries(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(_route(1))
    [key] = fake.entities
    fake.hits[key] = (5, 500)
    assert session.read_table("lpm")[0].counter is None
    assert session.read_table("lpm", counters=True)[0].counter == CounterData(5, 500)


def test_packets_both_ways(session: SwitchSession, fake: FakeSwitch) -> None:
    response = p4runtime_pb2.StreamMessageResponse()
    response.packet.payload = b"up"
    response.packet.metadata.add(metadata_id=1, value=b"\x03")
    fake.say(response)
    assert session.next_event(5) == PacketIn(b"up", {"ingress_port": 3})
    assert session.next_event(0) is None
    session.send_packet(b"down", egress_port=2)
    digest = p4runtime_pb2.StreamMessageResponse()
    digest.digest.digest_id, digest.digest.list_id = 51, 9
    fake.say(digest)
    assert session.next_event(5) is not None
    session.close()
    assert fake.packets_out == [b"down"]


def test_a_restarted_switch_is_noticed(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(_route(1))
    fake.crash_and_come_back()
    events = []
    while not events or not isinstance(events[-1], Restarted):
        event = session.next_event(5)
        assert event is not None, events
        events.append(event)
    assert isinstance(events[0], StreamLost)
    for call in (lambda: session.read_table("lpm"), lambda: session.insert(_route(2))):
        with pytest.raises(SwitchRestarted, match="has no program now"):
            call()
    session.load(Pipeline(b"{}", demo_index()))
    session.insert(_route(2))
    assert len(session.read_table("lpm")) == 1


def test_another_program_in_place_of_ours_is_noticed(session: SwitchSession, fake: FakeSwitch) -> None:
    assert fake.config is not None
    fake.config.cookie.cookie = 78 << 32 | 1
    with pytest.raises(SwitchRestarted, match="runs another program now"):
        session.check_pipeline()
    session.refresh()
    session.check_pipeline()


def test_the_same_program_loaded_anew_by_somebody_else_is_noticed(session: SwitchSession, fake: FakeSwitch) -> None:
    assert fake.config is not None
    pipeline = Pipeline(b"{}", demo_index())
    session.load(pipeline)
    with connect(fake.address, SessionOptions(timeout=10, take_over=True)) as other:
        assert other.has_loaded(pipeline)
        assert other.load(pipeline).is_same_program
        assert session.has_loaded(pipeline)
        other.check_pipeline()
        with pytest.raises(SwitchRestarted, match="was loaded anew by another client, and all entries are gone"):
            session.check_pipeline()


def test_a_load_while_another_was_primary_is_noticed_on_becoming_primary_again(
    session: SwitchSession, fake: FakeSwitch
) -> None:
    with connect(fake.address, SessionOptions(timeout=10, take_over=True)) as other:
        other.load(Pipeline(b"{}", demo_index()))
    while not isinstance(event := session.next_event(5), Restarted):
        assert event is not None
    with pytest.raises(SwitchRestarted, match="all entries are gone"):
        session.insert(_route(1))


def test_a_program_without_a_cookie_that_is_gone_is_noticed(fake: FakeSwitch) -> None:
    fake.config = p4runtime_pb2.ForwardingPipelineConfig(p4info=demo_index().message)
    with connect(fake.address) as session:
        session.check_pipeline()
        fake.config = None
        with pytest.raises(SwitchRestarted, match="has no program now"):
            session.check_pipeline()


def test_a_read_of_several_things_of_which_one_is_not_there(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(_route(1))
    fake.behaviour.finds_nothing = True
    assert session.read_table("exact") == []
    with pytest.raises(DeviceError, match="no such thing"):
        session.read_tables(["lpm", "exact"])


def test_a_broken_connection_alone_is_no_restart(session: SwitchSession, fake: FakeSwitch) -> None:
    fake.crash_and_come_back(keep_pipeline=True)
    while not isinstance(event := session.next_event(5), Reconnected):
        assert event is not None
    session.insert(_route(1))


def test_calls_fail_at_once_while_the_switch_is_down(session: SwitchSession, fake: FakeSwitch) -> None:
    fake.stop()
    with pytest.raises(Unreachable):
        session.read_table("lpm")
