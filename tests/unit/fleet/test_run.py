"""The same work on several devices: outcomes in order, errors kept apart, and what Ctrl-C does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from cais_tools.config import Device, Target, TlsFiles
from cais_tools.errors import CaisError, CheckFailed, NotPermitted, Refused, Unreachable, UsageError
from cais_tools.fleet import Outcome, Stop, options_for, run_on_each, worst
from cais_tools.fleet import run as fleet_run
from cais_tools.session import SessionOptions, SwitchSession, Tls

DEVICES = [Device(f"leaf{number}", f"10.0.0.{number}") for number in range(1, 5)]
OPTIONS = SessionOptions()


class FakeSession:
    """Something that `close` ends, also from outside."""

    def __init__(self, target: Target, options: SessionOptions) -> None:
        self.target, self.options = target, options
        self.closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        if self.target.host == "10.0.0.2":
            raise Unreachable("nothing listens", hint="is it running?")

    def close(self) -> None:
        self.closed.set()


@pytest.fixture(autouse=True)
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[FakeSession]:
    made: list[FakeSession] = []

    def make(target: Target, options: SessionOptions) -> FakeSession:
        made.append(FakeSession(target, options))
        return made[-1]

    monkeypatch.setattr(fleet_run, "SwitchSession", make)
    return made


def test_outcomes_are_in_the_order_of_the_devices(sessions: list[FakeSession]) -> None:
    third_is_done = threading.Event()

    def work(_: SwitchSession, device: Device) -> str:
        if device.name == "leaf1":
            assert third_is_done.wait(20)  # so they do run at once
        if device.name == "leaf3":
            third_is_done.set()
        if device.name == "leaf4":
            raise ZeroDivisionError("by a mistake of ours")
        return device.name.upper()

    heard: list[str] = []
    outcomes = run_on_each(DEVICES, work, options=OPTIONS, done=lambda each: heard.append(each.device.name))
    assert [each.value for each in outcomes] == ["LEAF1", None, "LEAF3", None]
    assert [each.exit_code for each in outcomes] == [0, 3, 0, 1]
    assert sorted(heard) == [device.name for device in DEVICES]
    assert "fault of cais-tools" in ((outcomes[3].error or CaisError("")).hint or "")
    assert all(session.closed.is_set() for session in sessions)


def test_the_worst_is_the_highest_exit_code() -> None:
    errors = [None, CheckFailed(""), UsageError(""), Unreachable(""), NotPermitted(""), Refused("")]
    outcomes: list[Outcome[int]] = [Outcome(DEVICES[0], error=error) for error in errors]
    assert [worst(outcomes[:count]) for count in range(7)] == [0, 0, 1, 2, 3, 4, 5]


def test_options_come_before_the_file() -> None:
    device = Device("a", "a", 7, TlsFiles(server_name="a"))
    assert options_for(device, OPTIONS) == SessionOptions(device_id=7, tls=Tls(server_name="a"))
    given = SessionOptions(device_id=0, tls=Tls(server_name="b"))
    assert options_for(device, given) == given
    assert options_for(DEVICES[0], OPTIONS) == OPTIONS


def test_tls_files_that_are_none_are_an_error_of_that_device_alone() -> None:
    devices = [Device("a", "a", tls=TlsFiles(ca=Path("/no/ca.pem"))), DEVICES[0]]
    outcomes = run_on_each(devices, lambda *_: 1, options=OPTIONS)
    assert [each.exit_code for each in outcomes] == [2, 0]
    assert str(outcomes[0].error) == "there is no file /no/ca.pem"


def interrupting(monkeypatch: pytest.MonkeyPatch, *moments: Callable[[], object]) -> None:
    """Ctrl-C in the thread that waits, once as soon as each of `moments` returns."""
    real, left = fleet_run.wait, list(moments)

    def wait(*arguments: Any, **options: Any) -> object:
        if left:
            left.pop(0)()
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(fleet_run, "wait", wait)


def test_ctrl_c_closes_the_sessions(monkeypatch: pytest.MonkeyPatch, sessions: list[FakeSession]) -> None:
    begun = threading.Barrier(4)
    interrupting(monkeypatch, begun.wait)

    def work(session: SwitchSession, _: Device) -> None:
        begun.wait(20)
        assert isinstance(session, FakeSession)
        assert session.closed.wait(20)

    with pytest.raises(KeyboardInterrupt):
        run_on_each(DEVICES, work, options=OPTIONS)
    assert all(session.closed.is_set() for session in sessions)


def test_with_a_stop_work_comes_to_a_clean_end(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Barrier(4)
    interrupting(monkeypatch, begun.wait)
    stop = Stop()

    def work(_: SwitchSession, device: Device) -> str:
        begun.wait(20)
        return f"{device.name} {'stopped' if stop.wait(20) else 'went on'}"

    outcomes = run_on_each(DEVICES, work, options=OPTIONS, stop=stop)
    assert [each.value for each in outcomes] == ["leaf1 stopped", None, "leaf3 stopped", "leaf4 stopped"]
    assert stop.requested
    assert isinstance(stop.cause, KeyboardInterrupt)


def test_a_second_ctrl_c_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Barrier(4)
    interrupting(monkeypatch, begun.wait, lambda: None)
    stop = Stop()

    def work(session: SwitchSession, _: Device) -> None:
        begun.wait(20)
        assert isinstance(session, FakeSession)
        assert session.closed.wait(20)  # deaf to the first one

    with pytest.raises(KeyboardInterrupt):
        run_on_each(DEVICES, work, options=OPTIONS, stop=stop)


def test_what_has_not_begun_when_a_stop_is_asked_for_does_not_begin() -> None:
    stop = Stop()
    stop.request(KeyboardInterrupt())
    outcomes = run_on_each(DEVICES, lambda *_: pytest.fail("it began"), options=OPTIONS, stop=stop)
    assert all("not begun" in str(each.error) for each in outcomes)
