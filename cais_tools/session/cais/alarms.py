"""What is wrong with a switch, as its telemetry shows it. Sans I/O."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from cais_tools.session.cais.telemetry import Rates, Snapshot

__all__ = ["ALARMS", "Alarm", "Severity", "Thresholds", "evaluate_alarms"]

ALARMS: Final = ("overload", "sram", "fallback")
"""The names of all alarms, the most severe first."""


class Severity(enum.Enum):
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which value on an alarm is raised: shares of 1, and microseconds.

    `offload_threshold` is what the controller works with now; the advice against overload starts from it.
    """

    sram: float = 0.80
    overload_sram: float = 0.90
    overload_delay_us: float = 50.0
    fallback: float = 0.10
    offload_threshold: float = 0.2


@dataclass(frozen=True, slots=True)
class Alarm:
    """`value` went over `threshold` (shares; microseconds for `overload`). `playbook` is a file in playbooks/."""

    name: str
    severity: Severity
    value: float
    threshold: float
    message: str
    playbook: str


def evaluate_alarms(
    snapshot: Snapshot, rates: Rates | None = None, thresholds: Thresholds | None = None
) -> tuple[Alarm, ...]:
    """The alarms of a switch, the most severe first.

    Delay and fallback are those of the interval of `rates`; without it those since the program was loaded.
    """
    limits = thresholds or Thresholds()
    found = (_overload(snapshot, rates, limits), _sram(snapshot, limits), _fallback(snapshot, rates, limits))
    return tuple(alarm for alarm in found if alarm is not None)


def _overload(snapshot: Snapshot, rates: Rates | None, limits: Thresholds) -> Alarm | None:
    usage = snapshot.sram_usage
    if usage <= limits.overload_sram:
        return None
    delay = (snapshot if rates is None else rates).delay.average_us
    if delay is None or delay <= limits.overload_delay_us:
        return None
    now = limits.offload_threshold
    return Alarm(
        "overload",
        Severity.CRITICAL,
        delay,
        limits.overload_delay_us,
        f"overload: raise offload_threshold from {now:g} to {min(1.0, 2 * now):g} "
        f"(queue delay {delay:.1f}us with {usage:.0%} of the slots in use)",
        "overload.md",
    )


def _sram(snapshot: Snapshot, limits: Thresholds) -> Alarm | None:
    if snapshot.sram_usage <= limits.sram:
        return None
    return Alarm(
        "sram",
        Severity.WARNING,
        snapshot.sram_usage,
        limits.sram,
        f"SRAM usage {snapshot.sram_usage:.0%} is over {limits.sram:.0%}: "
        f"{snapshot.slots_in_use} of {snapshot.pool} slots wait for a rank",
        "overload.md",
    )


def _fallback(snapshot: Snapshot, rates: Rates | None, limits: Thresholds) -> Alarm | None:
    ratio = (snapshot if rates is None else rates).fallback_ratio
    if ratio <= limits.fallback:
        return None
    return Alarm(
        "fallback",
        Severity.WARNING,
        ratio,
        limits.fallback,
        f"fallback ratio {ratio:.1%} is over {limits.fallback:.0%}: lost packets, wrong ports or missing rules",
        "fallback.md",
    )
