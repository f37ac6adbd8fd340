"""A pseudo-terminal of a given size with a command in it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.functional.runner import command, environment

_PATIENCE_S = 30.0


@dataclass
class InTerminal:
    process: subprocess.Popen[bytes]
    controller: int
    output: bytes = b""

    def read_until(self, condition: Callable[[bytes], bool]) -> bytes:
        """Read until the output so far fulfils a condition; fails after a while."""
        end = time.monotonic() + _PATIENCE_S
        while not condition(self.output):
            assert time.monotonic() < end, self.output
            self._read(0.2)
        return self.output

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.controller], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.controller, 65536)
        except OSError:  # the other side is closed
            return False
        self.output += data
        return bool(data)

    def press(self, keys: bytes) -> None:
        os.write(self.controller, keys)

    def wait(self) -> int:
        """The exit code; the rest of the output is read meanwhile, or the command could not write it."""
        end = time.monotonic() + _PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < end, self.output
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    def modes(self) -> list[object]:
        return list(termios.tcgetattr(self.controller))


def in_terminal(*arguments: str, columns: int = 80, lines: int = 24, **env: str) -> AbstractContextManager[InTerminal]:
    """`cais` with all its streams on a terminal that is its controlling one, so that keys make signals."""
    return program_in_terminal(command(*arguments), columns=columns, lines=lines, **env)


@contextmanager
def program_in_terminal(
    program: Sequence[str], columns: int = 80, lines: int = 24, **env: str
) -> Generator[InTerminal]:
    """Any program, a shell perhaps, in the same way."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def take_control() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        program,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(**{"TERM": "xterm", **env}),
        preexec_fn=take_control,
    )
    try:
        yield InTerminal(process, controller)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(terminal)
        os.close(controller)
