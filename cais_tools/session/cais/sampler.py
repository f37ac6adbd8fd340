"""Readings of one switch, one after another, over restarts and lost connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cais_tools.errors import CaisError
from cais_tools.session.cais.alarms import Alarm, Thresholds, evaluate_alarms
from cais_tools.session.cais.switch import CaisSwitch
from cais_tools.session.cais.telemetry import Rates, Snapshot
from cais_tools.session.session import SwitchSession

__all__ = ["Reading", "Sampler"]

_SEARCH_S = 10.0


@dataclass(frozen=True, slots=True)
class Reading:
    """`rates` is what happened since the reading before; None for the first one, and the first after a restart."""

    snapshot: Snapshot
    rates: Rates | None
    alarms: tuple[Alarm, ...]


class Sampler:
    """Takes readings from the switch that `open_session` connects to. Not thread-safe.

    The session stays open from one reading to the next; after any failure the next reading connects anew, and has no
    rates: who knows what happened in between.
    """

    def __init__(self, open_session: Callable[[], SwitchSession], thresholds: Thresholds | None = None) -> None:
        self._open_session = open_session
        self._thresholds = thresholds
        self._switch: CaisSwitch | None = None
        self._before: Snapshot | None = None
        self._searched = 0.0

    def take(self) -> Reading:
        """Raises Unreachable, DeadlineExceeded, SwitchRestarted, Refused (no program, or another one)."""
        before = self._before
        after = self.snapshot()
        rates = Rates.between(before, after) if before is not None and after.time > before.time else None
        return Reading(after, rates, evaluate_alarms(after, rates, self._thresholds))

    def snapshot(self) -> Snapshot:
        """A reading's snapshot alone, for whoever works out the rest. Raises what `take` raises."""
        before = self._before
        # Counters of groups and ports that no table names are looked through now and then only: it takes far longer.
        is_search = before is None or before.time - self._searched >= _SEARCH_S
        try:
            after = self.switch().snapshot(rules=False, since=None if is_search else before)
        except CaisError:
            self.close()
            raise
        self._before = after
        self._searched = after.time if is_search else self._searched
        return after

    def switch(self) -> CaisSwitch:
        """The switch of the open session; connects where there is none."""
        if self._switch is None:
            session = self._open_session()
            try:
                self._switch = CaisSwitch(session)
            except BaseException:
                session.close()
                raise
        return self._switch

    def close(self) -> None:
        """End the session. A reading that is under way in another thread fails."""
        switch, self._switch, self._before = self._switch, None, None
        if switch is not None:
            switch.session.close()
