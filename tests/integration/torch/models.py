"""Checks of what stands on the collectives: compilation, data, tensor and fully sharded parallelism, threads, forks."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import threading
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from tests.integration.torch.common import CHECKS, RANKS, check, each_rank, on_switch, values

__all__ = ["NAMES"]


class Branches(nn.Module):
    """On odd steps one of its layers gets no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.always, self.seldom, self.head = nn.Linear(8, 32), nn.Linear(8, 32), nn.Linear(32, 1)

    def forward(self, data: torch.Tensor, step: int) -> torch.Tensor:
        hidden = self.always(data) if step % 2 else self.always(data) + self.seldom(data)
        return self.head(torch.relu(hidden))


def train_branches(group: Any) -> list[float]:
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(1)
    model = DistributedDataParallel(
        Branches(),
        process_group=group,
        find_unused_parameters=True,
        bucket_cap_mb=1e-3,  # pyright: ignore[reportArgumentType]
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, losses = values(dist.get_rank(), 64).reshape(8, 8), []
    for step in range(6):
        loss = model(data, step).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@check
def data_parallel_with_unused_parameters_and_many_buckets() -> None:
    before = on_switch()
    losses = train_branches(None)
    assert on_switch() > before + 6
    expected = train_branches(dist.new_group(backend="gloo"))
    assert all(abs(one - other) < 1e-5 for one, other in zip(losses, expected, strict=True)), (losses, expected)


@check
def compiled() -> None:
    import torch.distributed._functional_collectives as functional

    def twice(tensor: torch.Tensor) -> torch.Tensor:
        return functional.all_reduce(tensor * 2, "sum", dist.group.WORLD) + 1

    total = torch.compile(twice, backend="aot_eager", fullgraph=True)(values(dist.get_rank()))
    assert torch.allclose(total, 2 * torch.stack(each_rank(values)).sum(0) + 1, atol=1e-4)


@check
def sequence_parallel() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        parallelize_module,
    )

    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
    alone = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
    alone.load_state_dict(model.state_dict())
    mesh = init_device_mesh("cpu", (RANKS,))
    plan = {
        "0": ColwiseParallel(input_layouts=Shard(0)),
        "2": RowwiseParallel(output_layouts=Shard(0), use_local_output=False),
    }
    parallelize_module(model, mesh, plan)
    parallelize_module(
        model,
        mesh,
        PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0), use_local_output=True),
    )
    data, before = values(0, 128).reshape(8, 16), on_switch()
    output = model(data)
    assert isinstance(output, DTensor)
    assert output.placements == (Shard(0),)
    assert torch.allclose(output.full_tensor(), alone(data), atol=1e-5)
    output.square().mean().backward()
    alone(data).square().mean().backward()
    assert torch.allclose(model[0].weight.grad.full_tensor(), alone[0].weight.grad, atol=1e-5)
    assert on_switch() > before


@check
def fully_sharded() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
    alone = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
    alone.load_state_dict(model.state_dict())
    fully_shard(model, mesh=init_device_mesh("cpu", (RANKS,)))
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, alone)]
    data, before = values(0, 128).reshape(8, 16), on_switch()
    for _ in range(3):
        losses = [each(data).square().mean() for each in (model, alone)]
        assert abs(losses[0].item() - losses[1].item()) < 1e-5
        for loss, optimizer in zip(losses, optimizers, strict=True):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert on_switch() > before


@check
def two_groups_from_two_threads() -> None:
    groups = [dist.new_group(backend="cais"), dist.new_group(backend="cais")]
    wrong: list[str] = []

    def sums(number: int) -> None:
        for step in range(20):
            tensor = torch.full((500,), float(100 * number + step + dist.get_rank()))
            dist.all_reduce(tensor, group=groups[number])
            if tensor[0] != RANKS * (100 * number + step) + 6:
                wrong.append(f"group {number}, step {step}: {tensor[0]}")

    threads = [threading.Thread(target=sums, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    for step in range(10):
        sums(step % 2)
    assert not wrong
    for group in groups:
        dist.destroy_process_group(group)


class Numbers(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([float(index)])


@check
def workers_of_a_data_loader() -> None:
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    for data in loader:
        expected = RANKS * data
        dist.all_reduce(data)
        assert torch.equal(data, expected)


@check
def the_rest_of_torch_distributed() -> None:
    rank, mine = dist.get_rank(), values(dist.get_rank(), 8)
    neighbours = (rank + 1) % RANKS, (rank - 1) % RANKS
    received = torch.empty(8)
    operations = [dist.P2POp(dist.isend, mine, neighbours[0]), dist.P2POp(dist.irecv, received, neighbours[1])]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert torch.equal(received, values(neighbours[1], 8))
    everything = torch.stack(each_rank(lambda each: values(each, 8)))
    swapped = [torch.empty(2) for _ in range(RANKS)]
    dist.all_to_all(swapped, list(mine.chunk(RANKS)))
    assert torch.equal(torch.cat(swapped), torch.cat([row.chunk(RANKS)[rank] for row in everything]))
    part = torch.empty(2)
    dist.reduce_scatter(part, list(mine.clone().chunk(RANKS)))
    assert torch.allclose(part, everything.sum(0).chunk(RANKS)[rank], atol=1e-5)
    many = [mine.clone() for _ in range(3)]
    with dist._coalescing_manager():
        for tensor in many:
            dist.all_reduce(tensor)
    assert all(torch.allclose(tensor, everything.sum(0), atol=1e-5) for tensor in many)
    half, before = torch.empty(2), on_switch()
    dist.reduce_scatter_tensor(half, mine.clone(), op=dist.ReduceOp.AVG)
    assert torch.allclose(half, everything.mean(0).chunk(RANKS)[rank], atol=1e-5)
    work = dist.all_gather_into_tensor(torch.empty(8 * RANKS), mine, async_op=True)
    assert work.wait()
    assert on_switch() == before + 2, "reduce-scatter and all-gather go through the switch, too"


NAMES = tuple(CHECKS)
