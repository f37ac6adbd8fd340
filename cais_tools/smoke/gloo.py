"""The same tensors through torch.distributed gloo: the original's own first check of a new installation."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

import datetime
import importlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cais_tools.errors import Unreachable, UsageError
from cais_tools.smoke.plan import Step, Tensor
from cais_tools.wire import Op

__all__ = ["Gloo", "float_tolerance"]

_TIMEOUT = datetime.timedelta(seconds=30)
_REDUCTIONS = {Op.ALLREDUCE_MAX: "MAX", Op.ALLREDUCE_MIN: "MIN", Op.ALLREDUCE_PRODUCT: "PRODUCT"}


class Gloo:
    """Ranks of a gloo group, each in a thread of this process."""

    def __init__(self, ranks: int) -> None:
        try:
            self._torch: Any = importlib.import_module("torch")
            self._dist: Any = importlib.import_module("torch.distributed")
        except ImportError as error:
            raise UsageError("--against gloo needs torch", hint="pip install 'cais-tools[torch]'") from error
        if not self._dist.is_available() or not self._dist.is_gloo_available():
            raise UsageError("--against gloo: this torch was built without gloo")
        store = self._dist.HashStore()
        self._threads = ThreadPoolExecutor(ranks, thread_name_prefix="gloo")
        self._ranks = range(ranks)
        self._groups: list[Any] = self._all(lambda rank: self._dist.ProcessGroupGloo(store, rank, ranks, _TIMEOUT))

    def run(self, step: Step) -> tuple[list[Tensor | None], float]:
        """Return what each rank has at the end, as `reference.expected` does, and the seconds that it took."""
        inputs = [self._torch.from_numpy(values.copy()) for values in step.inputs]
        started = time.perf_counter()
        outcomes = self._all(lambda rank: self._collective(step, rank, inputs[rank]))
        seconds = time.perf_counter() - started
        return [None if outcome is None else outcome.numpy() for outcome in outcomes], seconds

    def close(self) -> None:
        self._threads.shutdown()
        self._groups.clear()

    def _all(self, function: Callable[[int], Any]) -> list[Any]:
        """Run for all ranks at once: each waits for the others."""
        try:
            return list(self._threads.map(function, self._ranks))
        except RuntimeError as error:
            raise Unreachable(f"gloo: {(str(error).strip() or 'failed').splitlines()[0]}") from error

    def _collective(self, step: Step, rank: int, tensor: Any) -> Any:
        operation, group, dist = step.operation, self._groups[rank], self._dist
        if operation.op is Op.ALLGATHER:
            parts = [self._torch.empty_like(tensor) for _ in range(step.ranks)]
            group.allgather([parts], [tensor]).wait()
            return self._torch.cat(parts)
        if operation.op is Op.BROADCAST:
            options = dist.BroadcastOptions()
            options.rootRank, options.rootTensor = step.root, 0
            group.broadcast([tensor], options).wait()
            return tensor
        if operation.rooted:
            options = dist.ReduceOptions()
            options.rootRank, options.rootTensor = step.root, 0
            group.reduce([tensor], options).wait()
            return tensor if rank == step.root else None
        if operation.sharded:
            parts = list(tensor.chunk(step.ranks))
            output = self._torch.empty_like(parts[rank])
            group.reduce_scatter([output], [parts]).wait()
            return output
        options = dist.AllreduceOptions()
        options.reduceOp = getattr(dist.ReduceOp, _REDUCTIONS.get(operation.op, "SUM"))
        group.allreduce([tensor], options).wait()
        return tensor


def float_tolerance(step: Step) -> float:
    """How far a float32 sum may be off when it is added up in any order: n - 1 roundings of the largest magnitude."""
    largest = float(np.max(np.sum([np.abs(values.astype(np.float64)) for values in step.inputs], axis=0)))
    return step.ranks * float(np.finfo(np.float32).eps) * largest
