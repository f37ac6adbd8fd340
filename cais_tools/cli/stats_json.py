"""Statistics as JSON documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cais_tools.config import Device
    from cais_tools.fleet.sampling import Sample
    from cais_tools.session.cais import Alarm, GroupStats, Member, OpenSlot, PortStats, Rates, Reading

__all__ = ["SCHEMA", "reading_document", "sample_document", "slot_document", "time_fields"]

SCHEMA = "cais.stats/1"


def time_fields() -> dict[str, Any]:
    """Now: RFC 3339 with the offset, and nanoseconds since 1970."""
    import time

    now = time.time_ns()
    return {"ts": datetime.fromtimestamp(now / 1e9).astimezone().isoformat(timespec="milliseconds"), "ts_ns": now}


def sample_document(sample: Sample, group: int | None = None) -> dict[str, Any]:
    """What a round brought from one switch: its statistics, or `error`, `hint` and `exit_code`."""
    document = {"device": sample.device.name, **time_fields()}
    if sample.error is not None:
        return {**document, "error": str(sample.error), "hint": sample.error.hint, "exit_code": sample.error.exit_code}
    return {**document, **(reading_document(sample.device, sample.reading, group) if sample.reading else {})}


def reading_document(device: Device, reading: Reading, group: int | None = None) -> dict[str, Any]:
    """Statistics of one switch; `group`: of its groups, only this one. What has no value yet is null."""
    from cais_tools.fleet.sampling import port_labels

    names = port_labels(device)
    snapshot, rates = reading.snapshot, reading.rates
    delay = rates.delay if rates else None
    groups = [each for each in snapshot.groups.values() if group in (None, each.group_id)]
    return {
        "interval_s": rates and rates.seconds,
        "sram_usage": snapshot.sram_usage,
        "slots": snapshot.pool,
        "slots_allocated": snapshot.slots_allocated,
        "slots_in_use": snapshot.slots_in_use,
        "reduce_throughput_ops_per_s": rates and rates.operations_per_s,
        "contributions_per_s": rates and rates.contributions_per_s,
        "reduced_bytes_per_s": rates and rates.reduced_bytes_per_s,
        "avg_queue_delay_us": delay and delay.average_us,
        "queue_delay_p50_us": delay and delay.percentile_us(50),
        "queue_delay_p90_us": delay and delay.percentile_us(90),
        "queue_delay_p99_us": delay and delay.percentile_us(99),
        "fallback_ratio": rates and rates.fallback_ratio,
        "since_load": {
            "operations": snapshot.operations,
            "avg_queue_delay_us": snapshot.delay.average_us,
            "queue_delay_p50_us": snapshot.delay.percentile_us(50),
            "queue_delay_p90_us": snapshot.delay.percentile_us(90),
            "queue_delay_p99_us": snapshot.delay.percentile_us(99),
            "fallback_ratio": snapshot.fallback_ratio,
        },
        "groups": [_group_document(each, rates) for each in groups],
        "ports": [_port_document(each, rates, names) for each in snapshot.ports.values()],
        "bad_frames": dict(snapshot.bad_frames),
        "alarms": [_alarm_document(each) for each in reading.alarms],
    }


def _group_document(group: GroupStats, rates: Rates | None) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "slots": group.slots,
        "slots_in_use": group.slots_in_use,
        "operations_per_s": rates and rates.group_operations_per_s.get(group.group_id),
        "opened": group.packets["opened"],
        "completed": group.operations,
        "duplicates": group.duplicates,
        "stale": group.packets["stale"],
        "replayed": group.replayed,
        "rejected": group.rejected,
        "bad": group.bad,
        "outcomes_packets": dict(group.packets),
        "outcomes_bytes": dict(group.bytes),
    }


def _port_document(port: PortStats, rates: Rates | None, names: Mapping[int, str]) -> dict[str, Any]:
    rate = rates.ports.get(port.port) if rates else None
    delay = rates.delays.get(port.port) if rates else None
    return {
        "port": port.port,
        "name": names.get(port.port),
        "packets_in": port.received.packets,
        "bytes_in": port.received.bytes,
        "packets_out": port.sent.packets,
        "bytes_out": port.sent.bytes,
        "packets_in_per_s": rate and rate.packets_in,
        "bytes_in_per_s": rate and rate.bytes_in,
        "packets_out_per_s": rate and rate.packets_out,
        "bytes_out_per_s": rate and rate.bytes_out,
        "queue_delay_p50_us": delay and delay.percentile_us(50),
        "queue_delay_p99_us": delay and delay.percentile_us(99),
    }


def _alarm_document(alarm: Alarm) -> dict[str, Any]:
    return {
        "name": alarm.name,
        "severity": alarm.severity.value,
        "value": alarm.value,
        "threshold": alarm.threshold,
        "message": alarm.message,
        "playbook": alarm.playbook,
    }


def slot_document(slot: OpenSlot, names: Mapping[int, str]) -> dict[str, Any]:
    from cais_tools.session.cais import op_label

    return {
        "group_id": slot.group_id,
        "slot": slot.slot,
        "seq_num": slot.seq_num,
        "op_type": op_label(slot.op),
        "layer_id": slot.layer,
        "chunk_id": slot.chunk,
        "age_us": slot.age_us,
        "present": _members(slot.present, names),
        "missing": _members(slot.missing, names),
    }


def _members(members: Sequence[Member], names: Mapping[int, str]) -> list[dict[str, Any]]:
    return [{"rank": each.rank, "port": each.port, "name": names.get(each.port)} for each in members]
