"""A port of the running switch: its link, its output queue, and what it counts."""

from __future__ import annotations

import select
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cais_tools.switch.queues import PortQueue

if TYPE_CHECKING:
    from cais_tools.links import Link
    from cais_tools.switch.engine import Queued

__all__ = ["Port", "PortStats"]


@dataclass(frozen=True)
class PortStats:
    """Frames since the start. `dropped` found the output queue full; `waiting` are in it now."""

    received: int
    sent: int
    dropped: int
    waiting: int
    peak: int


class Port:
    """Belongs to the packet thread; `stats` may be asked from anywhere."""

    def __init__(self, number: int, link: Link, queue_depth: int) -> None:
        self.number = number
        self.link = link
        self.queue: PortQueue[Queued] = PortQueue(queue_depth)
        self.received = 0
        self.sent = 0
        self._unsent: Sequence[bytes] = ()

    @property
    def blocked(self) -> bool:
        """Whether the link has not taken all that was sent: then the queue fills, as behind a slow wire."""
        return bool(self._unsent)

    @property
    def events(self) -> int:
        """What to poll the link for."""
        return select.POLLIN | select.POLLOUT if self._unsent else select.POLLIN

    def receive(self) -> list[bytes]:
        frames = self.link.recv()
        self.received += len(frames)
        return frames

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames; what the link does not take now waits for `flush`."""
        taken = self.link.send(frames)
        self.sent += taken
        self._unsent = frames[taken:]

    def flush(self) -> None:
        if self._unsent:
            self.send(self._unsent)

    def stats(self) -> PortStats:
        queue = self.queue
        return PortStats(self.received, self.sent, queue.dropped, len(queue), queue.peak)
