"""What four ranks try on the backend `cais`, in one process group: each function is a check, run by all of them.

Importing torch takes seconds, so one job does them all (`python -m tests.integration.torch.checks`, as torchrun would)
and says at its end, as JSON, what became of each: nothing, or the error.
"""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings

import torch
import torch.distributed as dist
from torch import nn

from cais_tools.errors import UsageError
from cais_tools.training import api, autoload
from tests.integration.torch import faults, models
from tests.integration.torch.common import CHECKS, RANKS, check, each_rank, on_switch, values

__all__ = ["main"]


@check
def all_reduce_of_every_type() -> None:
    rank = dist.get_rank()
    exact = (torch.int32, torch.int64, torch.uint8)
    tolerance = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float32: 1e-5, torch.float64: 1e-7}
    for dtype in (*exact, *tolerance):
        tensors = each_rank(lambda each, dtype=dtype: values(each, dtype=dtype))
        tensor = tensors[rank].clone()
        before = on_switch()
        assert dist.all_reduce(tensor) is None
        wide = torch.stack(tensors).to(torch.float64 if dtype in tolerance else torch.int64).sum(0)
        if dtype in exact:
            assert torch.equal(tensor, wide.to(dtype)), dtype
        else:
            assert (tensor.double() - wide).abs().max() <= tolerance[dtype], dtype
        assert (on_switch() > before) == (dtype in {torch.int32, *tolerance}), dtype


@check
def a_type_that_nobody_knows_ends_nothing() -> None:
    for tensor in (torch.ones(4, dtype=torch.int16), torch.ones(8, dtype=torch.int16)[::2]):
        try:
            dist.all_reduce(tensor)
        except (RuntimeError, UsageError):
            continue
        raise AssertionError("gloo adds int16 up now: the README may say so")
    tensor = torch.ones(4)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [4.0] * 4


@check
def all_reduce_with_every_operation() -> None:
    rank = dist.get_rank()
    tensors = each_rank(lambda each: values(each, dtype=torch.int32) % 7)
    stacked = torch.stack(tensors)
    for op, expected in (
        (dist.ReduceOp.SUM, stacked.sum(0)),
        (dist.ReduceOp.MAX, stacked.max(0).values),
        (dist.ReduceOp.MIN, stacked.min(0).values),
        (dist.ReduceOp.PRODUCT, stacked.prod(0)),
        (dist.ReduceOp.BAND, stacked[0] & stacked[1] & stacked[2] & stacked[3]),
        (dist.ReduceOp.BXOR, stacked[0] ^ stacked[1] ^ stacked[2] ^ stacked[3]),
    ):
        tensor = tensors[rank].clone()
        dist.all_reduce(tensor, op=op)
        assert torch.equal(tensor, expected.to(torch.int32)), op
    average = torch.full((5,), float(rank))
    dist.all_reduce(average, op=dist.ReduceOp.AVG)
    assert average.tolist() == [1.5] * 5


@check
def tensors_of_every_shape() -> None:
    rank = dist.get_rank()
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar)
    assert scalar.item() == 6.0
    empty = torch.empty(0)
    dist.all_reduce(empty)
    whole = torch.ones(8)
    dist.all_reduce(whole[3:7])
    assert whole.tolist() == [1, 1, 1, 4, 4, 4, 4, 1]
    strided = torch.ones(8)
    dist.all_reduce(strided[::2])
    assert strided.tolist() == [4, 1, 4, 1, 4, 1, 4, 1], "gloo alone gets this wrong"
    transposed = torch.arange(6.0).reshape(2, 3).t()
    dist.all_reduce(transposed)
    assert torch.equal(transposed, 4 * torch.arange(6.0).reshape(2, 3).t())


@check
def several_in_flight() -> None:
    tensors = [torch.full((1000,), float(number + dist.get_rank())) for number in range(8)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        assert work.wait()
        assert work.is_completed()
    for number, tensor in enumerate(tensors):
        assert torch.equal(tensor, torch.full((1000,), 4.0 * number + 6.0))
    future = dist.all_reduce(tensors[0], async_op=True).get_future()
    assert torch.equal(future.wait()[0], torch.full((1000,), 24.0))


@check
def broadcast_from_everybody() -> None:
    for source in range(RANKS):
        tensor = values(dist.get_rank())
        dist.broadcast(tensor, source)
        assert torch.equal(tensor, values(source))


@check
def the_other_collectives() -> None:
    rank, mine = dist.get_rank(), values(dist.get_rank(), 8)
    everything = torch.stack(each_rank(lambda each: values(each, 8)))
    gathered = [torch.empty(8) for _ in range(RANKS)]
    dist.all_gather(gathered, mine)
    assert torch.equal(torch.stack(gathered), everything)
    flat = torch.empty(8 * RANKS)
    dist.all_gather_into_tensor(flat, mine)
    assert torch.equal(flat, everything.reshape(-1))
    part = torch.empty(2)
    dist.reduce_scatter_tensor(part, mine.clone())
    assert torch.allclose(part, everything.sum(0).chunk(RANKS)[rank], atol=1e-5)
    reduced = mine.clone()
    dist.reduce(reduced, 1)
    assert rank != 1 or torch.allclose(reduced, everything.sum(0), atol=1e-5)
    dist.gather(mine, gathered if rank == 2 else None, dst=2)
    out = torch.empty(8)
    dist.scatter(out, list(everything) if rank == 0 else None, src=0)
    assert torch.equal(out, mine)
    swapped = torch.empty(8)
    dist.all_to_all_single(swapped, mine)
    assert torch.equal(swapped, torch.cat([row.chunk(RANKS)[rank] for row in everything]))
    dist.barrier()
    if rank == 0:
        dist.send(mine, 3)
    if rank == 3:
        dist.recv(out, 0)
        assert torch.equal(out, everything[0])
    objects: list[object] = [None] * RANKS
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": each} for each in range(RANKS)]


@check
def functional_collectives() -> None:
    import torch.distributed._functional_collectives as functional

    total = functional.all_reduce(values(dist.get_rank()), "sum", dist.group.WORLD)
    expected = torch.stack(each_rank(values)).sum(0)
    assert torch.allclose(total, expected, atol=1e-5)
    gathered = functional.all_gather_tensor(values(dist.get_rank(), 8), 0, dist.group.WORLD)
    assert torch.equal(gathered, torch.cat(each_rank(lambda each: values(each, 8))))


@check
def data_parallel() -> None:
    from torch.nn.parallel import DistributedDataParallel

    losses = {}
    for group in (None, dist.new_group(backend="gloo")):
        torch.manual_seed(1)
        model = DistributedDataParallel(
            nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)), process_group=group
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = values(dist.get_rank(), 64).reshape(8, 8)
        for _ in range(5):
            loss = model(data).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses[group is None] = loss.item()
    assert abs(losses[True] - losses[False]) < 1e-5, losses


@check
def tensor_parallel() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
    alone = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
    alone.load_state_dict(model.state_dict())
    mesh = init_device_mesh("cpu", (RANKS,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    data = values(0, 128).reshape(8, 16)
    for each in (model, alone):
        each(data).square().mean().backward()
    assert torch.allclose(model(data), alone(data), atol=1e-5)
    weight = model[0].weight.grad.full_tensor()
    assert torch.allclose(weight, alone[0].weight.grad, atol=1e-5)


@check
def a_group_of_its_own_beside_gloo() -> None:
    pair = dist.new_group([0, 1], backend="cais")
    if dist.get_rank() < 2:
        tensor = torch.full((10,), float(dist.get_rank() + 1))
        dist.all_reduce(tensor, group=pair)
        assert tensor.tolist() == [3.0] * 10
    dist.barrier()
    if dist.get_rank() < 2:
        dist.destroy_process_group(pair)


def main() -> None:
    warnings.simplefilter("ignore")
    autoload.register()
    dist.init_process_group("cais")
    said: dict[str, str] = {}
    assert set(models.NAMES) < set(CHECKS)
    for name, function in CHECKS.items():
        try:
            function()
            said[name] = ""
        except Exception:
            said[name] = traceback.format_exc()
    said["went through the switch"] = str(on_switch())
    say(said)
    rank = dist.get_rank()
    dist.destroy_process_group()
    assert not api.current().groups
    # A file, since torch's own store cannot be had twice at one port without a race.
    dist.init_process_group("cais", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=RANKS)
    tensor = torch.ones(4)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [4.0] * 4, "the second process group of a process"
    say(faults.after_a_rank_is_gone())
    os._exit(0)


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
