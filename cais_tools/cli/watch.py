"""Showing something again and again: in place on a terminal, one after another elsewhere."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from typing import IO

__all__ = ["Painter", "ticks"]

_UP = "\033[{}A"
_CLEAR_LINE = "\033[K"
_CLEAR_BELOW = "\033[J"
_COLOUR = re.compile(r"\033\[[0-9;]*m")


def _is_live(stream: IO[str]) -> bool:
    """Whether it is a terminal on which lines can be written over."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def ticks(seconds: float, count: int | None) -> Iterator[int]:
    """Yield 1, 2, ... every `seconds`, the first after one of them; ticks that were missed are left out."""
    start = time.monotonic()
    due = start
    number = 0
    while count is None or number < count:
        due = max(due + seconds, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
        number += 1
        yield number


class Painter:
    """Writes blocks of lines over each other. Nothing is hidden and no mode is set, so there is nothing to restore.

    Lines are cut to the width, and blocks to the height: what has scrolled off could not be written over.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stdout
        self._live = _is_live(self._stream)
        self._drawn: list[int] = []

    def draw(self, text: str) -> None:
        """Show the block instead of the one before; below it, where the terminal can do no more (TERM=dumb)."""
        if not self._live:
            self._stream.write(f"{text}\n\n")
            self._stream.flush()
            return
        width, height = _size(self._stream)
        rows = sum(1 + max(0, length - 1) // width for length in self._drawn)
        lines = _fit(text.splitlines(), width, height - 1)
        up = _UP.format(min(rows, height - 1)) if rows else ""
        body = "".join(f"{_CLEAR_LINE}{line}\n" for line in lines)
        self._stream.write(f"\r{up}{body}{_CLEAR_BELOW}")
        self._stream.flush()
        self._drawn = [len(_visible(line)) for line in lines]


def _size(stream: IO[str]) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return size.columns or 80, size.lines or 24


def _fit(lines: list[str], width: int, height: int) -> list[str]:
    if len(lines) > height > 0:
        hidden = len(lines) - height + 1
        lines = [*lines[: height - 1], f"({hidden} more lines: make the window higher, or use --group)"]
    return [line if len(_visible(line)) <= width else _visible(line)[:width] for line in lines]


def _visible(line: str) -> str:
    return _COLOUR.sub("", line)
