"""What each rank must have at the end, from NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from cais_tools.smoke.plan import Operation, Step, Tensor
from cais_tools.wire import Op

__all__ = ["combine", "expected", "shard"]


def combine(op: Op, shares: Sequence[Tensor]) -> Tensor:
    """Combine shares element by element: int32 wraps, float32 is added up in float64."""
    if shares[0].dtype == np.float32:
        return np.sum([share.astype(np.float64) for share in shares], axis=0)
    function: dict[Op, Any] = {
        Op.ALLREDUCE_MAX: np.maximum,
        Op.ALLREDUCE_MIN: np.minimum,
        Op.ALLREDUCE_PRODUCT: np.multiply,
    }
    with np.errstate(over="ignore"):
        return reduce(function.get(op, np.add), shares)


def shard(operation: Operation, elements: int, ranks: int, rank: int) -> slice:
    """The part of the whole tensor that `rank` owns."""
    if not operation.sharded:
        return slice(0, elements)
    part = elements // ranks
    return slice(rank * part, (rank + 1) * part)


def expected(step: Step) -> list[Tensor | None]:
    """Return what each rank must get; None for a rank that gets nothing. Sums of float32 are exact, in float64."""
    operation, ranks = step.operation, range(step.ranks)
    if operation.op is Op.ALLGATHER:
        return [np.concatenate(step.inputs)] * step.ranks
    if operation.op is Op.BROADCAST:
        return [step.inputs[step.root]] * step.ranks
    whole = combine(operation.op, step.inputs)
    if operation.rooted:
        return [whole if rank == step.root else None for rank in ranks]
    return [whole[shard(operation, len(whole), step.ranks, rank)] for rank in ranks]
