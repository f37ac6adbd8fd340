"""Telemetry as numbers: snapshots of the counters, and rates between two of them. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import add, itemgetter, mul
from typing import Final

from cais_tools.session.cais.model import Member, Rule
from cais_tools.session.entities import CounterData

__all__ = [
    "BAD_FRAMES",
    "CELLS",
    "FELL_BACK",
    "OUTCOMES",
    "DelayHistogram",
    "GroupStats",
    "PortRate",
    "PortStats",
    "Rates",
    "Snapshot",
    "outcome_cells",
]

OUTCOMES: Final = (
    "opened",
    "added",
    "completed",
    "completed_alone",
    "reopened",
    "duplicate",
    "answered",
    "stale",
    "diverged",
    "unknown_op",
    "no_member",
    "no_rule",
)
"""What becomes of a contribution; the index is the counter cell within the group's block."""

CELLS: Final = 16
"""Cells of a group in the counter `group_outcomes`, and of a port in `queue_delay`."""

BAD_FRAMES: Final = ("short", "payload_len")
"""Frames that no group can be charged with: cut short; payload_len over the payload."""

_AGGREGATED: Final = itemgetter("opened", "added", "completed", "completed_alone", "reopened")
FELL_BACK: Final = ("no_rule", "no_member", "reopened")
"""Outcomes of contributions that the switch could not use."""

_fell_back: Final = itemgetter(*FELL_BACK)
_REJECTED: Final = itemgetter("no_member", "no_rule", "diverged")


def outcome_cells(group_id: int) -> list[int]:
    """The cells of `group_outcomes` that count for this group, in the order of OUTCOMES."""
    return [group_id * CELLS + outcome for outcome in range(len(OUTCOMES))]


@dataclass(frozen=True, slots=True)
class DelayHistogram:
    """Queue delays in microseconds: bucket 0 below 1, bucket b from 2^(b-1) to 2^b, bucket 15 all from 16384 on."""

    counts: tuple[int, ...] = (0,) * CELLS

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def average_us(self) -> float | None:
        """Estimated with the middle of each bucket; None without packets."""
        if not self.total:
            return None
        return sum(map(mul, self.counts, _MIDDLES)) / self.total

    def percentile_us(self, percent: float) -> float | None:
        """Interpolated within the bucket that it falls into; None without packets."""
        rank, below = self.total * percent / 100, 0
        for bucket, count in enumerate(self.counts):
            if count and below + count >= rank:
                low, high = _bounds(bucket)
                return low + (high - low) * (rank - below) / count
            below += count
        return None

    def __add__(self, other: DelayHistogram) -> DelayHistogram:
        return DelayHistogram(tuple(map(add, self.counts, other.counts)))

    def since(self, before: DelayHistogram) -> DelayHistogram:
        if self.counts == before.counts:
            return _NO_DELAYS
        return DelayHistogram(tuple(map(_since, self.counts, before.counts)))


def _bounds(bucket: int) -> tuple[float, float]:
    if bucket == 0:
        return 0.0, 1.0
    return float(1 << (bucket - 1)), float(1 << bucket)


_MIDDLES: Final = tuple(sum(_bounds(bucket)) / 2 for bucket in range(CELLS))
_NO_DELAYS: Final = DelayHistogram()


def _since(now: int, before: int) -> int:
    """A counter that is smaller than before started anew: all it counts is new."""
    return now - before if now >= before else now


@dataclass(frozen=True, slots=True)
class GroupStats:
    """A group's contributions by outcome (see OUTCOMES), packets and bytes of each; `slots` 0: it has no entry."""

    group_id: int
    slots: int
    packets: Mapping[str, int]
    bytes: Mapping[str, int]
    members: tuple[Member, ...] = ()

    @property
    def slots_in_use(self) -> int:
        """Slots that hold an incomplete sum: opened and not yet completed. (Counters are not read at one instant.)"""
        return max(0, self.packets["opened"] - self.packets["completed"])

    @property
    def contributions(self) -> int:
        return sum(self.packets.values())

    @property
    def operations(self) -> int:
        """Results that went out for the first time."""
        return self.packets["completed"] + self.packets["completed_alone"]

    @property
    def aggregated(self) -> int:
        return sum(_AGGREGATED(self.packets))

    @property
    def aggregated_bytes(self) -> int:
        return sum(_AGGREGATED(self.bytes))

    @property
    def fell_back(self) -> int:
        return sum(_fell_back(self.packets))

    @property
    def duplicates(self) -> int:
        """Repeated while the sum was incomplete: dropped."""
        return self.packets["duplicate"]

    @property
    def replayed(self) -> int:
        """Repeated when the sum was complete: answered with the stored result."""
        return self.packets["answered"]

    @property
    def rejected(self) -> int:
        """From no member, for no rule, or of ranks that diverged."""
        return sum(_REJECTED(self.packets))

    @property
    def bad(self) -> int:
        """Frames with an unknown operation. (Those cut short, or with a wrong payload_len, are no group's.)"""
        return self.packets["unknown_op"]

    def since(self, before: GroupStats | None) -> GroupStats:
        if before is None:
            return self
        return GroupStats(
            self.group_id,
            self.slots,
            _differences(self.packets, before.packets),
            _differences(self.bytes, before.bytes),
            self.members,
        )


def _together(some: Iterable[DelayHistogram]) -> DelayHistogram:
    counts = [each.counts for each in some]
    return DelayHistogram(tuple(map(sum, zip(*counts, strict=True)))) if counts else _NO_DELAYS


def _differences(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """As `_since`; written out, for there are thousands of them a second where somebody watches a fleet."""
    return {name: value - old if value >= (old := before[name]) else value for name, value in now.items()}


_NONE: Final = CounterData()


@dataclass(frozen=True, slots=True)
class PortStats:
    port: int
    received: CounterData = _NONE
    sent: CounterData = _NONE
    delay: DelayHistogram = _NO_DELAYS


def _ratio(fell_back: int, contributions: int) -> float:
    return fell_back / contributions if contributions else 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All counters at one time; totals since the program was loaded. `time` is monotonic, in seconds."""

    time: float
    pool: int
    slots_allocated: int
    groups: Mapping[int, GroupStats] = field(default_factory=dict[int, GroupStats])
    ports: Mapping[int, PortStats] = field(default_factory=dict[int, PortStats])
    bad_frames: Mapping[str, int] = field(default_factory=dict[str, int])
    rules: tuple[Rule, ...] = ()

    @property
    def slots_in_use(self) -> int:
        return sum(group.slots_in_use for group in self.groups.values())

    @property
    def sram_usage(self) -> float:
        """Share of all slots that hold an incomplete sum."""
        return self.slots_in_use / self.pool if self.pool else 0.0

    @property
    def operations(self) -> int:
        return sum(group.operations for group in self.groups.values())

    @property
    def fallback_ratio(self) -> float:
        """Share of the contributions that the switch could not take part in: no rule, no member, or in place of an
        aggregate that never became complete. (Until a controller decides, nothing else falls back.)
        """
        groups = self.groups.values()
        return _ratio(sum(each.fell_back for each in groups), sum(each.contributions for each in groups))

    @property
    def delay(self) -> DelayHistogram:
        """Queue delays of all ports."""
        return _together(port.delay for port in self.ports.values())


@dataclass(frozen=True, slots=True)
class PortRate:
    """Packets and bytes a second."""

    packets_in: float
    bytes_in: float
    packets_out: float
    bytes_out: float


@dataclass(frozen=True, slots=True)
class Rates:
    """What happened between two snapshots, per second; `groups` and `delays` (by port) are differences, no rates."""

    seconds: float
    operations_per_s: float
    contributions_per_s: float
    reduced_bytes_per_s: float
    fallback_ratio: float
    delay: DelayHistogram
    group_operations_per_s: Mapping[int, float]
    ports: Mapping[int, PortRate]
    groups: Mapping[int, GroupStats]
    delays: Mapping[int, DelayHistogram]

    @property
    def contributions(self) -> int:
        """All that came for any group, whatever became of it."""
        return sum(each.contributions for each in self.groups.values())

    @classmethod
    def between(cls, before: Snapshot, after: Snapshot) -> Rates:
        """Counters that started anew in between (another load) count from zero: rates are never negative.

        Raises ValueError when `after` is not later.
        """
        seconds = after.time - before.time
        if seconds <= 0:
            raise ValueError("the second snapshot must be later than the first")
        groups = {key: each.since(before.groups.get(key)) for key, each in after.groups.items()}
        some = list(groups.values())
        delays = {
            port: each.delay.since(before.ports[port].delay if port in before.ports else _NO_DELAYS)
            for port, each in after.ports.items()
        }
        return cls(
            seconds=seconds,
            operations_per_s=sum(each.operations for each in some) / seconds,
            contributions_per_s=sum(each.aggregated for each in some) / seconds,
            reduced_bytes_per_s=sum(each.aggregated_bytes for each in some) / seconds,
            fallback_ratio=_ratio(sum(each.fell_back for each in some), sum(each.contributions for each in some)),
            delay=_together(delays.values()),
            group_operations_per_s={key: each.operations / seconds for key, each in groups.items()},
            ports={
                port: _port_rate(before.ports.get(port, PortStats(port)), each, seconds)
                for port, each in after.ports.items()
            },
            groups=groups,
            delays=delays,
        )


def _port_rate(before: PortStats, after: PortStats, seconds: float) -> PortRate:
    return PortRate(
        packets_in=_since(after.received.packets, before.received.packets) / seconds,
        bytes_in=_since(after.received.bytes, before.received.bytes) / seconds,
        packets_out=_since(after.sent.packets, before.sent.packets) / seconds,
        bytes_out=_since(after.sent.bytes, before.sent.bytes) / seconds,
    )
