"""Calls that must end, and end well."""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections.abc import Generator
from dataclasses import dataclass
from types import FrameType

__all__ = ["Crash", "Hang", "bounded", "last_lines"]

CPU_SECONDS = 20.0


class Hang(BaseException):
    """A call took far too long. Not an Exception, so that nobody swallows it."""


@dataclass(frozen=True)
class Crash:
    """What was done, and what it raised."""

    what: str
    error: str

    def __str__(self) -> str:
        return f"{self.what}: {self.error}"


@contextlib.contextmanager
def bounded() -> Generator[None]:
    """Raise Hang after 20 seconds of processor time (main thread only); pytest-timeout has the other clock."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def last_lines(error: BaseException) -> str:
    """The error, and where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename.rpartition('/')[2]}:{frame.lineno})"[:400]
