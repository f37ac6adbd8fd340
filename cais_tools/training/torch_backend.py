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
import secrets
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import AllgatherOptions

from cais_tools.errors import CaisError, Unreachable
from cais_tools.training import api
from cais_tools.training.context import Joined, Wanted
from cais_tools.training.gloo import GlooEndpoints
from cais_tools.training.operations import Operation, Tensor
from cais_tools.training.tensors import array_of, write

__all__ = ["CaisProcessGroup", "create"]

log = logging.getLogger(__name__)

_KINDS = {
    "SUM": "ALL_REDUCE",
    "AVG": "ALL_REDUCE",
    "MAX": "ALL_REDUCE_MAX",
    "MIN": "ALL_REDUCE_MIN",
    "PRODUCT": "ALL_REDUCE_PRODUCT",
}
_LARGEST_WAIT = datetime.timedelta(minutes=5)
_PATIENCE = 5.0
_NONE = -1


class CaisWork(dist._Work):
    """An operation under way. `wait` raises what went wrong: a future's exception would pass for success."""

    def __init__(self, future: Future[Tensor], tensors: list[torch.Tensor], under_way: set[CaisWork]) -> None:
        super().__init__()
        self._future, self._tensors = future, tensors
        devices = sorted({tensor.device for tensor in tensors if tensor.device.type == "cuda"}, key=str)
        self._torch_future: Any = torch.futures.Future(devices=devices) if devices else torch.futures.Future()
        # torch 2.6 keeps only the C++ half of a Work alive.
        under_way.add(self)
        future.add_done_callback(lambda _: self._finish(under_way))

    def _finish(self, under_way: set[CaisWork]) -> None:
        error = self._future.exception()
        if error is None:
            self._torch_future.set_result(self._tensors)
        else:
            self._torch_future.set_exception(error)
        under_way.discard(self)

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
        nccl = None
        if torch.cuda.is_available() and dist.is_nccl_available():
            nccl = dist.ProcessGroupNCCL(dist.PrefixStore("nccl", store), rank, size, timeout)
        # A group without our overrides: what is not for us goes there, by whatever names this torch has.
        self._others = dist.ProcessGroup(rank, size)
        kinds = dist.ProcessGroup.BackendType
        for group in (self, self._others):
            group._register_backend(torch.device("cpu"), kinds.GLOO, self._plain)
            if nccl is not None:
                group._register_backend(torch.device("cuda"), kinds.NCCL, nccl)
            group._set_default_backend(kinds.GLOO)
        self._under_way: set[CaisWork] = set()
        # Now, in the order of torch's own calls: later, threads would meet in the store, and wait for each other.
        self.joined = _join(store, rank, size, timeout)

    def getBackendName(self) -> str:  # noqa: N802 - torch calls it so
        return "cais"

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        """In place. One tensor (torch allows a list, and every caller gives one)."""
        given = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        options = opts if isinstance(opts, dist.AllreduceOptions) else _options(opts)
        name = _name_of(options.reduceOp)
        if len(given) != 1 or not self._takes(name, given):
            return self._elsewhere(given).allreduce(given, options)
        tensor = given[0]
        operation = Operation(_KINDS[name], *array_of(tensor))
        # gloo by itself gets strided tensors wrong.
        if operation.obstacle and tensor.is_contiguous():
            return self._elsewhere(given).allreduce(given, options)
        return self._submit(operation, tensor, average=name == "AVG")

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        """In place."""
        given = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        options = opts if isinstance(opts, dist.BroadcastOptions) else dist.BroadcastOptions()
        if len(given) != 1 or not self._takes("SUM", given):
            return self._elsewhere(given).broadcast(given, options)
        array, dtype = array_of(given[0])
        return self._submit(Operation("BROADCAST", array, dtype, root=options.rootRank), given[0])

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Any:
        """`output` gets this rank's part of the sum."""
        options = opts if isinstance(opts, dist.ReduceScatterOptions) else dist.ReduceScatterOptions()
        name = _name_of(options.reduceOp)
        if name in ("SUM", "AVG") and self._takes(name, [tensor, output]) and _fits(tensor, output, self.size()):
            array, dtype = array_of(tensor)
            operation = Operation("REDUCE_SCATTER", array.reshape(-1), dtype)
            if not operation.obstacle:
                return self._submit(operation, output, average=name == "AVG")
        return self._elsewhere([tensor])._reduce_scatter_base(output, tensor, options)

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Any:
        """`output` gets the tensors of all ranks, one after another."""
        options = opts if isinstance(opts, AllgatherOptions) else AllgatherOptions()
        if self._takes("SUM", [tensor, output]) and _fits(output, tensor, self.size()):
            array, dtype = array_of(tensor)
            return self._submit(Operation("ALL_GATHER", array.reshape(-1), dtype), output)
        return self._elsewhere([tensor])._allgather_base(output, tensor, options)

    def reduce_scatter_single_coalesced(self, outputs: Any, tensors: Any, opts: Any = None) -> Any:
        """What the functional collectives call, with one tensor."""
        if len(tensors) == 1:
            return self.reduce_scatter_single(outputs[0], tensors[0], opts)
        options = opts if isinstance(opts, dist.ReduceScatterOptions) else dist.ReduceScatterOptions()
        return _method(self._others, "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced")(
            outputs, tensors, options
        )

    def all_gather_single_coalesced(self, outputs: Any, tensors: Any, opts: Any = None) -> Any:
        """What the functional collectives call, with one tensor."""
        if len(tensors) == 1:
            return self.all_gather_single(outputs[0], tensors[0], opts)
        options = opts if isinstance(opts, AllgatherOptions) else AllgatherOptions()
        return _method(self._others, "all_gather_single_coalesced", "allgather_into_tensor_coalesced")(
            outputs, tensors, options
        )

    # As torch has called them before 2.13.
    _reduce_scatter_base = reduce_scatter_single
    _allgather_base = all_gather_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def _takes(self, name: str, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether the group may do it: what is not for it goes to gloo or NCCL, as if there were no group."""
        if name not in _KINDS or not all(map(_is_dense, tensors)) or len({tensor.dtype for tensor in tensors}) > 1:
            return False
        return self.joined is not None and (name != "AVG" or tensors[0].is_floating_point())

    def _submit(self, operation: Operation, tensor: torch.Tensor, *, average: bool = False) -> CaisWork:
        assert self.joined is not None

        def deliver(result: Tensor) -> None:
            write(tensor, result)
            if average:
                with torch.no_grad():
                    tensor.div_(self.size())

        return CaisWork(self.joined.group.submit(operation, deliver), [tensor], self._under_way)

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
            _init(store, rank, size, timeout.total_seconds())
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
        number = None if rank == 0 else int(store.get("cais/group_id"))
        if number == _NONE:
            raise Unreachable("rank 0 could not create the group")
        wanted = Wanted(
            tuple(ranks),
            number,
            endpoints=lambda own: GlooEndpoints(store, own, size, timeout),
            given_up=lambda: store.get("cais/failed").decode() if store.check(["cais/failed"]) else "",
            created=lambda number: store.set("cais/group_id", str(number)),
        )
        joined, problem = context.new_group(wanted), ""
    except CaisError as error:
        problem = error.message
        store.set("cais/failed", f"rank {rank}: {problem}")
        if rank == 0:
            store.set("cais/group_id", str(_NONE))  # nobody waits for a number that never comes
    problem = _agree(store, "group", rank, size, problem)
    if not problem:
        return joined
    log.warning("cais: this group does without a switch: %s", problem)
    if joined is not None:
        joined.abort()
        context.groups.pop(joined.group_id, None)
    return None


def _agree(store: Any, step: str, rank: int, size: int, problem: str) -> str:
    """The first rank's problem that has one; empty: nobody has."""
    store.set(f"cais/{step}/{rank}", problem or "-")
    for each in range(size):
        said = store.get(f"cais/{step}/{each}").decode()
        if said != "-":
            return f"rank {each}: {said}"
    return ""


def _init(store: Any, rank: int, size: int, timeout: float) -> None:
    """Say who this process is, as torch knows it: nobody need have set RANK."""
    if dist.is_initialized():
        store, size = dist.distributed_c10d._get_default_store(), dist.get_world_size()
    name = f"torch-{secrets.token_hex(8)}"
    job = None if _has_rendezvous() else store.compare_set("cais/job", "", name).decode()
    api.init(rank=_global_rank(rank), world_size=size, job_id=job, timeout=timeout)


def _has_rendezvous() -> bool:
    return any(name in os.environ for name in ("CAIS_JOB", "MASTER_PORT", "TORCHELASTIC_RUN_ID"))


def _global_rank(rank: int) -> int:
    return dist.get_rank() if dist.is_initialized() else rank


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


def _fits(whole: torch.Tensor, part: torch.Tensor, ranks: int) -> bool:
    """Whether both are what they must be; if not, gloo or NCCL say so in their own words."""
    return whole.numel() == part.numel() * ranks and whole.is_contiguous() and part.is_contiguous()


def _method(group: Any, name: str, older: str) -> Any:
    return getattr(group, name, None) or getattr(group, older)


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
