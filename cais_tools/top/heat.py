"""A group's slots as a map of heat: how long each has been open. Sans I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cais_tools.session.cais import OpenSlot

__all__ = ["LEGEND", "HeatMap", "heat_map", "level_of"]

LEGEND = ("not open", "under 1ms", "1 to 10ms", "10 to 100ms", "100ms to 1s", "over 1s")
"""What the levels of a slot mean: 0 is not open, and then by age."""

_LIMITS_US = (1_000, 10_000, 100_000, 1_000_000)


def level_of(age_us: int | None) -> int:
    """From 1 for a slot that has just been opened (or nobody knows when) to 5."""
    return 1 + sum((age_us or 0) >= limit for limit in _LIMITS_US)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """`rows` of levels, each cell for `per_cell` slots: the hottest of them counts. The first slot is top left."""

    rows: tuple[tuple[int, ...], ...]
    per_cell: int
    open: int


def heat_map(slots: int, found: Sequence[OpenSlot], width: int, height: int) -> HeatMap:
    """The map of a group of `slots` slots in `width` by `height` cells at the most. `found` are its open slots."""
    # A group's block is aligned to its size, a power of two (session.cais.slots).
    first = found[0].slot // slots * slots if found and slots else 0
    per_cell = 1
    while _cells(slots, per_cell) > _row_width(_cells(slots, per_cell), width) * max(1, height):
        per_cell *= 2
    cells = [0] * _cells(slots, per_cell)
    for slot in found:
        place = (slot.slot - first) // per_cell
        if 0 <= place < len(cells):
            cells[place] = max(cells[place], level_of(slot.age_us))
    wide = _row_width(len(cells), width)
    rows = tuple(tuple(cells[start : start + wide]) for start in range(0, len(cells), wide))
    return HeatMap(rows, per_cell, len(found))


def _cells(slots: int, per_cell: int) -> int:
    return -(-slots // per_cell)


def _row_width(cells: int, width: int) -> int:
    """The largest power of two that fits: rows are easy to count then."""
    wide = 1
    while wide * 2 <= min(width, cells):
        wide *= 2
    return wide
