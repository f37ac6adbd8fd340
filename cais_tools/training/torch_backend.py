"""The backend `cais` of torch.distributed: all-reduces go where the group has agreed, everything else to gloo or NCCL.

The process group is one in Python that registers gloo (and NCCL for CUDA) as its own backends, so that whatever is not
overridden here works as it does there: functional collectives, DeviceMesh, DTensor, DDP.
"""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportUntypedBaseClass=false, reportAttributeAccessIssue=false

from __future__ import annotations

import datetime
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import torch
import torch.distributed as dist

from cais_tools.errors import CaisError, Unreachable, UsageError
from cais_tools.training import api
from cais_tools.training.context import Context, Joined, Wanted
from cais_tools.training.gloo import GlooEndpoints
from cais_tools.training.operations import Operation, Tensor
from cais_tools.training.tensors import array_of, write

__all__ = ["CaisProcessGroup", "create"]

log = logging.getLogger(__name__)

_KINDS = {"SUM": "ALL_REDUCE", "MAX": "ALL_REDUCE_MAX", "MIN": "ALL_REDUCE_MIN", "PRODUCT": "ALL_REDUCE_PRODUCT"}
_LARGEST_WAIT = datetime.timedelta(minutes=5)
_PATIENCE = 5.0


class CaisWork(dist._Work):
    """An operation under way. `wait` raises what went wrong: a future's exception would pass for success."""

    def __init__(self, future: Future[Tensor], tensors: list[torch.Tensor], done: Callable[[CaisWork], None]) -> None:
        super().__init__()
        self._future, self._tensors = future, tensors
        devices = sorted({tensor.device for tensor in tensors if tensor.device.type == "cuda"}, key=str)
        self._torch_future: Any = torch.futures.Future(devices=devices) if devices else torch.futures.Future()
        future.add_done_callback(lambda _: self._finish(done))

    def _finish(self, done: Callable[[CaisWork], None]) -> None:
        error = self._future.exception()
        if error is None:
            self._torch_future.set_result(self._tensors)
        else:
            self._torch_future.set_exception(error)
        done(self)

    def wait(self, timeout: datetime.timedelta = datetime.timedelta(0)) -> bool:
        seconds = timeout.total_seconds() if timeout else 0.0
        self._future.result(seconds or None)
        return True

    def is_completed(self) -> bool:
        return self._future.done()

    def is_success(self) -> bool:
        return self._future.done() and self._future.exception() is None

    def exception(self) -> Any:
        return self._future.exception() if self._future.done() else None

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return self._tensors

    def get_future(self) -> Any:
        # Through `then` an exception becomes one of C++, which DDP's reducer throws; ours alone it would not see.
        return self._torch_future.then(lambda future: future.value())


class CaisProcessGroup(dist.ProcessGroup):
    """`joined` None: this group has no switch, for a reason that has been logged, and is gloo or NCCL alone."""

    def __init__(self, store: Any, rank: int, size: int, timeout: datetime.timedelta) -> None:
        super().__init__(rank, size)
        self._plain = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)
        kinds = dist.ProcessGroup.BackendType
        self._register_backend(torch.device("cpu"), kinds.GLOO, self._plain)
        if torch.cuda.is_available() and dist.is_nccl_available():
            nccl = dist.ProcessGroupNCCL(dist.PrefixStore("nccl", store), rank, size, timeout)
            self._register_backend(torch.device("cuda"), kinds.NCCL, nccl)
        self._set_default_backend(kinds.GLOO)
        self._under_way: set[CaisWork] = set()
        self.joined = _join(store, rank, size, timeout)

    def getBackendName(self) -> str:  # noqa: N802 - torch calls it so
        return "cais"

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        """In place. One tensor (torch allows a list, and every caller gives one)."""
        given = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        options = opts if isinstance(opts, dist.AllreduceOptions) else _options(opts)
        kind = _KINDS.get(_name_of(options.reduceOp))
        if self.joined is None or kind is None or len(given) != 1 or not _is_dense(given[0]):
            return self._elsewhere(given).allreduce(given, options)
        tensor = given[0]
        operation = Operation(kind, *array_of(tensor))
        # gloo by itself gets strided tensors wrong.
        if operation.obstacle and tensor.is_contiguous():
            return self._elsewhere(given).allreduce(given, options)
        return self._submit(operation, tensor)

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        """In place."""
        given = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        options = opts if isinstance(opts, dist.BroadcastOptions) else dist.BroadcastOptions()
        if self.joined is None or len(given) != 1 or not _is_dense(given[0]):
            return self._elsewhere(given).broadcast(given, options)
        array, dtype = array_of(given[0])
        return self._submit(Operation("BROADCAST", array, dtype, root=options.rootRank), given[0])

    def _submit(self, operation: Operation, tensor: torch.Tensor) -> CaisWork:
        assert self.joined is not None
        future = self.joined.group.submit(operation, lambda result: write(tensor, result))
        work = CaisWork(future, [tensor], self._under_way.discard)
        # torch 2.6 keeps only the C++ half of a Work alive.
        if not future.done():
            self._under_way.add(work)
        return work

    def _elsewhere(self, tensors: Sequence[torch.Tensor]) -> Any:
        return self._get_backend(tensors[0].device)

    def shutdown(self) -> None:
        """Leave the group in order."""
        joined, self.joined = self.joined, None
        if joined is not None and api.is_initialized() and joined.group_id in api.current().groups:
            api.current().leave(joined.group_id, _PATIENCE)

    def abort(self) -> None:
        """Leave the group at once."""
        joined, self.joined = self.joined, None
        if joined is not None:
            joined.abort()
            if api.is_initialized():
                api.current().groups.pop(joined.group_id, None)


def create(options: Any, pg_options: Any = None) -> CaisProcessGroup:
    """What torch calls for `init_process_group("cais")` and `new_group(backend="cais")`. Foreign options do nothing."""
    if os.environ.get("TORCH_DISTRIBUTED_USE_TORCHCOMMS") and _version() < (2, 15):
        warnings.warn("TORCH_DISTRIBUTED_USE_TORCHCOMMS takes the backend cais away before torch 2.15", stacklevel=2)
    return CaisProcessGroup(options.store, options.group_rank, options.group_size, options.timeout)


def _join(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> Joined | None:
    """Join the group of the controller, all ranks or none: each says in the store how far it has come."""
    if size == 1:
        return None
    ranks: list[int] = []
    try:
        store.set(f"cais/global/{rank}", str(_global_rank(rank)))
        store.wait([f"cais/global/{each}" for each in range(size)], min(timeout, _LARGEST_WAIT))
        ranks = [int(store.get(f"cais/global/{each}")) for each in range(size)]
        if not api.is_initialized():
            api.init(timeout=min(timeout, _LARGEST_WAIT).total_seconds())
        problem = ""
    except CaisError as error:
        problem = error.message
    problem = _agree(store, "init", rank, size, problem)
    if problem:
        log.warning("cais: this group does without a switch: %s", problem)
        return None
    return _new_group(store, rank, size, ranks, timeout)


def _new_group(store: Any, rank: int, size: int, ranks: list[int], timeout: datetime.timedelta) -> Joined | None:
    context = api.current()
    joined = None
    try:
        if rank == 0:
            store.set("cais/group_id", str(_free_group(context)))
        group_id = int(store.get("cais/group_id"))
        if group_id < 0:
            raise Unreachable("rank 0 has found no number for the group")
        wanted = Wanted(
            tuple(ranks),
            group_id,
            endpoints=lambda own: GlooEndpoints(store, own, size, timeout),
            given_up=lambda: store.get("cais/failed").decode() if store.check(["cais/failed"]) else "",
        )
        joined, problem = context.new_group(wanted), ""
    except CaisError as error:
        problem = error.message
        store.set("cais/failed", f"rank {rank}: {problem}")
        if rank == 0:
            store.set("cais/group_id", "-1")  # nobody waits for a number that never comes
    problem = _agree(store, "group", rank, size, problem)
    if not problem:
        return joined
    log.warning("cais: this group does without a switch: %s", problem)
    if joined is not None:
        joined.abort()
        context.groups.pop(joined.group_id, None)
    return None


def _free_group(context: Context) -> int:
    """The number of the group on the switch: CAIS_GROUP_ID, and then the next ones."""
    first = os.environ.get("CAIS_GROUP_ID", "0")
    if not first.isdigit():
        raise UsageError(f"CAIS_GROUP_ID: {first!r} is no number")
    return context.free_group(int(first))


def _agree(store: Any, step: str, rank: int, size: int, problem: str) -> str:
    """The first rank's problem that has one; empty: nobody has."""
    store.set(f"cais/{step}/{rank}", problem or "-")
    for each in range(size):
        said = store.get(f"cais/{step}/{each}").decode()
        if said != "-":
            return f"rank {each}: {said}"
    return ""


def _global_rank(rank: int) -> int:
    return dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", rank))


def _options(op: Any) -> Any:
    options = dist.AllreduceOptions()
    if op is not None:
        options.reduceOp = op
    return options


def _name_of(op: Any) -> str:
    """SUM of ReduceOp.SUM, RedOpType.SUM or <RedOpType.SUM: 0>."""
    return str(getattr(op, "op", op)).rpartition(".")[2].partition(":")[0].strip("> ")


def _is_dense(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_complex() and tensor.numel() > 0


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
