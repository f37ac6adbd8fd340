"""Columns: what a table shows of its rows, in which order, and what it leaves out first where there is no room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["Cell", "Column", "Placed", "Sort", "Table", "Tone", "Value", "fitting"]

R = TypeVar("R")

Value = float | str | None
"""What is sorted, compared and exported; numbers in the units of the key's ending, shares of 1."""

Tone = str
"""`good`, `warn`, `bad`, `dim` or nothing; always beside a word or a glyph, for there may be no colours."""

Cell = tuple[str, Tone]
_GAP = 1


def _no_tone(_: Any) -> Tone:
    return ""


@dataclass(frozen=True)
class Column(Generic[R]):
    """`width` in cells; a `flexible` column takes what is left over. Columns of the highest `rank` go first; one that
    is shown `sometimes` is there only while a row has a value.
    """

    key: str
    title: str
    width: int
    value: Callable[[R], Value]
    text: Callable[[R], str]
    rank: int = 5
    left: bool = False
    flexible: bool = False
    sometimes: bool = False
    tone: Callable[[R], Tone] = _no_tone

    def cell(self, row: R) -> Cell:
        return self.text(row), self.tone(row)


@dataclass(frozen=True, slots=True)
class Sort:
    """By which column, and whether the highest come first. Who has no value comes last in either case."""

    key: str
    reverse: bool = False


@dataclass(frozen=True)
class Table(Generic[R]):
    """The columns of one kind of rows; `names` are what a plain word in a filter looks at."""

    kind: str
    columns: tuple[Column[R], ...]
    names: Callable[[R], Iterable[str]]
    sort: Sort
    by_key: dict[str, Column[R]] = field(init=False, default_factory=dict[str, Column[R]])

    def __post_init__(self) -> None:
        self.by_key.update({column.key: column for column in self.columns})

    def sorted(self, rows: Iterable[R], sort: Sort) -> list[R]:
        """Stable: what is equal stays in the order in which it came."""
        value = self.by_key[sort.key].value
        keyed = [(value(row), row) for row in rows]
        known = [(_order(key), row) for key, row in keyed if key is not None]
        known.sort(key=lambda pair: pair[0], reverse=sort.reverse)
        return [row for _, row in known] + [row for key, row in keyed if key is None]

    def shown(self, rows: Iterable[R]) -> tuple[Column[R], ...]:
        """The columns for these rows."""
        rows = list(rows) if any(column.sometimes for column in self.columns) else []
        return tuple(
            column
            for column in self.columns
            if not column.sometimes or any(column.value(row) is not None for row in rows)
        )

    def document(self, row: R) -> dict[str, Value]:
        """The row as it is exported."""
        return {column.key: column.value(row) for column in self.columns}

    def line(self, row: R) -> str:
        """The row as it is copied: what its cells say, with tabs between them."""
        return "\t".join(column.text(row) for column in self.columns)


def _order(value: float | str) -> tuple[int, float, tuple[Any, ...]]:
    if isinstance(value, str):
        return 1, 0.0, _natural(value)
    return 0, value, ()


def _natural(text: str) -> tuple[Any, ...]:
    """`leaf2` before `leaf10`."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for letter in f"{text.casefold()}\0":
        if letter.isascii() and letter.isdigit():
            digits += letter
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, letter))
    return tuple(parts)


class Placed(NamedTuple):
    """A column with the cell where it begins, and how many it has."""

    column: Column[Any]
    left: int
    width: int


def fitting(columns: Sequence[Column[Any]], width: int) -> list[Placed]:
    """The columns that fit. The first one always does, if need be narrower than it likes."""
    shown = list(columns)
    while len(shown) > 1 and _needed(shown) > width:
        last = max(range(1, len(shown)), key=lambda place: (shown[place].rank, place))
        del shown[last]
    spare = max(0, width - _needed(shown))
    gaps, spare = _gaps(shown, spare)
    widths = [column.width for column in shown]
    flexible = [place for place, column in enumerate(shown) if column.flexible]
    for turn, place in enumerate(flexible):
        share = spare // (len(flexible) - turn)
        widths[place] += share
        spare -= share
    if _needed(shown) > width:
        widths[0] = max(1, width)
    placed: list[Placed] = []
    left = 0
    for column, gap, size in zip(shown, gaps, widths, strict=True):
        placed.append(Placed(column, left + gap, size))
        left += gap + size
    return placed


def _gaps(columns: Sequence[Column[Any]], spare: int) -> tuple[list[int], int]:
    """The gap before each column, and what is left to spare: one cell, but two between a number and a word."""
    gaps = [0]
    for before, column in pairwise(columns):
        wider = column.left and not before.left and spare > 0
        spare -= wider
        gaps.append(_GAP + wider)
    return gaps, spare


def _needed(columns: Sequence[Column[Any]]) -> int:
    return sum(column.width for column in columns) + _GAP * (len(columns) - 1)
