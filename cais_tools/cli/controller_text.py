"""What the controller says, as tables and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cais_tools.cli.output import coloured, emit_json, say, table
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.errors import CheckFailed

__all__ = ["emit_status", "emit_why", "show_results", "status_text", "why_text"]

_PATHS = {pb.PATH_AUTO: "auto", pb.PATH_SWITCH: "switch", pb.PATH_ENDPOINT: "endpoint"}


def _path(path: pb.Path.ValueType) -> str:
    return _PATHS.get(path, str(path))


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%H:%M:%S")


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


# --- status


def status_text(found: pb.Statistics) -> str:
    parts = [_devices_text(found.devices), _groups_text(found.groups)]
    values = _settings(found.settings)
    parts.append("settings: " + ", ".join(f"{name} {value:g}" for name, value in values.items()))
    return "\n\n".join(parts)


def _devices_text(devices: Sequence[pb.DeviceStatistics]) -> str:
    header = ("device", "address", "state", "slots", "queue us", "p99 us", "ops/s", "fallback", "chip", "why")
    rows = [
        [
            each.name,
            each.address,
            _state(each),
            f"{each.sram_usage:.0%}",
            f"{each.queue_delay_us:.1f}",
            f"{each.queue_delay_p99_us:.1f}",
            f"{each.operations_per_s:.0f}",
            f"{each.fallback_ratio:.1%}",
            f"{each.temperature_c:.0f} C" if each.HasField("temperature_c") else "-",
            each.error,
        ]
        for each in devices
    ]
    return table(header, rows, left=(0, 1, 2, 9)) if rows else "no devices"


def _state(device: pb.DeviceStatistics) -> str:
    if not device.reachable:
        return coloured("gone", "red", sys.stdout)
    if device.drained:
        return coloured("drained", "yellow", sys.stdout)
    return coloured("up", "green", sys.stdout)


def _groups_text(groups: Sequence[pb.GroupStatistics]) -> str:
    header = (
        *("group", "job", "device", "path", "wanted", "leader", "operation"),
        *("on switch", "on endpoints", "fallbacks", "threshold", "why"),
    )
    rows = [
        [
            str(each.group_id),
            each.job_id,
            each.device,
            _path(each.path),
            _path(each.wanted),
            "there" if each.attached else "gone",
            str(each.next_operation),
            str(each.operations_on_switch),
            str(each.operations_on_endpoints),
            str(each.fallbacks),
            f"{each.threshold:.3f}",
            each.reason,
        ]
        for each in groups
    ]
    return table(header, rows, left=(0, 1, 2, 3, 4, 5, 11)) if rows else "no groups"


def _settings(settings: pb.Settings) -> dict[str, Any]:
    return {field.name: value for field, value in settings.ListFields()}


def emit_status(found: pb.Statistics) -> None:
    emit_json(
        "cais.controller-status/1",
        {
            "ts": _stamp(found.time),
            "devices": [_device(each) for each in found.devices],
            "groups": [_group(each) for each in found.groups],
            "settings": _settings(found.settings),
        },
    )


def _device(each: pb.DeviceStatistics) -> dict[str, Any]:
    return {
        "name": each.name,
        "address": each.address,
        "reachable": each.reachable,
        "error": each.error or None,
        "primary": each.primary,
        "drained": each.drained,
        "sram_usage": each.sram_usage,
        "queue_delay_us": each.queue_delay_us,
        "queue_delay_p99_us": each.queue_delay_p99_us,
        "operations_per_s": each.operations_per_s,
        "fallback_ratio": each.fallback_ratio,
        "temperature_c": each.temperature_c if each.HasField("temperature_c") else None,
        "ports": [
            {"port": port.port, "bytes_in_per_s": port.bytes_in_per_s, "bytes_out_per_s": port.bytes_out_per_s}
            for port in each.ports
        ],
    }


def _group(each: pb.GroupStatistics) -> dict[str, Any]:
    return {
        "group": each.group_id,
        "job": each.job_id,
        "device": each.device,
        "attached": each.attached,
        "path": _path(each.path),
        "wanted": _path(each.wanted),
        "reason": each.reason or None,
        "epoch": each.epoch,
        "next_operation": each.next_operation,
        "operations_on_switch": each.operations_on_switch,
        "operations_on_endpoints": each.operations_on_endpoints,
        "fallbacks": each.fallbacks,
        "threshold": each.threshold,
        "admitted": each.admitted,
    }


# --- why


def why_text(group: int, found: pb.ExplainResponse) -> str:
    parts = [f"group {group}: {found.group_state}"]
    if found.decisions:
        header = (
            *("time", "operation", "type", "bytes", "path", "from operation", "endpoints us", "switch us"),
            *("queue us", "score", "threshold", "slots", "why"),
        )
        rows = [_decision_row(each) for each in found.decisions]
        parts.append(table(header, rows, left=(0, 1, 2, 4, 12)))
        last = found.decisions[-1]
        parts.append(
            f"ranks {last.ranks}, endpoints reduce {last.bandwidth_bps / 1e9:.4g} Gb/s of tensor, "
            f"the switch {last.processing_rate_bps / 1e9:.4g} Gb/s\n"
            "score = (endpoints - switch) / endpoints * (1 - 1/ranks), to the switch over the threshold"
        )
    else:
        parts.append("no operation has been seen yet")
    if found.thresholds:
        changes = [
            [_clock(each.time), f"{each.threshold:.3f}", f"{each.offload_threshold:.3f}", f"{each.sram_usage:.0%}"]
            for each in found.thresholds
        ]
        parts.append(table(("since", "threshold", "setting", "slots"), changes))
    return "\n\n".join(parts)


def _decision_row(each: pb.Explained) -> list[str]:
    return [
        _clock(each.time),
        pb.Kind.Name(each.operation.kind).lower(),
        each.operation.dtype,
        str(each.operation.bytes),
        _path(each.path),
        str(each.first_operation) if each.holds else "-",
        f"{each.endpoint_time_s * 1e6:.1f}",
        f"{each.switch_time_s * 1e6:.1f}",
        f"{each.queue_delay_s * 1e6:.1f}",
        f"{each.score:.3f}",
        f"{each.threshold:.3f}",
        f"{each.sram_usage:.0%}",
        each.reason,
    ]


def emit_why(group: int, found: pb.ExplainResponse) -> None:
    emit_json(
        "cais.controller-why/1",
        {
            "group": group,
            "state": found.group_state,
            "decisions": [_decision(each) for each in found.decisions],
            "thresholds": [
                {
                    "ts": _stamp(each.time),
                    "threshold": each.threshold,
                    "offload_threshold": each.offload_threshold,
                    "sram_usage": each.sram_usage,
                }
                for each in found.thresholds
            ],
        },
    )


def _decision(each: pb.Explained) -> dict[str, Any]:
    return {
        "ts": _stamp(each.time),
        "operation": pb.Kind.Name(each.operation.kind).lower(),
        "dtype": each.operation.dtype,
        "bytes": each.operation.bytes,
        "path": _path(each.path),
        "from_operation": each.first_operation if each.holds else None,
        "reason": each.reason,
        "ranks": each.ranks,
        "bandwidth_bps": each.bandwidth_bps,
        "processing_rate_bps": each.processing_rate_bps,
        "queue_delay_s": each.queue_delay_s,
        "endpoint_time_s": each.endpoint_time_s,
        "switch_time_s": each.switch_time_s,
        "score": each.score,
        "threshold": each.threshold,
        "offload_threshold": each.offload_threshold,
        "sram_usage": each.sram_usage,
        "admitted": each.admitted,
    }


# --- what was asked for


def show_results(results: Sequence[pb.SetOffloadResponse.Result], asked: str, *, json: bool) -> None:
    """One line for each group. Raises CheckFailed where it does not hold everywhere."""
    if json:
        rows = [
            {
                "group": each.group_id,
                "holds": each.holds,
                "from_operation": each.from_operation if each.holds else None,
                "text": each.text or None,
            }
            for each in results
        ]
        emit_json("cais.controller-path/1", {"asked": asked, "groups": rows})
    elif not results:
        say(f"{asked}: there are no groups now")
    else:
        for each in results:
            holds = f"from operation {each.from_operation} on" if each.holds else "not yet"
            say(f"group {each.group_id}: {asked}, {holds}" + (f": {each.text}" if each.text else ""))
    late = [each.group_id for each in results if not each.holds]
    if late:
        raise CheckFailed(
            f"it does not hold yet for {len(late)} of {len(results)} groups", hint="cais controller status shows them"
        )
