"""Values over time, bounded."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

__all__ = ["CAPACITY", "History"]

CAPACITY = 600
"""Values that are kept: ten minutes at one a second, and more columns than terminals have."""


class History:
    """The newest values, the oldest first; `None` is a gap. A ring in one piece of memory."""

    __slots__ = ("_capacity", "_next", "_values")

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._values = array("d")
        self._next = 0

    def add(self, value: float | None) -> None:
        number = math.nan if value is None else value
        if len(self._values) < self._capacity:
            self._values.append(number)
        else:
            self._values[self._next] = number
            self._next = (self._next + 1) % self._capacity

    def last(self, count: int) -> Sequence[float]:
        """The newest `count` values at the most; gaps are NaN."""
        if count <= 0:
            return ()
        ordered = self._values[self._next :] + self._values[: self._next]
        return ordered[-count:]

    def peak(self) -> float | None:
        """The highest value; None where there is none."""
        return max((value for value in self._values if not math.isnan(value)), default=None)

    def copy(self) -> History:
        other = History(self._capacity)
        other._values, other._next = self._values[:], self._next
        return other

    def __len__(self) -> int:
        return len(self._values)
