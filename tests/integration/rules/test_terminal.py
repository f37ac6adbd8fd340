"""What `cais rules` writes to pipes, to narrow and wide windows, and to terminals, where it asks."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from cais_tools.session import connect, load_shipped
from tests.functional.runner import command, environment, invoke, run
from tests.unit.session.fake_switch import FakeSwitch

MANY = 2000


@pytest.fixture
def address() -> Generator[str]:
    switch = FakeSwitch()
    switch.start()
    with connect(switch.address) as session:
        session.load(load_shipped())
    yield switch.address
    switch.stop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "wanted.toml"
    rules = [f"[[rules]]\ngroup = 0\nlayer = {layer}\n" for layer in range(MANY)]
    file.write_text("\n".join(["[[groups]]\nid = 0\nports = [1, 2]\n", *rules]))
    return file


def test_lines_are_whole_at_any_width_and_without_colour(address: str, file: Path) -> None:
    arguments = ("rules", "diff", str(file), "--device", address)
    [text] = {
        run(*arguments, COLUMNS="60", TERM="xterm-256color").stdout,
        run(*arguments, COLUMNS="200", NO_COLOR="1").stdout,
        run(*arguments, LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout,
    }
    assert text.isascii()
    assert "\033" not in text
    assert text.count("\n+ rule for group 0, allreduce, layer ") == MANY


def test_head(address: str, file: Path) -> None:
    first = subprocess.Popen(
        command("rules", "diff", str(file), "--device", address),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "+ group 0: ports 1,2, 256 slots\n"
    first.stdout.close()
    _, err = first.communicate(timeout=30)
    assert first.returncode == 141
    assert "rror" not in err


def _at_a_terminal(arguments: list[str], answer: bytes | None, **settings: str) -> tuple[int, str]:
    """Exit code and all that the terminal shows; without an answer it is interrupted."""
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm", **settings)
    process = subprocess.Popen(command(*arguments), stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    answered = False
    try:
        while True:
            # A signal between the prompt and the read behind it interrupts nothing: people press Ctrl-C again.
            if answered and answer is None and not select.select([ours], [], [], 5.0)[0]:
                process.send_signal(signal.SIGINT)
                continue
            try:
                some = os.read(ours, 65536)
            except OSError:  # nobody has the other end any more
                break
            shown += some
            if not answered and b"[y/N]" in shown:
                answered = True
                if answer is None:
                    process.send_signal(signal.SIGINT)
                else:
                    os.write(ours, answer)
        return process.wait(30), shown.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text("[[groups]]\nid = 0\nports = [1, 2]\n[[rules]]\ngroup = 0\n")
    return file


@pytest.mark.parametrize(("answer", "code", "count"), [(b"y\n", 0, 1), (b"\n", 1, 0), (b"no\n", 1, 0), (None, 130, 0)])
def test_it_asks_at_a_terminal(address: str, small: Path, answer: bytes | None, code: int, count: int) -> None:
    found, shown = _at_a_terminal(["rules", "apply", str(small), "--device", address], answer)
    assert found == code, shown
    assert f"Change {address}? [y/N] " in shown
    assert "\033[32m+ group 0: ports 1,2, 256 slots\033[0m" in shown
    assert ("nothing was changed" in shown) == (code != 0)
    assert invoke("dump-rules", "--device", address, "--json").stdout.count("group_id") == count


def test_no_colour_at_a_terminal_that_wants_none(address: str, small: Path) -> None:
    arguments = ["rules", "apply", str(small), "--device", address]
    _, shown = _at_a_terminal(arguments, b"n\n", NO_COLOR="1")
    assert "\033[3" not in shown
