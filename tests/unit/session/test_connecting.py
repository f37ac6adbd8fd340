"""What a user sees where connecting goes wrong. Real sockets on loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from cais_tools.errors import DeadlineExceeded, NotPrimary, Unreachable, UsageError
from cais_tools.session import DeviceError, MulticastGroup, Pipeline, SessionOptions, SwitchSession, Tls, connect
from cais_tools.session.events import PrimaryChanged
from tests.unit.session.demo import demo_index
from tests.unit.session.fake_switch import FakeSwitch

QUICK = SessionOptions(timeout=1.0)


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match=r"nothing listens at 127\.0\.0\.1:\d+ \(connection refused\)"):
            connect(f"127.0.0.1:{free.getsockname()[1]}", QUICK)


def test_something_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises((Unreachable, DeadlineExceeded)):
        connect(f"127.0.0.1:{server.getsockname()[1]}", QUICK)


def test_a_host_that_nobody_knows() -> None:
    with pytest.raises(Unreachable, match=r"cannot be resolved|unreachable"):
        connect("no-such-host.invalid:9559", QUICK)


def test_a_grpc_server_of_another_kind() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with pytest.raises(Unreachable, match="speaks gRPC but not P4Runtime"):
            connect(f"127.0.0.1:{port}", QUICK)
    finally:
        server.stop(0).wait(5)


def test_tls_meets_plaintext(fake: FakeSwitch) -> None:
    with pytest.raises(Unreachable, match="does not speak TLS") as error:
        connect(fake.address, SessionOptions(timeout=2, tls=Tls()))
    assert error.value.hint == "connect without TLS options"


def test_a_tls_file_that_is_not_there(fake: FakeSwitch) -> None:
    with pytest.raises(UsageError, match="cannot read /no/ca"):
        connect(fake.address, SessionOptions(tls=Tls(ca=Path("/no/ca"))))


def test_a_proxy_in_the_environment_is_not_used(fake: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    connect(fake.address, QUICK).close()


def test_a_stream_that_says_nothing(fake: FakeSwitch) -> None:
    fake.behaviour.mute = True
    with pytest.raises(DeadlineExceeded, match="did not say who is primary"):
        connect(fake.address, QUICK)


def test_a_wrong_device_id(fake: FakeSwitch) -> None:
    with pytest.raises(DeviceError, match="has no device with this id") as error:
        connect(fake.address, SessionOptions(device_id=7))
    assert (error.value.exit_code, error.value.code) == (5, "NOT_FOUND")


@pytest.mark.parametrize("device_id", [0, 1])
@pytest.mark.parametrize("late", [False, True])
def test_a_device_id_that_is_not_given_is_found(fake: FakeSwitch, device_id: int, late: bool) -> None:
    fake.behaviour.device_id, fake.behaviour.checks_device_late = device_id, late
    with connect(fake.address, QUICK) as session:
        session.load(Pipeline(b"{}", demo_index()))
        assert (session.device_id, session.is_primary) == (device_id, True)


def test_an_election_id_that_is_taken(fake: FakeSwitch) -> None:
    with (
        connect(fake.address, SessionOptions(election_id=5)),
        pytest.raises(DeviceError, match="election id 5 is taken"),
    ):
        connect(fake.address, SessionOptions(election_id=5))


def test_a_second_client_reads_and_is_told_who_writes(session: SwitchSession, fake: FakeSwitch) -> None:
    session.insert(MulticastGroup.of_ports(5, [1]))
    with connect(fake.address) as second, connect(fake.address) as third:
        for backup in (second, third):
            assert not backup.is_primary
            assert backup.read_multicast_groups() == [MulticastGroup.of_ports(5, [1])]
            with pytest.raises(NotPrimary) as error:
                backup.insert(MulticastGroup.of_ports(6, [1]))
            assert error.value.exit_code == 4
        assert str(session.election_id) in second._election.reason
    assert session.is_primary


def test_taking_over_and_giving_back(session: SwitchSession, fake: FakeSwitch) -> None:
    with connect(fake.address, SessionOptions(take_over=True)) as usurper:
        assert usurper.is_primary
        event = session.next_event(5)
        assert isinstance(event, PrimaryChanged)
        assert not event.primary
        with pytest.raises(NotPrimary, match=str(usurper.election_id)):
            session.insert(MulticastGroup.of_ports(6, [1]))
    event = session.next_event(5)
    assert isinstance(event, PrimaryChanged)
    assert event.primary
    session.insert(MulticastGroup.of_ports(6, [1]))


def test_read_only_opens_no_stream(session: SwitchSession, fake: FakeSwitch) -> None:
    with connect(fake.address, SessionOptions(read_only=True)) as reader:
        assert reader.read_table("exact") == []
        with pytest.raises(NotPrimary, match="read-only"):
            reader.insert(MulticastGroup.of_ports(6, [1]))


def test_a_session_that_is_not_closed_leaves_no_thread_behind_it(fake: FakeSwitch) -> None:
    session = connect(fake.address)
    assert any(thread.name == "p4runtime-stream" for thread in threading.enumerate())
    session.close()
    assert not any(thread.name == "p4runtime-stream" for thread in threading.enumerate())
    session.close()


def test_closing_while_the_switch_is_gone(fake: FakeSwitch) -> None:
    session = connect(fake.address)
    fake.stop()
    assert session.next_event(5) is not None
    session.close()
    assert not any(thread.name == "p4runtime-stream" for thread in threading.enumerate())


def test_closing_when_the_switch_clings_to_the_stream(fake: FakeSwitch) -> None:
    fake.behaviour.clings = True
    connect(fake.address).close()
    assert not any(thread.name == "p4runtime-stream" for thread in threading.enumerate())


def test_a_process_that_forgets_to_close_ends_quietly(fake: FakeSwitch) -> None:
    script = f"from cais_tools.session import connect; session = connect({fake.address!r}); print(session.is_primary)"
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
