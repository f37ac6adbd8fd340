"""A recording, played: at any speed, from any place."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from cais_tools.errors import UsageError
from cais_tools.top.feed import Rewound, Sink
from cais_tools.top.observation import Failure, Observation, Source
from cais_tools.top.recording import Recording

__all__ = ["SPEEDS", "Player", "Replay"]

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)

_WARM_UP_S = 120.0
_MOST_AT_ONCE = 1500
_TICK_S = 0.05
_JOIN_S = 2.0


class Player:
    """Which observations are due. Sans I/O: it is told how much time passes."""

    def __init__(self, times: Recording, speed: float = 1.0) -> None:
        self._recording = times
        self.speed = speed
        self.now = times.start
        self.next = 0

    @property
    def is_at_end(self) -> bool:
        return self.next >= len(self._recording)

    def pass_time(self, seconds: float) -> range:
        """The observations that are due when so many seconds have passed."""
        self.now = min(self.now + seconds * self.speed, self._recording.end)
        return self._until(self._recording.until(self.now))

    def step(self) -> range:
        """The next observation, now: time jumps to it."""
        if not self.is_at_end:
            self.now = self._recording.time(self.next)
        return self._until(self._recording.until(self.now))

    def _until(self, place: int) -> range:
        first, self.next = self.next, max(self.next, place)
        return range(first, self.next)

    def wind_to(self, time: float) -> range:
        """Go to a time; what is to be shown again so that it looks as it did then, curves and all."""
        self.now = min(max(time, self._recording.start), self._recording.end)
        self.next = self._recording.until(self.now)
        first = self._recording.before(self.now - _WARM_UP_S)
        return range(max(first, self.next - _MOST_AT_ONCE, 0), self.next)


class Replay:
    """A feed from a recording, with a thread that plays it."""

    def __init__(self, recording: Recording, *, speed: float = 1.0, start: float = 0.0) -> None:
        """`start` is in seconds from the beginning; negative: from the end."""
        self.recording = recording
        self._player = Player(recording, speed)
        self._start = start
        self._changed = threading.Condition()
        self._wind: float | None = None
        self._is_paused = self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="replay", daemon=True)

    @property
    def sources(self) -> Sequence[Source]:
        return self.recording.sources

    @property
    def position(self) -> tuple[float, float]:
        """Seconds from the beginning, and how many there are."""
        return self._player.now - self.recording.start, self.recording.end - self.recording.start

    @property
    def speed(self) -> float:
        return self._player.speed

    @property
    def is_at_end(self) -> bool:
        return self._player.is_at_end

    def start(self, sink: Sink) -> None:
        self._sink = sink
        if self._start:
            end = self.recording.end - self.recording.start
            self._wind = self.recording.start + (self._start if self._start > 0 else end + self._start)
        self._thread.start()

    def set_interval(self, seconds: float) -> None:
        """Nothing: a recording has the interval that it has."""

    def look_at(self, device: str, *, closely: bool) -> None:
        """Nothing: a recording has what was looked at."""

    def set_speed(self, speed: float) -> None:
        with self._changed:
            self._player.speed = speed

    def pause(self, paused: bool) -> None:
        with self._changed:
            self._is_paused = paused

    def wind(self, seconds: float) -> None:
        """Go back (negative) or on from where it is now."""
        with self._changed:
            self._wind = (self._player.now if self._wind is None else self._wind) + seconds
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)
        self.recording.close()

    def _run(self) -> None:
        before = time.monotonic()
        while True:
            with self._changed:
                if not self._is_closed and self._wind is None:
                    self._changed.wait(_TICK_S)
                if self._is_closed:
                    return
                now = time.monotonic()
                passed, before = now - before, now
                places = self._due(0.0 if self._is_paused else passed)
            self._give(places)

    def _due(self, passed: float) -> range:
        wind, self._wind = self._wind, None
        if wind is None:
            return self._player.pass_time(passed)
        self._sink(Rewound())
        return self._player.wind_to(wind)

    def _give(self, places: range) -> None:
        for place in places:
            if self._is_closed or self._wind is not None:
                return
            try:
                seen = self.recording[place]
            except (UsageError, OSError, ValueError) as error:
                for source in self.sources:
                    self._sink(Observation(source.name, self._player.now, failure=_damaged(error)))
                return
            self._sink(seen)


def _damaged(error: Exception) -> Failure:
    return Failure(type(error).__name__, str(error), None, 2)
