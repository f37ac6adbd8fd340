"""A port's output queue: bounded, first in first out, drop-tail, as in v1model's traffic manager."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count, repeat
from typing import Generic, TypeVar

__all__ = ["PortQueue", "Waiting"]

Item = TypeVar("Item")

# What was queued, when (in the unit of the caller's clock), and how many were queued before it.
Waiting = tuple[Item, int, int]


class PortQueue(Generic[Item]):
    """At most `capacity` packets wait; what comes when it is full is dropped and counted."""

    __slots__ = ("_waiting", "capacity", "dropped", "peak")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a queue of {capacity} packets holds nothing")
        self.capacity = capacity
        self.dropped = 0
        self.peak = 0
        self._waiting: deque[Waiting[Item]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, items: Sequence[Item], now: int) -> int:
        """Queue items in order; how many were taken. The rest is dropped and counted."""
        waiting = self._waiting
        depth = len(waiting)
        room = self.capacity - depth
        taken = len(items)
        if taken > room:
            self.dropped += taken - room
            items = items[:room]
            taken = room
        waiting.extend(zip(items, repeat(now), count(depth)))  # ends with the items: the others are endless
        self.peak = max(self.peak, depth + taken)
        return taken

    def take(self, most: int) -> list[Waiting[Item]]:
        """The oldest packets, at most `most` of them."""
        waiting = self._waiting
        if most >= len(waiting):
            taken = list(waiting)
            waiting.clear()
            return taken
        return [waiting.popleft() for _ in range(most)]

    def clear(self) -> int:
        """Forget what waits; how much it was."""
        forgotten = len(self._waiting)
        self._waiting.clear()
        return forgotten
