"""What a training script calls: `import cais`."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from cais_tools.config import TlsFiles, find_config, read_config
from cais_tools.config.settings import resolve
from cais_tools.controller.client import ControllerClient
from cais_tools.controller.convert import settings_to
from cais_tools.controller.record import SETTINGS
from cais_tools.errors import UsageError
from cais_tools.training.context import Context, Identity, Joined, Wanted, own_address
from cais_tools.training.operations import Operation, Tensor
from cais_tools.training.stats import GroupReport, report_of
from cais_tools.training.tensors import array_of, empty_like, write

__all__ = [
    "MAX",
    "MIN",
    "PRODUCT",
    "SUM",
    "Handle",
    "all_gather",
    "all_reduce",
    "backend",
    "broadcast",
    "configure",
    "init",
    "is_initialized",
    "new_group",
    "reduce_scatter",
    "shutdown",
    "stats",
    "synchronize",
]

backend = "cais"
"""The name of the backend for `torch.distributed.init_process_group` and `new_group`."""

SUM, MAX, MIN, PRODUCT = "ALL_REDUCE", "ALL_REDUCE_MAX", "ALL_REDUCE_MIN", "ALL_REDUCE_PRODUCT"

_OPERATIONS = {
    "SUM": SUM,
    "MAX": MAX,
    "MIN": MIN,
    "PRODUCT": PRODUCT,
    **{kind: kind for kind in (SUM, MAX, MIN, PRODUCT)},
}
_PATIENCE = 5.0

_lock = threading.Lock()
_context: Context | None = None
_preset: dict[str, Any] = {}


class Handle:
    """An operation that may still be under way; `wait` returns its result."""

    def __init__(self, future: Future[Tensor], result: Any) -> None:
        self._future, self._result = future, result

    def wait(self, timeout: float | None = None) -> Any:
        """The tensor with the result. Raises GroupFailed, and TimeoutError after `timeout` seconds."""
        self._future.result(timeout)
        return self._result

    def is_completed(self) -> bool:
        return self._future.done()


def init(
    controller_addr: str | None = None,
    *,
    rank: int | None = None,
    world_size: int | None = None,
    job_id: str | None = None,
    link: str | None = None,
    host: str | None = None,
    timeout: float = 1800.0,
    tls: TlsFiles | None = None,
) -> None:
    """Say who this process is, and find the controller.

    What is not given comes from the environment: CAIS_CONTROLLER, RANK and WORLD_SIZE (torchrun sets them), CAIS_JOB
    (else what torchrun says of the rendezvous), CAIS_LINK (this host's link to the switch; else as the controller's
    file says), CAIS_HOST (where other ranks reach this one); the controller's address from cais.toml, too. `timeout`,
    in seconds, is for how long an operation waits for other ranks.

    Raises UsageError for what is missing, Unreachable where no controller answers.
    """
    global _context
    with _lock:
        if _context is not None and _context.pid == os.getpid():
            raise UsageError("cais.init was called already", hint="cais.shutdown() comes before the next one")
        address = controller_addr or _configured_address()
        identity = _identity(rank, world_size, job_id, link, host, address)
        _context = Context(identity, ControllerClient(address, tls=tls), timeout)
    atexit.register(shutdown)
    if _preset:
        configure(_preset)


def _identity(
    rank: int | None, world_size: int | None, job_id: str | None, link: str | None, host: str | None, address: str
) -> Identity:
    environ = os.environ
    job = job_id or environ.get("CAIS_JOB") or _rendezvous(environ)
    own = host or environ.get("CAIS_HOST") or own_address(address.rpartition(":")[0].strip("[]"))
    return Identity(
        _number(rank, "RANK", "rank"),
        _number(world_size, "WORLD_SIZE", "world_size"),
        job,
        environ.get("CAIS_JOB_NAME", job),
        link or environ.get("CAIS_LINK", ""),
        own,
    )


def _number(given: int | None, variable: str, name: str) -> int:
    text = os.environ.get(variable, "") if given is None else str(given)
    if not text.isdigit():
        raise UsageError(f"cais.init does not know the {name}", hint=f"give {name}=, or set {variable} (torchrun does)")
    return int(text)


def _rendezvous(environ: Mapping[str, str]) -> str:
    run, restart = environ.get("TORCHELASTIC_RUN_ID"), environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    master = f"{environ.get('MASTER_ADDR', '')}:{environ.get('MASTER_PORT', '')}"
    if master == ":":
        raise UsageError("cais.init does not know the job", hint="give job_id=, the same on all ranks, or set CAIS_JOB")
    return f"{run or 'job'}-{master}-{restart}"


def _configured_address() -> str:
    """From CAIS_CONTROLLER or cais.toml; else this machine's."""
    path = find_config(None)
    settings = resolve({}, os.environ) if path is None else read_config(path).settings()
    host, port = str(settings["controller"].value), int(settings["controller_port"].value)
    return host if _has_port(host) else f"{host}:{port}"


def _has_port(address: str) -> bool:
    return address.rpartition(":")[2].isdigit() and (address.count(":") == 1 or "]:" in address)


def is_initialized() -> bool:
    return _context is not None and _context.pid == os.getpid()


def current() -> Context:
    """What `init` has set up in this process. Raises UsageError where it has not."""
    if _context is None:
        raise UsageError("cais.init has not been called", hint='cais.init(controller_addr="HOST:50051")')
    if _context.pid != os.getpid():
        raise UsageError(
            "cais.init was called in the parent of this process", hint="call it in the process that trains"
        )
    return _context


def new_group(
    ranks: Sequence[int] | None = None,
    group_id: int | None = None,
    *,
    ports: Sequence[int] = (),
    device: str = "",
) -> Joined | None:
    """A group of these ranks (all by default); None on a rank that is not in it.

    `group_id` is the group's number on the switch; by default that after the highest so far, so all ranks of the job
    have to make all groups in the same order. `ports` are the switch's, by rank, where the controller's file does not
    say; `device` which switch, where it knows several. Waits until all ranks of the group have called it.
    """
    context = current()
    members = tuple(range(context.identity.world_size) if ranks is None else ranks)
    if not members or len(set(members)) != len(members) or not set(members) <= set(range(context.identity.world_size)):
        raise UsageError(f"{list(members)} are no ranks of a job of {context.identity.world_size}")
    number = context.number_of(group_id)
    if context.identity.rank not in members:
        return None
    return context.new_group(Wanted(members, number, tuple(ports), device))


def all_reduce(
    tensor: Any,
    group: Joined | None = None,
    op: Any = SUM,
    async_op: bool = False,
    *,
    group_id: int | None = None,
    layer_id: int = 0,
) -> Any:
    """Reduce `tensor` over the ranks of the group, in place; also returned (with `async_op`, a `Handle`).

    `op`: SUM, MAX, MIN, PRODUCT, as a name or as torch's ReduceOp. Sums of int32 wrap and are exact; sums of floats
    have the error bound of `worker.blocks` (of `worker.halves` for 16 bits) on the switch. `layer_id` is for rules and
    statistics by layer.
    """
    joined = _group(group, group_id)
    array, dtype = array_of(tensor)
    operation = Operation(_operation(op), array, dtype, layer_id=layer_id)
    future = joined.group.submit(operation, lambda result: write(tensor, result))
    return _outcome(future, tensor, async_op)


def reduce_scatter(
    tensor: Any,
    group: Joined | None = None,
    async_op: bool = False,
    *,
    group_id: int | None = None,
    layer_id: int = 0,
) -> Any:
    """Add `tensor` up over the ranks; each gets its part along the first dimension, a new tensor."""
    joined = _group(group, group_id)
    array, dtype = array_of(tensor)
    ranks = len(joined.ranks)
    if array.ndim == 0 or array.shape[0] % ranks:
        raise UsageError(
            f"a tensor of shape {array.shape} cannot be scattered over {ranks} ranks",
            hint=f"the first dimension must be a multiple of {ranks}",
        )
    part = empty_like(tensor, (array.shape[0] // ranks, *array.shape[1:]))
    operation = Operation("REDUCE_SCATTER", array, dtype, layer_id=layer_id)
    future = joined.group.submit(operation, lambda result: write(part, result))
    return _outcome(future, part, async_op)


def all_gather(
    tensor: Any,
    group: Joined | None = None,
    async_op: bool = False,
    *,
    group_id: int | None = None,
    layer_id: int = 0,
) -> Any:
    """Every rank's `tensor`, stacked: a new tensor of shape (n, *shape)."""
    joined = _group(group, group_id)
    array, dtype = array_of(tensor)
    gathered = empty_like(tensor, (len(joined.ranks), *array.shape))
    operation = Operation("ALL_GATHER", array, dtype, layer_id=layer_id)
    future = joined.group.submit(operation, lambda result: write(gathered, result))
    return _outcome(future, gathered, async_op)


def broadcast(
    tensor: Any,
    src: int,
    group: Joined | None = None,
    async_op: bool = False,
    *,
    group_id: int | None = None,
    layer_id: int = 0,
) -> Any:
    """Give every rank the tensor of rank `src` (of the job), in place."""
    joined = _group(group, group_id)
    if src not in joined.ranks:
        raise UsageError(f"rank {src} is not in the group", hint=f"its ranks are {list(joined.ranks)}")
    array, dtype = array_of(tensor)
    operation = Operation("BROADCAST", array, dtype, root=joined.ranks.index(src), layer_id=layer_id)
    future = joined.group.submit(operation, lambda result: write(tensor, result))
    return _outcome(future, tensor, async_op)


def synchronize(group: Joined | None = None) -> None:
    """Wait for every operation that this rank has begun, of one group or of all."""
    for joined in [group] if group is not None else list(current().groups.values()):
        joined.group.synchronize()


def configure(config: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings: chunk_size, offload_threshold, timeout_ms, max_pending_chunks, sram_usage_limit; those in force.

    Before `init` also `controller_port` (and all others, for then). They hold for all groups of the controller; slots
    and time-outs for groups that are created afterwards.
    """
    unknown = set(config) - {*SETTINGS, "controller_port"}
    if unknown:
        raise UsageError(
            f"there is no setting {min(unknown)!r}",
            hint=f"there are: {', '.join((*SETTINGS, 'controller_port'))}",
        )
    if not is_initialized():
        if "controller_port" in config:
            os.environ["CAIS_CONTROLLER_PORT"] = str(int(config["controller_port"]))
        _preset.update({name: value for name, value in config.items() if name != "controller_port"})
        return dict(_preset)
    if "controller_port" in config:
        raise UsageError("controller_port is for the time before cais.init", hint="the connection is there already")
    settings = current().client.configure(settings_to({name: float(value) for name, value in config.items()}))
    return {name: getattr(settings, name) for name in SETTINGS}


def stats() -> dict[int, GroupReport]:
    """What this rank's groups have done, by group_id."""
    return {group_id: report_of(joined) for group_id, joined in current().groups.items()}


def shutdown() -> None:
    """Finish what is under way and leave all groups; called at the end of the process by itself."""
    global _context
    with _lock:
        context, _context = _context, None
    if context is not None and context.pid == os.getpid():
        context.close(_PATIENCE)
    atexit.unregister(shutdown)


def _group(group: Joined | None, group_id: int | None) -> Joined:
    if group is not None:
        return group
    groups = current().groups
    wanted = group_id if group_id is not None else next(iter(groups), None)
    if wanted is None or wanted not in groups:
        name = "" if wanted is None else f" {wanted}"
        raise UsageError(f"this process is in no group{name}", hint="cais.new_group(ranks=[...], group_id=0) makes one")
    return groups[wanted]


def _operation(op: Any) -> str:
    name = str(op).rpartition(".")[2].upper()
    if name not in _OPERATIONS:
        raise UsageError(f"there is no reduction {op}", hint="SUM, MAX, MIN or PRODUCT")
    return _OPERATIONS[name]


def _outcome(future: Future[Tensor], tensor: Any, async_op: bool) -> Any:
    handle = Handle(future, tensor)
    return handle if async_op else handle.wait()
