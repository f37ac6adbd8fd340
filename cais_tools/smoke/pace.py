"""How patient the ranks of a smoke test are."""

from __future__ import annotations

from cais_tools.smoke.settings import Settings
from cais_tools.worker import Patience, Timing

__all__ = ["patience_of", "timing_of"]

_STALL = 5.0
# Where bits flip, a number or an operation of a slot may be damaged, and then only new numbers help: soon, and often.
_STALL_WHEN_CORRUPT = 0.5
_WHEN_CORRUPT = Patience(repeats=160, time_outs=16)
# Seconds. Where losses are certain, time-outs follow the round trips as measured, close at their heels: one that comes
# too soon costs a duplicate, and an operation needs several. On good cables it would cost a needless retransmission.
_SHORTEST_RTO_WITH_FAULTS, _LONGEST_RTO_WITH_FAULTS = 0.01, 0.05


def timing_of(settings: Settings) -> Timing:
    """As for any job where cables are good."""
    stall = settings.timeout or (_STALL_WHEN_CORRUPT if settings.faults.corrupt else _STALL)
    if not settings.faults.any:
        return Timing(timeout=stall)
    return Timing(timeout=stall, min_rto=_SHORTEST_RTO_WITH_FAULTS, max_rto=_LONGEST_RTO_WITH_FAULTS)


def patience_of(settings: Settings) -> Patience:
    return _WHEN_CORRUPT if settings.faults.corrupt else Patience()
