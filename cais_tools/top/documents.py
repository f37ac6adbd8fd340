"""What is shown, as JSON documents: schema `cais.top/1`. Names are those of show-stats where it is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, TypeVar

from cais_tools.top.columns import Table
from cais_tools.top.device import DeviceState
from cais_tools.top.journal import Entry
from cais_tools.top.model import Model
from cais_tools.top.rows import GroupRow, device_row, group_rows, port_rows
from cais_tools.top.tables import GROUPS, PORTS

__all__ = ["SCHEMA", "device_document", "row_documents"]

R = TypeVar("R")

SCHEMA: Final = "cais.top/1"


def _time_fields(time: float) -> dict[str, Any]:
    """RFC 3339 with the offset, and nanoseconds since 1970."""
    stamp = datetime.fromtimestamp(time).astimezone().isoformat(timespec="milliseconds")
    return {"ts": stamp, "ts_ns": int(time * 1e9)}


def device_document(model: Model, device: DeviceState) -> dict[str, Any]:
    """One switch as it is now. What is not known is null."""
    row, failure, rates = device_row(device, model.journal, device.time), device.failure, device.rates
    program = device.program
    return {
        "device": device.name,
        **_time_fields(device.time),
        "address": device.source.address,
        "state": row.state.lower(),
        "program": program and {"name": program.name, "cookie": program.cookie and f"{program.cookie:016x}"},
        "program_seen_s": row.up_s,
        "primary": device.primary and {"taken": device.primary.is_taken, "election_id": device.primary.election_id},
        "sram_usage": row.sram,
        "slots": row.pool,
        "slots_in_use": row.slots_in_use,
        "reduce_throughput_ops_per_s": row.ops,
        "contributions_per_s": rates and rates.contributions_per_s,
        "reduced_bytes_per_s": row.bytes_per_s,
        "avg_queue_delay_us": row.delay_us,
        "queue_delay_p99_us": row.p99_us,
        "fallback_ratio": row.fallback,
        "temperature_c": device.temperature_c,
        "groups": [_group_document(each) for each in group_rows(device)],
        "ports": [PORTS.document(each) for each in port_rows(device)],
        "alarms": [alarm_document(each) for each in model.journal.active(device.name)],
        "error": failure and failure.message,
        "hint": failure and failure.hint,
        "exit_code": failure.exit_code if failure else 0,
    }


def _group_document(row: GroupRow) -> dict[str, Any]:
    """The row, with all that the controller says of the group."""
    steered = row.steered
    return {**GROUPS.document(row), "controller": None if steered is None else asdict(steered)}


def alarm_document(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.finding.name,
        "severity": entry.finding.severity.word,
        "value": entry.finding.value,
        "message": entry.finding.message,
        "playbook": entry.finding.playbook,
        "since": _time_fields(entry.time)["ts"],
    }


def row_documents(table: Table[R], rows: Sequence[R], device: str | None, time: float) -> list[dict[str, Any]]:
    """The rows of a table as they are shown, one document each; `device` is whose they are."""
    head = {"schema": SCHEMA, "kind": table.kind, **_time_fields(time)}
    owner = {} if device is None else {"device": device}
    return [{**head, **owner, **table.document(row)} for row in rows]
