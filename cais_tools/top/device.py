"""One switch over time: what it said last, its rates, its curves. Sans I/O."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.session.cais import OpenSlot, Rates, Rule, Snapshot, Thresholds, evaluate_alarms
from cais_tools.session.observer import Primary
from cais_tools.top import findings
from cais_tools.top.history import History
from cais_tools.top.journal import Finding
from cais_tools.top.observation import Failure, Observation, Program, Source, Steered

__all__ = ["CURVES", "Curves", "DeviceState", "Gauges", "Slots", "Taken"]

CURVES = ("sram", "ops", "delay", "p99", "fallback")
_SMALL = 240


def _device_curves() -> dict[str, History]:
    return {name: History() for name in CURVES}


@dataclass(frozen=True, slots=True)
class Gauges:
    """A switch in a few numbers, worked out once for each look; None: not known."""

    slots_in_use: int | None = None
    sram: float | None = None
    ops: float | None = None
    delay_us: float | None = None
    p99_us: float | None = None
    fallback: float | None = None

    @classmethod
    def of(cls, snapshot: Snapshot, rates: Rates | None) -> Gauges:
        used = snapshot.slots_in_use
        sram = used / snapshot.pool if snapshot.pool else 0.0
        if rates is None:
            return cls(used, sram)
        delay = rates.delay
        return cls(used, sram, rates.operations_per_s, delay.average_us, delay.percentile_us(99), rates.fallback_ratio)


@dataclass(slots=True)
class Curves:
    """`device` by the names of CURVES; operations a second by group; bytes a second, in and out together, by port."""

    device: dict[str, History] = field(default_factory=_device_curves)
    groups: dict[int, History] = field(default_factory=dict[int, History])
    ports: dict[int, History] = field(default_factory=dict[int, History])

    def extend(self, gauges: Gauges, rates: Rates | None) -> None:
        """One value more for each; what is not known is a gap."""
        self.device["sram"].add(gauges.sram)
        self.device["ops"].add(gauges.ops)
        self.device["delay"].add(gauges.delay_us)
        self.device["p99"].add(gauges.p99_us)
        self.device["fallback"].add(gauges.fallback)
        _extend(self.groups, {} if rates is None else rates.group_operations_per_s)
        ports = {} if rates is None else {port: each.bytes_in + each.bytes_out for port, each in rates.ports.items()}
        _extend(self.ports, ports)

    def copy(self) -> Curves:
        return Curves(
            {name: each.copy() for name, each in self.device.items()},
            {group: each.copy() for group, each in self.groups.items()},
            {port: each.copy() for port, each in self.ports.items()},
        )


def _extend(curves: dict[int, History], values: Mapping[int, float]) -> None:
    for key, value in values.items():
        if key not in curves:
            curves[key] = History(_SMALL)
        curves[key].add(value)
    for key in curves.keys() - values.keys():
        curves[key].add(None)


@dataclass(frozen=True, slots=True)
class Slots:
    """The open slots at `time`. `found` None: nobody has looked yet, or nobody can, and `hidden` is why."""

    found: tuple[OpenSlot, ...] | None = None
    time: float = 0.0
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What an observation means for the log: what holds now, and what has happened."""

    findings: list[Finding]
    events: list[Finding]


class DeviceState:
    """All that is known of a switch. What it said last stays when it is gone; `rates` and `gauges` do not.

    `changed` is when it came or went, `program_since` when the load was seen first; it may have run before, unless
    `program_was_seen_loading`. `waited` counts how many looks at the open slots missed a (group, rank).
    """

    def __init__(self, source: Source, thresholds: Thresholds | None = None) -> None:
        self.source = source
        self.thresholds = thresholds or Thresholds()
        self.time = self.changed = self.program_since = 0.0
        self.snapshot: Snapshot | None = None
        self.rates: Rates | None = None
        self.gauges = Gauges()
        self.failure: Failure | None = None
        self.program: Program | None = None
        self.program_was_seen_loading = False
        self.primary: Primary | None = None
        self.rules: tuple[Rule, ...] | None = None
        self.slots = Slots()
        self.baseline: Snapshot | None = None
        self.temperature_c: float | None = None
        self.steered: tuple[Steered, ...] | None = None
        self.curves = Curves()
        self.waited: dict[tuple[int, int], int] = {}

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def is_waited_for(self) -> bool:
        """Nothing has been heard of it yet."""
        return not self.time

    @property
    def is_up(self) -> bool:
        return self.failure is None and not self.is_waited_for

    def take(self, seen: Observation) -> Taken:
        """Take an observation in."""
        was_up = self.is_up
        if seen.snapshot is None:
            return self._take_failure(seen)
        if not was_up:
            self.changed = seen.time
        events = self._notice_program(seen)
        before, self.snapshot = self.snapshot if was_up else None, seen.snapshot
        self.time, self.failure, self.rates = seen.time, None, None
        # The time between two looks is not known when the connection was lost in between, or the counters began again.
        if before is not None and seen.snapshot.time > before.time and not events:
            self.rates = Rates.between(before, seen.snapshot)
        self._take_facts(seen, events)
        self.gauges = Gauges.of(seen.snapshot, self.rates)
        self.curves.extend(self.gauges, self.rates)
        alarms = evaluate_alarms(seen.snapshot, self.rates, self.thresholds)
        # Without an interval, delay and fallback would be those since the load: perhaps long over.
        alarms = [alarm for alarm in alarms if self.rates is not None or alarm.name == "sram"]
        return Taken([*findings.alarm_findings(alarms), *findings.hot(seen.temperature_c)], events)

    def _take_failure(self, seen: Observation) -> Taken:
        if self.is_up or self.is_waited_for:
            self.changed = seen.time
        self.failure = seen.failure or Failure("CaisError", "it did not answer", None, 1)
        self.time, self.rates, self.gauges = seen.time, None, Gauges()
        self.curves.extend(self.gauges, None)
        return Taken([findings.gone(self.failure)], [])

    def _notice_program(self, seen: Observation) -> list[Finding]:
        """Another program, or another load of it: all counters began anew."""
        before, after = self.program, seen.program or self.program
        self.program = after
        if self.snapshot is None or seen.snapshot is None:
            self.program_since = seen.time
            # It was there without a program, or not there, when we looked before.
            self.program_was_seen_loading = self.failure is not None and self.failure.kind == "NoPipeline"
            return []
        is_same = before is None or before == after
        if is_same and not _went_back(self.snapshot, seen.snapshot):
            return []
        self.program_since, self.program_was_seen_loading = seen.time, True
        self.baseline, self.rules, self.slots = None, None, Slots()
        self.waited.clear()
        return [findings.program_changed(before, after)]

    def _take_facts(self, seen: Observation, events: list[Finding]) -> None:
        self.temperature_c, self.steered = seen.temperature_c, seen.steered
        if seen.rules is not None:
            self.rules = seen.rules
        if seen.primary is not None:
            before, self.primary = self.primary, seen.primary
            change = None if before is None else findings.other_primary(before, seen.primary)
            if change is not None:
                events.append(change)
        if seen.slots_hidden is not None:
            self.slots = Slots(hidden=seen.slots_hidden)
        elif seen.open_slots is not None:
            self.slots = Slots(seen.open_slots, seen.time)
            for key in {(slot.group_id, member.rank) for slot in seen.open_slots for member in slot.missing}:
                self.waited[key] = self.waited.get(key, 0) + 1

    def zero(self) -> None:
        """Count from here on."""
        self.baseline = self.snapshot

    def frozen(self) -> DeviceState:
        """A copy that later observations do not change."""
        other = copy.copy(self)
        other.curves, other.waited = self.curves.copy(), self.waited.copy()
        return other


def _went_back(before: Snapshot, after: Snapshot) -> bool:
    """Whether ports have counted less than before. (A group's counters go back when it is removed: no restart.)"""
    return any(
        after.ports[port].received.packets < each.received.packets
        for port, each in before.ports.items()
        if port in after.ports
    )
