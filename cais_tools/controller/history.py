"""What was decided in the last minutes, and from what; in memory that is bounded.

A tick's inputs are kept once for a group, the score, path and reason once for each of its classes: 78 and 10
bytes. Rows of a ring are numbered from 0 on, as the ticks of its group are; the oldest make room.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from cais_tools.controller.scoring import Link, Path
from cais_tools.controller.verdict import GroupInputs, Reason, Verdict

__all__ = ["KEPT_TICKS", "ClassHistory", "GroupHistory", "Ring", "Run", "Tick"]

KEPT_TICKS: Final = 3000
"""Five minutes of a tick each 100 ms."""


class Ring:
    """The newest `capacity` rows, packed as `struct` has it in `form`. It grows as it is filled."""

    def __init__(self, form: str, capacity: int, first: int = 0) -> None:
        self._form = struct.Struct(form)
        self._rows = bytearray()
        self._capacity = capacity
        self._begin = first
        self.end = first
        """The number that the next row gets."""

    @property
    def first(self) -> int:
        """The number of the oldest row that is kept."""
        return max(self._begin, self.end - self._capacity)

    def append(self, *row: float) -> None:
        if self.end - self._begin < self._capacity:
            self._rows += self._form.pack(*row)
        else:
            self._form.pack_into(self._rows, self._place(self.end), *row)
        self.end += 1

    def row(self, number: int) -> tuple[Any, ...]:
        if not self.first <= number < self.end:
            raise IndexError(f"row {number} is not among {self.first} to {self.end - 1}")
        return self._form.unpack_from(self._rows, self._place(number))

    def _place(self, number: int) -> int:
        return (number - self._begin) % self._capacity * self._form.size


@dataclass(frozen=True, slots=True)
class Tick:
    """The inputs of a group at one tick (without the classes seen), and what followed for all of its classes.

    `time` as the caller's clock has it; `threshold` is the one in force; `raised`: because the switch is crowded.
    """

    time: float
    inputs: GroupInputs
    threshold: float
    raised: bool
    admitted: bool


class GroupHistory:
    """The ticks of one group."""

    def __init__(self, kept: int = KEPT_TICKS) -> None:
        self._ring = Ring("=dd??qdddddd???B", kept)

    @property
    def first(self) -> int:
        return self._ring.first

    @property
    def end(self) -> int:
        return self._ring.end

    def append(self, now: float, inputs: GroupInputs, *, threshold: float, raised: bool, admitted: bool) -> None:
        link = inputs.link
        self._ring.append(
            now,
            threshold,
            raised,
            admitted,
            link.ranks,
            link.bandwidth,
            link.processing_rate,
            link.queue_delay,
            inputs.sram_usage,
            inputs.offload_threshold,
            inputs.sram_usage_limit,
            inputs.reachable,
            inputs.drained,
            inputs.proved,
            inputs.wanted,
        )

    def tick(self, number: int) -> Tick:
        now, threshold, raised, admitted, *of_inputs = self._ring.row(number)
        ranks, bandwidth, rate, delay, sram_usage, offload_threshold, limit, *of_switch, wanted = of_inputs
        reachable, drained, proved = of_switch
        inputs = GroupInputs(
            link=Link(ranks, bandwidth, rate, delay),
            sram_usage=sram_usage,
            reachable=reachable,
            drained=drained,
            proved=proved,
            wanted=Path(wanted),
            offload_threshold=offload_threshold,
            sram_usage_limit=limit,
        )
        return Tick(now, inputs, threshold, raised, admitted)


@dataclass(slots=True)
class Run:
    """Ticks in a row with the same path: from tick `first` on, in force from the operation `from_operation` on; None
    where no block of operations was handed out meanwhile.
    """

    first: int
    path: Path
    from_operation: int | None = None


class ClassHistory:
    """The verdicts on one class: one for each tick of its group since it was first seen."""

    def __init__(self, first: int, kept: int = KEPT_TICKS) -> None:
        self._ring = Ring("=dBB", kept, first)
        self._runs: deque[Run] = deque(maxlen=kept)

    @property
    def first(self) -> int:
        return self._ring.first

    @property
    def end(self) -> int:
        return self._ring.end

    @property
    def path(self) -> Path | None:
        """Where it goes now; None before the first verdict."""
        return self._runs[-1].path if self._runs else None

    def append(self, verdict: Verdict) -> None:
        if self.path is not verdict.path:
            self._runs.append(Run(self._ring.end, verdict.path))
        self._ring.append(verdict.terms.score, verdict.path, verdict.reason)

    def verdict(self, number: int) -> tuple[float, Path, Reason]:
        """Score, path and reason at a tick."""
        score, path, reason = self._ring.row(number)
        return score, Path(path), Reason(reason)

    def codes(self, number: int) -> tuple[int, int]:
        """Path and reason at a tick, as numbers: to compare many."""
        _, path, reason = self._ring.row(number)
        return path, reason

    def from_operation(self, number: int) -> int | None:
        """From which operation on the path of this tick holds, or held; None where it never did."""
        for run in reversed(self._runs):
            if run.first <= number:
                return run.from_operation
        return None

    def hold(self, operation: int) -> None:
        """What was decided last holds from this operation on, if it did not before."""
        if self._runs and self._runs[-1].from_operation is None:
            self._runs[-1].from_operation = operation
