"""`cais top` on a terminal: however it ends, the terminal is left as it was."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.functional.runner import command, environment, run
from tests.integration.cli.terminals import InTerminal, in_terminal, program_in_terminal
from tests.integration.switches import running_switch
from tests.integration.top.furnished import furnish

_SEQUENCE = re.compile(r"\x1b\[[0-9;:?<>=]*[A-Za-z]|\x1b[=>78]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)")
_ON_AT_FIRST = {"25", "7"}  # the cursor is seen, long lines are wrapped


def text_of(output: bytes) -> str:
    """What was written to a terminal, without what moves the cursor or sets colours."""
    return _SEQUENCE.sub("", output.decode(errors="replace"))


def has(*words: str, after: int = 0) -> Callable[[bytes], bool]:
    return lambda output: all(word in text_of(output[after:]) for word in words)


def modes_left_on(output: bytes) -> set[str]:
    """The private modes of the terminal (1049: alternate screen, 1000 to 1015: mouse) that are not as at first."""
    last = {mode.decode(): state == b"h" for mode, state in re.findall(rb"\x1b\[\?(\d+)([hl])", output)}
    return {mode for mode, is_on in last.items() if is_on != (mode in _ON_AT_FIRST)}


def assert_left_as_it_was(terminal: InTerminal, before: list[object]) -> None:
    assert b"\x1b[?1049h" in terminal.output
    assert b"\x1b[?1003h" in terminal.output
    assert modes_left_on(terminal.output) == set()
    assert terminal.modes() == before
    assert "Traceback" not in text_of(terminal.output)


@pytest.mark.parametrize(
    ("end", "code"),
    [(b"q", 0), (b"\x03", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["q", "ctrl-c", "SIGTERM", "SIGHUP"],
)
def test_the_terminal_is_left_as_it_was(address: str, end: bytes | signal.Signals, code: int) -> None:
    # Somebody asks gRPC for its log: it must not be written across the screen.
    with in_terminal("top", "--device", address, GRPC_VERBOSITY="debug", GRPC_TRACE="channel") as terminal:
        before = terminal.modes()
        terminal.read_until(has("GROUP", "0/64"))
        assert terminal.modes() != before
        if isinstance(end, bytes):
            terminal.press(end)
        else:
            terminal.process.send_signal(end)
        assert terminal.wait() == code
        assert_left_as_it_was(terminal, before)
        assert "channel" not in text_of(terminal.output)


def test_ctrl_z_and_fg(address: str) -> None:
    shell = ["bash", "--norc", "--noediting", "-i"]
    with program_in_terminal(shell, PS1="$ ", TERM="xterm-256color", HISTFILE="/dev/null") as terminal:

        def type_in(line: str, *, answer: Callable[[bytes], bool]) -> str:
            here = len(terminal.output)
            terminal.press(line.encode() + b"\n")
            terminal.read_until(lambda output: answer(output[here:]))
            return text_of(terminal.output[here:])

        def value_of(name: str, expression: str) -> str:
            pattern = re.compile(rf"{name}=([\da-f:]+)=")
            answered = type_in(f"echo {name}={expression}=", answer=lambda new: bool(pattern.search(new.decode())))
            return pattern.findall(answered)[0]

        def stty() -> str:
            return value_of("modes", "$(stty -g)")

        terminal.read_until(has("$ "))
        before = stty()
        type_in(" ".join(command("top", "--device", address)), answer=has("GROUP", "0/64"))
        here = len(terminal.output)
        terminal.press(b"\x1a")
        terminal.read_until(lambda output: b"Stopped" in output[here:])
        assert modes_left_on(terminal.output) == set()
        assert stty() == before
        type_in("fg", answer=lambda new: b"\x1b[?1049h" in new and has("GROUP", "0/64")(new))
        assert "1049" in modes_left_on(terminal.output)
        here = len(terminal.output)
        terminal.press(b"q")
        terminal.read_until(lambda output: output[here:].endswith(b"$ "))
        assert value_of("code", "$?") == "0"
        assert modes_left_on(terminal.output) == set()
        assert stty() == before
        terminal.press(b"exit\n")
        assert terminal.wait() == 0


@pytest.mark.parametrize("signals", [[signal.SIGCONT], [signal.SIGSTOP, signal.SIGCONT]], ids=["cont", "stop-cont"])
def test_who_is_stopped_without_being_asked_draws_again_and_leaves_the_terminal_as_it_was(
    address: str, signals: list[signal.Signals]
) -> None:
    with in_terminal("top", "--device", address) as terminal:
        before = terminal.modes()
        terminal.read_until(has("GROUP", "0/64"))
        here = len(terminal.output)
        for number in signals:
            terminal.process.send_signal(number)
        terminal.read_until(has("GROUP", "0/64", after=here))
        terminal.press(b"q")
        assert terminal.wait() == 0
        assert_left_as_it_was(terminal, before)


_FAULTY = """
import sys
from cais_tools.cli import main
from cais_tools.top.screen.app import TopApp
TopApp.action_zero = lambda self: 1 // 0
sys.argv = ["cais", *sys.argv[1:]]
main()
"""


def test_a_fault_of_ours_is_told_when_the_screen_is_gone(address: str) -> None:
    with program_in_terminal([sys.executable, "-c", _FAULTY, "top", "--device", address]) as terminal:
        before = terminal.modes()
        terminal.read_until(has("GROUP", "0/64"))
        terminal.press(b"z")
        assert terminal.wait() == 1
        assert_left_as_it_was(terminal, before)
    assert "error: unexpected ZeroDivisionError" in text_of(terminal.output)


def test_a_terminal_that_closes_ends_it(address: str) -> None:
    with in_terminal("top", "--device", address) as terminal:
        terminal.read_until(has("GROUP", "0/64"))
        # As when a connection is lost: the kernel sends SIGHUP, and writing fails from then on.
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, terminal.controller)
        os.close(nowhere)
        assert terminal.process.wait(20) in (129, -signal.SIGHUP)


@pytest.mark.parametrize("stdin", ["/dev/null", "pipe"])
def test_without_a_terminal_on_stdin_it_says_so(address: str, stdin: str) -> None:
    python = f"{sys.executable} -m cais_tools.cli top --device {address}"
    line = f"{python} < /dev/null" if stdin == "/dev/null" else f"true | {python}"
    with program_in_terminal(["bash", "-c", line]) as terminal:
        before = terminal.modes()
        assert terminal.wait() == 2
        assert terminal.modes() == before
    text = text_of(terminal.output).strip()
    assert text == "error: stdin is no terminal, so no key could be read: give it one, or use --once"
    assert b"\x1b[?" not in terminal.output


def test_a_terminal_that_cannot_show_a_screen_gets_what_once_prints(address: str) -> None:
    with in_terminal("top", "--device", address, "--interval", "50ms", columns=100, TERM="dumb") as terminal:
        assert terminal.wait() == 0
    assert b"\x1b" not in terminal.output
    assert "0/64" in text_of(terminal.output)


def test_cat_gets_what_once_prints(address: str) -> None:
    python = f"{sys.executable} -m cais_tools.cli top --device {address} --interval 50ms"
    with program_in_terminal(["bash", "-c", f"{python} | cat; echo code=${{PIPESTATUS[0]}}"]) as terminal:
        assert terminal.wait() == 0
    text = text_of(terminal.output).replace("\r", "")
    once = run("top", "--device", address, "--interval", "50ms", "--once")
    assert b"\x1b" not in terminal.output
    assert text.endswith("no alarms\ncode=0\n")
    assert [_words(each) for each in text.splitlines()[:-1]] == [_words(each) for each in once.stdout.splitlines()]


def _words(line: str) -> list[str]:
    """Without times, which differ."""
    return [word for word in line.split() if not re.fullmatch(r">?[\d.]+(us|ms|s)", word)]


def test_a_switch_that_is_killed_has_its_row_and_comes_back(tmp_path: Path) -> None:
    with running_switch() as switch:
        furnish(switch.address)
        with in_terminal("top", "--device", switch.address, "--interval", "100ms", columns=120, lines=40) as terminal:
            before = terminal.modes()
            terminal.read_until(has("● up", "0/64"))
            switch.process.kill()
            switch.process.wait()
            terminal.read_until(has("✖ DOWN", "gone", "device-gone.md"))
            here = len(terminal.output)
            ports = [word for port in (1, 2, 3, 4) for word in ("--port", f"{port}=cable:0:9")]
            again = subprocess.Popen(
                command("switch", "--grpc", switch.address, "--json", *ports),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            try:
                assert again.stdout is not None
                assert again.stdout.readline()
                furnish(switch.address)
                terminal.read_until(has("● up", "program", after=here))
                terminal.press(b"q")
                assert terminal.wait() == 0
                assert_left_as_it_was(terminal, before)
            finally:
                again.kill()
                again.communicate()


class _Tmux:
    """A server of its own, so that nobody's sessions are touched."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    def __call__(self, *arguments: str) -> str:
        finished = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            env=environment(TERM="xterm-256color"),
            check=False,
            timeout=20,
        )
        return finished.stdout

    def client(self, columns: int, lines: int) -> AbstractContextManager[InTerminal]:
        attach = ["tmux", "-S", self._socket, "attach"]
        return program_in_terminal(attach, columns=columns, lines=lines, TERM="xterm-256color", TMUX="")

    def shows(self, *words: str) -> bool:
        screen = self("capture-pane", "-p", "-t", "top")
        return all(word in screen for word in words)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_clients_of_any_size_come_and_go(address: str, tmp_path: Path) -> None:
    tmux = _Tmux(tmp_path)
    program = " ".join([*command("top", "--device", address), f"; echo $? > {tmp_path / 'code'}"])
    tmux("new-session", "-d", "-s", "top", "-x", "120", "-y", "40", program)
    try:
        until(lambda: tmux.shows("● up", "2 groups of", "3 ports of"))
        for columns, lines, words in ((200, 60, ("NOTE", "0/64")), (60, 20, ("[1 devices 1]",))):
            with tmux.client(columns, lines) as client:
                client.read_until(has("cais top"))
                client.press(b"1")
                until(lambda words=words: tmux.shows(*words))
                client.press(b"\x02d")
                assert client.wait() == 0
        # A click beyond column 95 as old terminals report it: bytes that are no UTF-8.
        tmux("send-keys", "-t", "top", "-H", *["1b", "5b", "4d", "20", "e8", "25"])
        tmux("send-keys", "-t", "top", "2")
        until(lambda: tmux.shows("[2 groups 2]"))
        tmux("send-keys", "-t", "top", "q")
        until((tmp_path / "code").exists)
        until(lambda: (tmp_path / "code").read_text() == "0\n")
    finally:
        tmux("kill-server")
