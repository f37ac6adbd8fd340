"""Redrawing in place, against a small model of a terminal."""

from __future__ import annotations

import io
import os
import re

import pytest

from cais_tools.cli.watch import Painter, ticks


class Terminal(io.StringIO):
    """Understands what the painter uses, and wraps long lines as terminals do. Fails on anything else."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self.width, self.height = width, height
        self.rows = [""]
        self.row = self.column = 0
        self.scrolled = 0

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, text: str) -> int:
        for piece in re.findall(r"\033\[\d*[A-Za-z]|.|\n", text):
            self._take(piece)
        return len(text)

    def _take(self, piece: str) -> None:
        if piece == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.rows):
                self.rows.append("")
            self.scrolled = max(self.scrolled, len(self.rows) - self.height)
        elif piece == "\r":
            self.column = 0
        elif re.fullmatch(r"\033\[\d+A", piece):
            self.row = max(self.scrolled, self.row - int(piece[2:-1]))
        elif piece == "\033[K":
            self.rows[self.row] = self.rows[self.row][: self.column]
        elif piece == "\033[J":
            del self.rows[self.row + 1 :]
            self.rows[self.row] = self.rows[self.row][: self.column]
        elif piece.startswith("\033"):
            assert piece.endswith("m"), f"the painter sends {piece!r}"
        else:
            assert self.column < self.width, "a line wraps"
            line = self.rows[self.row]
            self.rows[self.row] = line[: self.column].ljust(self.column) + piece + line[self.column + 1 :]
            self.column += 1

    @property
    def text(self) -> list[str]:
        return self.rows[:-1]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal(60, 10)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((terminal.width, terminal.height)))
    return terminal


def test_a_block_takes_the_place_of_the_one_before(terminal: Terminal) -> None:
    painter = Painter(terminal)
    for text in ("one\ntwo two\nthree", "1\n2", "a longer line\nb\nc\nd"):
        painter.draw(text)
        assert terminal.text == text.splitlines()
        assert (terminal.row, terminal.column) == (len(terminal.text), 0)


def test_what_does_not_fit_is_cut_and_said(terminal: Terminal) -> None:
    painter = Painter(terminal)
    for _ in range(3):
        painter.draw("\n".join(f"{number} " + "x" * 100 for number in range(30)))
        assert len(terminal.text) == 9
        assert terminal.scrolled == 0
        assert terminal.text[-1].startswith("(22 more lines")
        assert all(len(line) <= 60 for line in terminal.text)


def test_colour_takes_no_room(terminal: Terminal) -> None:
    painter = Painter(terminal)
    painter.draw("\033[31mALARM\033[0m " + "x" * 54)
    assert terminal.text == ["ALARM " + "x" * 54]
    painter.draw("\033[31mALARM\033[0m " + "x" * 55)
    assert terminal.text == ["ALARM " + "x" * 54]


def test_a_terminal_that_can_do_nothing_gets_one_block_after_another(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    painter = Painter(terminal)
    painter.draw("one")
    painter.draw("two")
    assert [line for line in terminal.text if line] == ["one", "two"]


def test_ticks_come_when_they_are_due_and_missed_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    monkeypatch.setattr("cais_tools.cli.watch.time.monotonic", lambda: now)
    monkeypatch.setattr("cais_tools.cli.watch.time.sleep", sleep)
    seen: list[tuple[int, float]] = []
    for tick in ticks(1.0, 4):
        seen.append((tick, now))
        now += 0.25 if tick != 2 else 3.5
    assert seen == [(1, 101.0), (2, 102.0), (3, 105.5), (4, 106.5)]
    assert slept == [1.0, 0.75, 0.0, 0.75]
