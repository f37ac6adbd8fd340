"""Endpoints within torch.distributed: a gloo group of its own, so that nothing else is ever between its operations."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from cais_tools.errors import Unreachable, UsageError
from cais_tools.training.operations import BFLOAT16, Operation, Tensor

__all__ = ["GlooEndpoints"]

_REDUCTIONS = {
    "ALL_REDUCE": dist.ReduceOp.SUM,
    "ALL_REDUCE_MAX": dist.ReduceOp.MAX,
    "ALL_REDUCE_MIN": dist.ReduceOp.MIN,
    "ALL_REDUCE_PRODUCT": dist.ReduceOp.PRODUCT,
    "REDUCE_SCATTER": dist.ReduceOp.SUM,
}


class GlooEndpoints:
    """`Endpoints` over gloo. It connects when it is made: all ranks at once."""

    def __init__(self, store: Any, rank: int, size: int, timeout: datetime.timedelta) -> None:
        self._rank, self._size = rank, size
        self._group: Any = dist.ProcessGroupGloo(dist.PrefixStore("cais/endpoints", store), rank, size, timeout)

    def run(self, operation: Operation, number: int) -> Tensor:
        """As `Endpoints.run`. Raises Unreachable, UsageError for a type that gloo does not know."""
        group = self._group
        if group is None:
            raise Unreachable("the endpoints' connections are closed")
        try:
            return _bits(self._run(group, operation))
        except RuntimeError as error:
            reason = (str(error).strip() or "failed").splitlines()[0]
            if "scalar type" in reason:
                raise UsageError(f"gloo does no {operation.kind.lower()} of {operation.dtype}") from error
            raise Unreachable(f"gloo: {reason}") from error

    def _run(self, group: Any, operation: Operation) -> torch.Tensor:
        # gloo works in place, and the input is still needed should it fail.
        tensor = _tensor(operation)
        if operation.kind == "BROADCAST":
            options = dist.BroadcastOptions()
            options.rootRank, options.rootTensor = operation.root, 0
            group.broadcast([tensor], options).wait()
            return tensor
        if operation.kind == "ALL_GATHER":
            parts = [torch.empty_like(tensor) for _ in range(self._size)]
            group.allgather([parts], [tensor]).wait()
            return torch.stack(parts)
        options = dist.AllreduceOptions()
        options.reduceOp = _REDUCTIONS[operation.kind]
        group.allreduce([tensor], options).wait()
        return tensor.chunk(self._size)[self._rank].clone() if operation.kind == "REDUCE_SCATTER" else tensor

    def close(self) -> None:
        """Let go of the group; gloo itself ends whoever waits in it when a rank is gone, or after its time-out."""
        self._group = None


def _tensor(operation: Operation) -> torch.Tensor:
    tensor = torch.from_numpy(np.array(operation.array))
    return tensor.view(torch.bfloat16) if operation.dtype == BFLOAT16 else tensor


def _bits(tensor: torch.Tensor) -> Tensor:
    return tensor.view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()
