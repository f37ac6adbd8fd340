"""Finding the entry of a small table whose only key is a number line: prefixes and ranges cut it into intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Generic, TypeVar

__all__ = ["MAX_ENTRIES", "Intervals"]

T = TypeVar("T")

MAX_ENTRIES = 64
"""Cutting is quadratic in the entries, so larger tables are searched otherwise."""


class Intervals(Generic[T]):
    """Non-negative integers, cut where an entry begins or ends; the winner of each piece is known beforehand."""

    def __init__(self, entries: Iterable[tuple[int, int, T]]) -> None:
        """`entries` are (low, high, value), both ends included; of those that overlap, the first one wins."""
        ordered = list(entries)
        edges = {0}
        for low, high, _ in ordered:
            edges |= {low, high + 1}
        self._starts = sorted(edges)
        self._winners = [
            next((value for low, high, value in ordered if low <= start <= high), None) for start in self._starts
        ]

    def find(self, key: int) -> T | None:
        return self._winners[bisect_right(self._starts, key) - 1]
