"""Snapshots and readings of switches that are nowhere."""

from __future__ import annotations

from cais_tools.session import CounterData
from cais_tools.session.cais import (
    OUTCOMES,
    DelayHistogram,
    GroupStats,
    Member,
    PortStats,
    Rates,
    Reading,
    Snapshot,
    Thresholds,
    evaluate_alarms,
)


def histogram(**buckets: int) -> DelayHistogram:
    """`histogram(b3=5)`: five packets that waited 4 to 8 us."""
    return DelayHistogram(tuple(buckets.get(f"b{bucket}", 0) for bucket in range(16)))


def group_stats(group_id: int = 0, slots: int = 256, **packets: int) -> GroupStats:
    return GroupStats(
        group_id,
        slots,
        {name: packets.get(name, 0) for name in OUTCOMES},
        {name: 100 * packets.get(name, 0) for name in OUTCOMES},
        (Member(0, 1), Member(1, 2)),
    )


def snapshot(
    *groups: GroupStats, time: float = 0.0, delay: DelayHistogram | None = None, pool: int = 100, port: int = 1
) -> Snapshot:
    packets = (delay or DelayHistogram()).total
    ports = {port: PortStats(port, CounterData(packets, 290 * packets), CounterData(packets, 290 * packets))}
    if delay is not None:
        ports = {port: PortStats(port, ports[port].received, ports[port].sent, delay)}
    return Snapshot(
        time,
        pool,
        sum(group.slots for group in groups),
        {group.group_id: group for group in groups},
        ports,
        {"short": 1, "payload_len": 0},
    )


def reading(before: Snapshot | None, after: Snapshot, thresholds: Thresholds | None = None) -> Reading:
    rates = None if before is None else Rates.between(before, after)
    return Reading(after, rates, evaluate_alarms(after, rates, thresholds))
