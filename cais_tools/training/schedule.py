"""Which way each operation of a group takes. Equal on all ranks, so what it says follows from the operation alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Decision", "OperationClass", "Route", "Schedule", "Segment"]

_KEPT = 64


@dataclass(frozen=True, slots=True)
class OperationClass:
    """Operations that are decided alike: `kind` as the controller's protocol has it, NumPy's `dtype` (or bfloat16) and
    the size of the tensor in bytes.
    """

    kind: str
    dtype: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.kind.lower()} of {self.bytes:,} bytes of {self.dtype}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the controller said about a block: without `offload` everything stays on the endpoints.

    `overrides` are classes with whether they go to the switch; any other does where its tensor has at least
    `break_even[kind]` bytes. A kind that is not there never does.
    """

    offload: bool
    reason: str = ""
    overrides: tuple[tuple[OperationClass, bool], ...] = ()
    break_even: tuple[tuple[str, int], ...] = ()

    def offloads(self, operation: OperationClass) -> bool:
        if not self.offload:
            return False
        for known, offload in self.overrides:
            if known == operation:
                return offload
        return any(kind == operation.kind and operation.bytes >= least for kind, least in self.break_even)


@dataclass(frozen=True, slots=True)
class Segment:
    """Operations [first, first + count), what was decided about them, and the job that they use on the switch.

    `epoch` 0: there is none, all of them stay on the endpoints. With `prove`, the number of a request, a test vector is
    reduced on the switch before the first of them, under `prove_epoch`.
    """

    first: int
    count: int
    decision: Decision
    epoch: int = 0
    prove: int = 0
    prove_epoch: int = 0

    @property
    def end(self) -> int:
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class Route:
    """Where an operation goes: to the switch under `epoch`, or to the endpoints (0) for `reason`."""

    epoch: int
    reason: str = ""
    segment: Segment = field(default=Segment(0, 0, Decision(False)))

    @property
    def is_switch(self) -> bool:
        return self.epoch != 0


class Schedule:
    """The segments that are known, without gaps; `horizon` is the first operation that none covers."""

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self._segments: list[Segment] = []
        self.horizon = 0
        for segment in segments:
            self.append(segment)

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    def append(self, segment: Segment) -> None:
        """Take a segment in; from its first operation on it replaces what was known."""
        while self._segments and self._segments[-1].first >= segment.first:
            self._segments.pop()
        if self._segments and self._segments[-1].end > segment.first:
            last = self._segments.pop()
            self._segments.append(
                Segment(last.first, segment.first - last.first, last.decision, last.epoch, last.prove, last.prove_epoch)
            )
        self._segments.append(segment)
        del self._segments[:-_KEPT]
        self.horizon = segment.end

    def decision_at(self, number: int) -> Decision:
        """What was decided about an operation; of the last segment where none covers it."""
        covering = (segment for segment in self._segments if segment.first <= number < segment.end)
        return next(covering, self._segments[-1]).decision

    def route(self, number: int, operation: OperationClass) -> Route | None:
        """None where nobody has said yet."""
        for segment in reversed(self._segments):
            if segment.first <= number < segment.end:
                return _route(segment, operation)
        return None


def _route(segment: Segment, operation: OperationClass) -> Route:
    decision = segment.decision
    if not decision.offload:
        return Route(0, decision.reason, segment)
    if not decision.offloads(operation):
        return Route(0, "the endpoints are as fast for this size", segment)
    if not segment.epoch:
        return Route(0, "the group has no numbers for the switch yet", segment)
    return Route(segment.epoch, "", segment)
