"""What a session reports, until somebody fetches it."""

from __future__ import annotations

import itertools
import threading
from collections import deque

from cais_tools.session.events import DigestList, Event, IdleTimeout, PacketIn, StreamError

__all__ = ["EventQueue"]

_Numbered = tuple[int, Event]


class EventQueue:
    """Events in the order in which they came.

    What nobody fetches must not grow without end, so the oldest goes first: of what traffic causes (packets, digests,
    idle entries, the switch's complaints) and of news about the session apart, since a flood of packets must not
    hide that the switch was restarted.
    """

    def __init__(self, limit: int = 8192) -> None:
        self.dropped = 0
        """Events that were thrown away because nobody fetched them."""
        self._traffic: deque[_Numbered] = deque()
        self._news: deque[_Numbered] = deque()
        self._limit = limit
        self._numbers = itertools.count()
        self._arrived = threading.Condition()

    def put(self, event: Event) -> None:
        with self._arrived:
            is_traffic = isinstance(event, PacketIn | DigestList | IdleTimeout | StreamError)
            events = self._traffic if is_traffic else self._news
            events.append((next(self._numbers), event))
            if len(events) > self._limit:
                events.popleft()
                self.dropped += 1
            self._arrived.notify_all()

    def get(self, timeout: float | None) -> Event | None:
        """The oldest event; None when there is none within `timeout` seconds."""
        with self._arrived:
            self._arrived.wait_for(lambda: bool(self._traffic or self._news), timeout)
            waiting = [events for events in (self._traffic, self._news) if events]
            if not waiting:
                return None
            return min(waiting, key=lambda events: events[0][0]).popleft()[1]
