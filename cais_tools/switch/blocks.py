"""The basic blocks of an action: it is cut at its jumps and where they lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cais_tools.switch.primitives import Jump, JumpIfZero, Primitive

if TYPE_CHECKING:
    from cais_tools.switch.expressions import Expr

__all__ = ["BasicBlock", "basic_blocks"]


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Steps without jumps, from index `start` of the action on.

    Then the block that starts at `next` follows, or, where `condition` is there and zero, the one at `otherwise`. The
    number of steps of the action stands for its end.
    """

    start: int
    steps: tuple[Primitive, ...]
    next: int
    condition: Expr | None = None
    otherwise: int = 0


def basic_blocks(steps: Sequence[Primitive]) -> tuple[BasicBlock, ...]:
    """All blocks in order; none for an action that does nothing."""
    if not steps:
        return ()
    leaders = {0}
    for place, step in enumerate(steps):
        if isinstance(step, Jump | JumpIfZero):
            leaders |= {step.target, place + 1}
    starts = sorted(each for each in leaders if each < len(steps))
    ends = [*starts[1:], len(steps)]
    return tuple(_block(steps, start, end) for start, end in zip(starts, ends, strict=True))


def _block(steps: Sequence[Primitive], start: int, end: int) -> BasicBlock:
    """A jump can only be its last step: the one behind a jump starts a block."""
    last = steps[end - 1]
    if isinstance(last, Jump):
        return BasicBlock(start, tuple(steps[start : end - 1]), last.target)
    if isinstance(last, JumpIfZero):
        return BasicBlock(start, tuple(steps[start : end - 1]), end, last.condition, last.target)
    return BasicBlock(start, tuple(steps[start:end]), end)
