"""Why a group does what it does: the decisions of the last minutes with their terms, and the threshold's history."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from cais_tools.controller.history import ClassHistory, Tick
from cais_tools.controller.policy import GroupState
from cais_tools.controller.scoring import OperationClass, Path, terms
from cais_tools.controller.verdict import in_words

__all__ = ["Explained", "ThresholdChange", "explain", "in_one_line", "threshold_history"]


@dataclass(frozen=True, slots=True)
class Explained:
    """One decision for one class; seconds, bytes/s and shares. `from_operation`: from which operation on it holds, or
    held; None: no block of operations was handed out while it was the latest.
    """

    time: float
    operation: OperationClass
    from_operation: int | None
    path: Path
    reason: str
    ranks: int
    bandwidth: float
    processing_rate: float
    queue_delay: float
    endpoint_time: float
    switch_time: float
    score: float
    offload_threshold: float
    threshold: float
    sram_usage: float
    admitted: bool


@dataclass(frozen=True, slots=True)
class ThresholdChange:
    """From `time` on `threshold` was in force: `offload_threshold`, and more where the switch was crowded."""

    time: float
    offload_threshold: float
    threshold: float
    sram_usage: float


def explain(
    state: GroupState,
    *,
    since: float = -math.inf,
    classes: Collection[OperationClass] | None = None,
    every: bool = False,
) -> list[Explained]:
    """The decisions since a time, the newest last; of some classes only, or of all.

    Of ticks in a row with the same path, reason and threshold the first stands for all, with the terms that brought the
    change; the newest tick is there too. With `every` all are.
    """
    history = state.history
    ticks = [history.tick(number) for number in range(history.first, history.end)]
    stretches = _stretches(ticks)
    rows = [
        _row(ticks[number - history.first], operation, record, number)
        for operation, record in state.classes.items()
        if classes is None or operation in classes
        for number in _told(ticks, stretches, history.first, record, since, every)
    ]
    return sorted(rows, key=lambda row: row.time)


def threshold_history(state: GroupState, *, since: float = -math.inf) -> list[ThresholdChange]:
    """Each threshold that was in force since a time, the newest last. The first is the one that was in force then."""
    changes: list[ThresholdChange] = []
    for number in range(state.history.first, state.history.end):
        tick = state.history.tick(number)
        change = ThresholdChange(tick.time, tick.inputs.offload_threshold, tick.threshold, tick.inputs.sram_usage)
        # As text, for no NaN is equal to another.
        if changes and str(changes[-1].threshold) == str(change.threshold):
            continue
        if change.time <= since:
            changes.clear()
        changes.append(change)
    return changes


def in_one_line(state: GroupState) -> str:
    """What holds for the group as a whole."""
    inputs, decision = state.inputs, state.decision
    if inputs is None:
        return decision.reason
    parts = ["on the switch, by class" if decision.offload else "on endpoints", decision.reason]
    if decision.threshold > inputs.offload_threshold:
        parts.append(f"threshold raised, {inputs.sram_usage:.0%} of the slots are in use")
    if state.dropped_classes:
        parts.append(f"{state.dropped_classes} classes forgotten")
    return "; ".join(parts)


def _stretches(ticks: Sequence[Tick]) -> list[int]:
    """Ticks in a row with the same threshold and the same word on admission have the same number."""
    # As text, for no NaN is equal to another.
    keys = [(str(tick.threshold), tick.admitted) for tick in ticks]
    return list(accumulate((one != other for one, other in pairwise(keys)), initial=0))


def _told(
    ticks: Sequence[Tick], stretches: Sequence[int], first: int, record: ClassHistory, since: float, every: bool
) -> Iterator[int]:
    """The numbers of the ticks that `explain` tells of a class."""
    last: tuple[int, ...] = ()
    for number in range(max(record.first, first), record.end):
        if ticks[number - first].time < since:
            continue
        key = (*record.codes(number), stretches[number - first])
        if every or key != last or number == record.end - 1:
            yield number
            last = key


def _row(tick: Tick, operation: OperationClass, record: ClassHistory, number: int) -> Explained:
    score, path, reason = record.verdict(number)
    inputs = tick.inputs
    found = terms(operation.bytes, inputs.link)
    return Explained(
        time=tick.time,
        operation=operation,
        from_operation=record.from_operation(number),
        path=path,
        reason=in_words(reason, score, tick.threshold, inputs.sram_usage),
        ranks=inputs.link.ranks,
        bandwidth=inputs.link.bandwidth,
        processing_rate=inputs.link.processing_rate,
        queue_delay=inputs.link.queue_delay,
        endpoint_time=found.endpoint_time,
        switch_time=found.switch_time,
        score=score,
        offload_threshold=inputs.offload_threshold,
        threshold=tick.threshold,
        sram_usage=inputs.sram_usage,
        admitted=tick.admitted,
    )
