"""Decisions, classes and settings as the service's protocol has them, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from cais_tools.controller.explain import Explained, ThresholdChange
from cais_tools.controller.policy import Decision
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.record import SETTINGS
from cais_tools.controller.scoring import Kind, OperationClass, Path

__all__ = [
    "decision_to",
    "explained_to",
    "operation_from",
    "operation_to",
    "path_to",
    "settings_from",
    "settings_to",
    "thresholds_to",
]

_WHOLE = ("chunk_size", "timeout_ms", "max_pending_chunks")


def path_to(path: Path) -> pb.Path.ValueType:
    return pb.Path.ValueType(int(path))


def operation_to(operation: OperationClass) -> pb.OperationClass:
    return pb.OperationClass(kind=pb.Kind.ValueType(int(operation.kind)), dtype=operation.dtype, bytes=operation.bytes)


def operation_from(message: pb.OperationClass) -> OperationClass:
    known = message.kind in Kind._value2member_map_
    return OperationClass(Kind(message.kind) if known else Kind.UNSPECIFIED, message.dtype, message.bytes)


def decision_to(decision: Decision) -> pb.Decision:
    return pb.Decision(
        offload=decision.offload,
        reason=decision.reason,
        overrides=[
            pb.Decision.Override(operation=operation_to(operation), path=path_to(path))
            for operation, path in decision.overrides.items()
        ],
        break_even=[
            pb.Decision.BreakEven(kind=pb.Kind.ValueType(int(kind)), bytes=least)
            for kind, least in decision.break_even.items()
        ],
    )


def settings_to(values: Mapping[str, float]) -> pb.Settings:
    """Of `SETTINGS`, those that are there."""
    settings = pb.Settings()
    for name in SETTINGS:
        if name in values:
            setattr(settings, name, int(values[name]) if name in _WHOLE else float(values[name]))
    return settings


def settings_from(message: pb.Settings) -> dict[str, float]:
    """Those that the message names."""
    return {name: getattr(message, name) for name in SETTINGS if message.HasField(name)}


def _number(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def thresholds_to(changes: Iterable[ThresholdChange]) -> list[pb.ThresholdChange]:
    return [
        pb.ThresholdChange(
            time=each.time,
            offload_threshold=_number(each.offload_threshold),
            threshold=_number(each.threshold),
            sram_usage=_number(each.sram_usage),
        )
        for each in changes
    ]


def explained_to(row: Explained) -> pb.Explained:
    return pb.Explained(
        time=row.time,
        operation=operation_to(row.operation),
        first_operation=row.from_operation or 0,
        holds=row.from_operation is not None,
        path=path_to(row.path),
        reason=row.reason,
        ranks=row.ranks,
        bandwidth_bps=_number(8 * row.bandwidth),
        processing_rate_bps=_number(8 * row.processing_rate),
        queue_delay_s=_number(row.queue_delay),
        endpoint_time_s=_number(row.endpoint_time),
        switch_time_s=_number(row.switch_time),
        score=_number(row.score),
        threshold=_number(row.threshold),
        sram_usage=_number(row.sram_usage),
        admitted=row.admitted,
        offload_threshold=_number(row.offload_threshold),
    )
