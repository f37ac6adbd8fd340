"""How fast a rank sends: a retransmission time-out (RFC 6298), a window that starts small and grows (RFC 5681)."""

from __future__ import annotations

from cais_tools.worker.config import Timing

__all__ = ["Pacing"]


class Pacing:
    """What a rank has learned about its path; lives as long as the endpoint, over all operations."""

    def __init__(self, timing: Timing, most: int) -> None:
        self._timing = timing
        self._most = most
        self._least = float(min(timing.first_window, most))
        self._window = self._least
        self._threshold = float(most)
        self._mean: float | None = None
        self._deviation = 0.0

    @property
    def window(self) -> int:
        """Packets that may be in flight."""
        return int(self._window)

    @property
    def rto(self) -> float:
        """Seconds until a packet is sent again, before any back-off."""
        if self._mean is None:
            return self._timing.first_rto
        rto = self._mean + 4 * self._deviation
        return min(max(rto, self._timing.min_rto), self._timing.max_rto)

    def measured(self, seconds: float) -> None:
        """Take in the round trip of a packet that was sent once.

        A result also waits for other ranks' retransmissions. Time-outs that followed such round trips would drive each
        other up, so one sample counts for twice the mean at most; a path that has become slower is soon followed.
        """
        if self._mean is None:
            self._mean, self._deviation = seconds, seconds / 2
            return
        seconds = min(seconds, max(2 * self._mean, self._timing.min_rto))
        self._deviation += (abs(self._mean - seconds) - self._deviation) / 4
        self._mean += (seconds - self._mean) / 8

    def completed(self, packets: int, in_flight: int) -> None:
        """Grow by what has come back: doubling a round trip at first, by one a round trip after a loss.

        A window that was less than half used has proved nothing and stays as it is (RFC 7661).
        """
        if 2 * in_flight < self.window:
            return
        slow_start = self._window < self._threshold
        self._window = min(self._window + (packets if slow_start else packets / self._window), self._most)

    def lost(self) -> None:
        """Halve the window, to the first one at the least. To be called once for all losses of a window."""
        self._threshold = max(self._window / 2, self._least)
        self._window = self._threshold
