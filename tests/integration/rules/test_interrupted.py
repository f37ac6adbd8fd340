"""An apply that ends in the middle: Ctrl-C, SIGTERM, a refusal, a switch that falls silent; and how it goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import grpc
import pytest

from cais_tools.session import SessionOptions, connect, load_shipped
from cais_tools.session.cais import CaisSwitch, Rule
from tests.functional.runner import command, environment, invoke
from tests.unit.session.fake_switch import FakeSwitch

RULES = 3000


class HaltingSwitch(FakeSwitch):
    """Holds back its answer to one Write, so that whatever interrupts the client comes in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.halt_at = 0
        """Which Write from now on is not answered before `go`; 0: none."""
        self.halted, self.go = threading.Event(), threading.Event()
        self._counting = threading.Lock()
        self.reads_until_lost = False
        """Reads get no answer either once a Write got none."""

    def Write(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._counting:
            self.halt_at -= 1
            halts = self.halt_at == 0
        if halts:
            self.halted.set()
            assert self.go.wait(30)
        return super().Write(request, context)

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.reads_until_lost and self.behaviour.lost_write == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        yield from super().Read(request, context)

    def rules(self) -> tuple[Rule, ...]:
        with connect(self.address, SessionOptions(read_only=True)) as session:
            return CaisSwitch(session).state().rules


@pytest.fixture
def switch() -> Generator[HaltingSwitch]:
    switch = HaltingSwitch()
    switch.start()
    with connect(switch.address) as session:
        session.load(load_shipped())
    yield switch
    switch.go.set()
    switch.stop()


@pytest.fixture
def wanted(tmp_path: Path) -> Path:
    file = tmp_path / "wanted.toml"
    rules = [f"[[rules]]\ngroup = 0\nlayer = {layer}\n" for layer in range(RULES)]
    file.write_text("\n".join(["[[groups]]\nid = 0\nports = [1, 2]\n", *rules]))
    return file


def _apply(address: str, file: Path, *more: str) -> list[str]:
    return command("rules", "apply", str(file), "--yes", "--device", address, "--timeout", "20s", *more)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_middle(
    switch: HaltingSwitch, wanted: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    switch.halt_at = 8
    output = tmp_path / "output"
    with output.open("w") as stdout:  # a pipe that nobody reads would stop it before the switch does
        process = subprocess.Popen(
            _apply(switch.address, wanted),
            stdout=stdout,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
    try:
        assert process.stderr is not None
        assert switch.halted.wait(30)
        process.send_signal(number)
        while not (line := process.stderr.readline()).startswith("stopping when the switch has answered"):
            assert line, "it ended without a word"
        switch.go.set()
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == code, err
    there = switch.rules()
    assert 0 < len(there) < RULES
    lines = output.read_text().splitlines()
    assert f"{switch.address}: in force: {len(there) + 1}" in lines, "the rules, and their group"
    assert f"{switch.address}: not in force: {RULES - len(there)}" in lines
    assert f"interrupted; {len(there) + 1} of {RULES + 1} changes are in force" in err
    assert "the same command again does what is left" in err
    again = invoke("rules", "apply", str(wanted), "--yes", "--device", switch.address)
    assert again.stdout.splitlines()[-1] == f"{switch.address}: {RULES - len(there)} added, 0 changed, 0 removed"
    assert invoke("rules", "diff", str(wanted), "--device", switch.address).exit_code == 0


def test_a_refusal_in_the_middle(switch: HaltingSwitch, tmp_path: Path) -> None:
    file = tmp_path / "wanted.toml"
    groups = "[[groups]]\nid = 0\nports = [1, 2]\n[[groups]]\nid = 9\nports = [3, 4]\n"
    file.write_text(groups + "[[rules]]\ngroup = 0\n[[rules]]\ngroup = 9\n")
    switch.behaviour.refuse_match = b"\x09"
    result = invoke("rules", "apply", str(file), "--yes", "--device", switch.address)
    assert result.exit_code == 5
    assert "not in force: " in result.stdout
    assert "the switch refused to insert members group_id=9" in result.stderr
    assert "the table is full; then the same command again does what is left" in result.stderr
    with_json = invoke("rules", "apply", str(file), "--yes", "--device", switch.address, "--json")
    [device] = json.loads(with_json.stdout)["devices"]
    assert device["verdict"] == "failed"
    assert [change["what"] for change in device["not_in_force"]] == ["group", "group", "rule", "rule"]
    switch.behaviour.refuse_match = None
    assert invoke("rules", "apply", str(file), "--yes", "--device", switch.address).exit_code == 0
    assert invoke("rules", "diff", str(file), "--device", switch.address).exit_code == 0


def test_an_answer_that_is_lost_does_not_hide_what_is_in_force(switch: HaltingSwitch, wanted: Path) -> None:
    switch.behaviour.lost_write = 8
    result = invoke("rules", "apply", str(wanted), "--yes", "--device", switch.address, "--json")
    assert result.exit_code == 3
    there = switch.rules()
    [device] = json.loads(result.stdout)["devices"]
    assert len(device["in_force"]) == len(there) + 1
    assert len(device["not_in_force"]) == RULES - len(there)
    assert invoke("rules", "apply", str(wanted), "--yes", "--device", switch.address).exit_code == 0
    assert len(switch.rules()) == RULES


def test_a_switch_that_is_gone_says_nothing_about_what_is_in_force(switch: HaltingSwitch, wanted: Path) -> None:
    switch.behaviour.lost_write, switch.behaviour.stays_lost = 8, True
    switch.reads_until_lost = True
    result = invoke("rules", "apply", str(wanted), "--yes", "--device", switch.address)
    assert result.exit_code == 3
    assert f"of {RULES + 6} updates were confirmed, and it does not say any more what is in force" in result.stderr
    assert "in force: " not in result.stdout


def test_somebody_else_changes_the_switch_between_looking_and_changing(
    switch: HaltingSwitch, wanted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cais_tools.cli import rules_apply

    before = rules_apply._apply

    def apply_late(*arguments: Any) -> Any:
        ports = ("--input-ports", "3,4", "--output-ports", "3,4")
        assert invoke("add-rule", "--group-id", "5", *ports, "--device", switch.address).exit_code == 0
        return before(*arguments)

    monkeypatch.setattr(rules_apply, "_apply", apply_late)
    result = invoke("rules", "apply", str(wanted), "--yes", "--device", switch.address)
    assert result.exit_code == 1
    assert "is no longer as it was when the difference was shown; nothing was changed" in result.stderr
    assert len(switch.rules()) == 1
