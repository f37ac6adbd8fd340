"""The session against real switches: the same tests on all of them."""

from __future__ import annotations

import pytest

from cais_tools.errors import NotPrimary
from cais_tools.session import (
    AppliedKind,
    BatchFailed,
    CloneSession,
    DeviceError,
    DigestConfig,
    MulticastGroup,
    Pipeline,
    Replica,
    SessionOptions,
    SwitchRestarted,
    SwitchSession,
    TableEntry,
    Update,
    UpdateType,
    connect,
    read_pipeline,
)
from cais_tools.session.cais import CaisSwitch
from cais_tools.session.events import PrimaryChanged, Restarted
from tests.integration.session.targets import CONFORMANCE, SwitchUnderTest

needs_conformance = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="needs ../shared/conformance")


def _program(name: str) -> Pipeline:
    folder = CONFORMANCE / "p4runtime"
    return read_pipeline(folder / f"{name}.json", folder / f"{name}.p4info.txtpb")


def _mac(number: int, port: int = 1) -> TableEntry:
    return TableEntry("mac", {"dst_addr": number}, "forward", {"port": port})


def test_loading(session: SwitchSession, pipeline: Pipeline) -> None:
    session.load(pipeline)
    assert session.has_loaded(pipeline)
    session.insert(_mac(1), _mac(2))
    assert session.load(pipeline, dry_run=True).entries_dropped == 2
    assert len(session.read_table("mac")) == 2
    report = session.load(pipeline)
    assert report.is_same_program
    assert report.entries_dropped == 2
    assert session.read_table("mac") == []


def test_verdicts_by_index(cais: CaisSwitch) -> None:
    session = cais.session
    session.insert(_mac(2))
    verdicts = session.try_write([Update(UpdateType.INSERT, _mac(number)) for number in (1, 2, 3)])
    assert [verdict.code for verdict in verdicts] == ["OK", "ALREADY_EXISTS", "OK"]
    with pytest.raises(BatchFailed) as error:
        session.delete(*(_mac(number) for number in range(600)))
    assert [each.index for each in error.value.verdicts if each.ok] == [1, 2, 3]
    assert {each.code for each in error.value.failed} == {"NOT_FOUND"}


def test_apply_is_idempotent(cais: CaisSwitch) -> None:
    session = cais.session
    wanted = [_mac(7), MulticastGroup.of_ports(20, [1, 2]), CloneSession(3, frozenset({Replica(1)}))]
    kinds = [[each.kind for each in session.apply(wanted)] for _ in range(2)]
    assert kinds == [[AppliedKind.INSERTED] * 3, [AppliedKind.UNCHANGED] * 3]
    assert session.apply([_mac(7, port=2)])[0].kind is AppliedKind.MODIFIED
    assert session.read_table("mac")[0].params == {"port": 2}
    assert session.read_multicast_groups(20) == wanted[1:2]
    assert session.read_clone_sessions() == wanted[2:]


def test_what_is_not_there_is_empty(cais: CaisSwitch) -> None:
    session = cais.session
    assert session.read_multicast_groups(99) == []
    assert session.read_clone_sessions(99) == []
    assert session.read_table("mac") == []
    default = session.read_default("mac")
    assert default is None or (default.action or "").endswith("flood") or default.action is None


def test_counters_are_read_and_cleared(cais: CaisSwitch) -> None:
    session = cais.session
    assert len(session.read_counter("group_outcomes")) == 4096
    assert list(session.read_counters({"port_in": [1, 5], "port_out": [2]})) == ["port_in", "port_out"]
    session.clear_counter("port_in", [1, 5])


@needs_conformance
def test_a_table_that_is_full(session: SwitchSession) -> None:
    session.load(_program("simple_router"))
    size = session.index.table("forward").size
    entries = [
        TableEntry("forward", {"nhop_ipv4": number}, "set_dmac", {"dmac": number}) for number in range(size + 20)
    ]
    with pytest.raises(BatchFailed) as error:
        session.insert(*entries)
    assert [each.index for each in error.value.failed] == list(range(size, size + 20))
    assert error.value.code in ("RESOURCE_EXHAUSTED", "UNKNOWN")
    assert "full" in (error.value.hint or "")
    assert len(session.read_table("forward")) == size


@needs_conformance
def test_every_kind_of_key(session: SwitchSession) -> None:
    for name in ("simple_router", "ternary", "optional"):
        session.load(_program(name))
        for table in session.index.message.tables:
            if table.is_const_table or not table.match_fields:
                continue
            action = session.index.action(table.action_refs[0].id)
            entry = TableEntry(
                table.preamble.name,
                {key.name: 1 for key in table.match_fields},
                action.preamble.name,
                {param.name: 1 for param in action.params},
                priority=0 if all(key.match_type in (2, 3) for key in table.match_fields) else 9,
            )
            session.insert(entry)
            [read] = session.read_table(table.preamble.name)
            assert session.apply([read])[0].kind is AppliedKind.UNCHANGED
            session.delete(read)
            assert session.read_table(table.preamble.name) == []


@needs_conformance
def test_a_digest_is_configured(session: SwitchSession) -> None:
    session.load(_program("digest"))
    name = session.index.message.digests[0].preamble.name
    session.insert(DigestConfig(name, max_list_size=10))
    session.delete(DigestConfig(name))


def test_two_clients(cais: CaisSwitch, target: SwitchUnderTest) -> None:
    first = cais.session
    with connect(target.address) as second, connect(target.address) as third:
        assert [each.is_primary for each in (first, second, third)] == [True, False, False]
        assert len(CaisSwitch(second).rules()) == 0
        with pytest.raises(NotPrimary):
            third.insert(_mac(1))
    with connect(target.address, SessionOptions(take_over=True)) as usurper:
        usurper.insert(_mac(1))
        event = first.next_event(10)
        assert isinstance(event, PrimaryChanged)
        assert not event.primary
        with pytest.raises(NotPrimary):
            first.insert(_mac(2))
    event = first.next_event(10)
    assert isinstance(event, PrimaryChanged)
    assert event.primary
    first.insert(_mac(2))


def test_a_reload_by_another_client_is_noticed(cais: CaisSwitch, target: SwitchUnderTest, pipeline: Pipeline) -> None:
    with connect(target.address, SessionOptions(read_only=True)) as watching:
        watched = CaisSwitch(watching)
        watched.state()
        with connect(target.address, SessionOptions(take_over=True)) as other:
            other.load(pipeline)
        for read in (watched.state, watched.snapshot, cais.state):
            with pytest.raises(SwitchRestarted, match="loaded anew by another client, and all entries are gone"):
                read()
        watching.refresh()
        assert watched.rules() == ()


def test_a_wrong_device_id(target: SwitchUnderTest, pipeline: Pipeline) -> None:
    def connect_and_load() -> None:
        with connect(target.address, SessionOptions(device_id=7)) as session:
            session.load(pipeline)

    with pytest.raises(DeviceError, match="has no device with this id"):
        connect_and_load()


def test_a_restart_is_noticed(cais: CaisSwitch, target: SwitchUnderTest, pipeline: Pipeline) -> None:
    session = cais.session
    session.insert(_mac(1))
    target.stop()
    target.start()
    while not isinstance(event := session.next_event(20), Restarted):
        assert event is not None
    with pytest.raises(SwitchRestarted, match="all entries are gone"):
        cais.rules()
    session.load(pipeline)
    session.insert(_mac(1))
    assert cais.rules() == ()
