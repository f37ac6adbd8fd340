"""Telemetry of switches as metric families. Sans I/O: from samples to what a scrape shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from cais_tools.fleet.sampling import Sample, port_labels
from cais_tools.session.cais import ALARMS, DelayHistogram, GroupStats, Reading

__all__ = ["metric_families"]

_OVERFLOW: Final = 15
_DEVICE: Final = ("device",)
_GROUP: Final = ("device", "group")
_PORT: Final = ("device", "port", "name")


def metric_families(samples: Sequence[Sample]) -> Iterator[Metric]:
    """All metrics of these samples. A device that did not answer has `cais_up` 0 and nothing else, so that no stale
    value passes for a new one.
    """
    up = GaugeMetricFamily("cais_up", "Whether the switch answered with the CAIS program's counters.", labels=_DEVICE)
    took = GaugeMetricFamily(
        "cais_read_duration_seconds", "How long reading the switch took.", labels=_DEVICE, unit="seconds"
    )
    for sample in samples:
        up.add_metric([sample.device.name], sample.reading is not None)
        took.add_metric([sample.device.name], sample.seconds)
    yield up
    yield took
    read = [(sample, sample.reading) for sample in samples if sample.reading is not None]
    yield from _of_devices(read)
    yield from _of_intervals(read)
    yield from _of_groups(read)
    yield from _of_ports(read)
    yield _alarms(read)


_Read = Sequence[tuple[Sample, Reading]]


def _of_devices(read: _Read) -> Iterator[Metric]:
    pool = GaugeMetricFamily("cais_slots", "Slots of the program, for all groups together.", labels=_DEVICE)
    given = GaugeMetricFamily("cais_slots_allocated", "Slots that belong to groups.", labels=_DEVICE)
    used = GaugeMetricFamily("cais_slots_in_use", "Slots that hold an incomplete sum.", labels=_DEVICE)
    usage = GaugeMetricFamily("cais_sram_usage_ratio", "Slots in use as a share of all.", labels=_DEVICE)
    bad = CounterMetricFamily(
        "cais_bad_frames", "Frames that no group can be charged with, by kind.", labels=("device", "kind")
    )
    for sample, reading in read:
        name, snapshot = [sample.device.name], reading.snapshot
        pool.add_metric(name, snapshot.pool)
        given.add_metric(name, snapshot.slots_allocated)
        used.add_metric(name, snapshot.slots_in_use)
        usage.add_metric(name, snapshot.sram_usage)
        for kind, count in snapshot.bad_frames.items():
            bad.add_metric([*name, kind], count)
    yield from (pool, given, used, usage, bad)


def _of_intervals(read: _Read) -> Iterator[Metric]:
    """What show-stats prints of the time between two readings; the first one has none."""
    throughput = GaugeMetricFamily(
        "cais_reduce_throughput_operations_per_second", "Operations completed since the last reading.", labels=_DEVICE
    )
    fallback = GaugeMetricFamily(
        "cais_fallback_ratio", "Contributions since the last reading that the switch could not use.", labels=_DEVICE
    )
    delay = GaugeMetricFamily(
        "cais_queue_delay_average_seconds",
        "Average queue delay since the last reading, estimated from the histogram; absent without traffic.",
        labels=_DEVICE,
        unit="seconds",
    )
    for sample, reading in read:
        rates = reading.rates
        if rates is None:
            continue
        throughput.add_metric([sample.device.name], rates.operations_per_s)
        fallback.add_metric([sample.device.name], rates.fallback_ratio)
        if rates.delay.average_us is not None:
            delay.add_metric([sample.device.name], rates.delay.average_us / 1e6)
    yield from (throughput, fallback, delay)


def _of_groups(read: _Read) -> Iterator[Metric]:
    labels = (*_GROUP, "outcome")
    packets = CounterMetricFamily("cais_contributions", "Contributions by what became of them.", labels=labels)
    octets = CounterMetricFamily(
        "cais_contribution_bytes", "Bytes of contributions by what became of them.", labels=labels, unit="bytes"
    )
    operations = CounterMetricFamily("cais_operations", "Results that went out for the first time.", labels=_GROUP)
    slots = GaugeMetricFamily("cais_group_slots", "Slots that the group has.", labels=_GROUP)
    used = GaugeMetricFamily("cais_group_slots_in_use", "Slots of the group with an incomplete sum.", labels=_GROUP)
    for sample, reading in read:
        for group in reading.snapshot.groups.values():
            name = [sample.device.name, str(group.group_id)]
            _add_outcomes(packets, octets, name, group)
            operations.add_metric(name, group.operations)
            slots.add_metric(name, group.slots)
            used.add_metric(name, group.slots_in_use)
    yield from (packets, octets, operations, slots, used)


def _add_outcomes(
    packets: CounterMetricFamily, octets: CounterMetricFamily, name: Sequence[str], group: GroupStats
) -> None:
    for outcome, count in group.packets.items():
        packets.add_metric([*name, outcome], count)
        octets.add_metric([*name, outcome], group.bytes[outcome])


def _of_ports(read: _Read) -> Iterator[Metric]:
    received = CounterMetricFamily("cais_port_received_packets", "Packets that came in by a port.", labels=_PORT)
    received_bytes = CounterMetricFamily(
        "cais_port_received_bytes", "Bytes that came in by a port.", labels=_PORT, unit="bytes"
    )
    sent = CounterMetricFamily("cais_port_sent_packets", "Packets that left by a port.", labels=_PORT)
    sent_bytes = CounterMetricFamily("cais_port_sent_bytes", "Bytes that left by a port.", labels=_PORT, unit="bytes")
    delay = HistogramMetricFamily(
        "cais_queue_delay_seconds",
        "Time in a port's queue; the sum is an estimate from the middles of the buckets.",
        labels=_PORT,
        unit="seconds",
    )
    for sample, reading in read:
        names = port_labels(sample.device)
        for port in reading.snapshot.ports.values():
            labels = [sample.device.name, str(port.port), names.get(port.port, "")]
            received.add_metric(labels, port.received.packets)
            received_bytes.add_metric(labels, port.received.bytes)
            sent.add_metric(labels, port.sent.packets)
            sent_bytes.add_metric(labels, port.sent.bytes)
            delay.add_metric(labels, _buckets(port.delay), (port.delay.average_us or 0.0) * port.delay.total / 1e6)
    yield from (received, received_bytes, sent, sent_bytes, delay)


def _buckets(histogram: DelayHistogram) -> list[tuple[str, float]]:
    """Cumulative, with upper bounds in seconds: bucket b ends at 2^b microseconds, the last one nowhere."""
    total = 0
    buckets: list[tuple[str, float]] = []
    for bucket, count in enumerate(histogram.counts):
        total += count
        buckets.append(("+Inf" if bucket == _OVERFLOW else repr((1 << bucket) / 1e6), total))
    return buckets


def _alarms(read: _Read) -> Metric:
    family = GaugeMetricFamily("cais_alarm", "1 while the alarm is raised, 0 otherwise.", labels=("device", "alarm"))
    for sample, reading in read:
        raised = {alarm.name for alarm in reading.alarms}
        for name in ALARMS:
            family.add_metric([sample.device.name, name], name in raised)
    return family
