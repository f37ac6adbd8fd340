"""Checks of what the other ranks see once one is gone: their operations raise, and nothing hangs or crashes."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from tests.integration.torch.common import RANKS

__all__ = ["after_a_rank_is_gone"]


def blocking(group: Any) -> None:
    dist.all_reduce(torch.ones(100), group=group)


def waiting(group: Any) -> None:
    work = dist.all_reduce(torch.ones(100), group=group, async_op=True)
    work.wait()


def gathering(group: Any) -> None:
    dist.all_gather_into_tensor(torch.empty(100 * RANKS), torch.ones(100), group=group)


def functional(group: Any) -> None:
    import torch.distributed._functional_collectives as collectives

    tensor = collectives.all_reduce(torch.ones(100), "sum", group)
    tensor.sum().item()


def backward(model: Any) -> None:
    model(torch.ones(1, 8)).sum().backward()


def after_a_rank_is_gone() -> dict[str, str]:
    """To be called last: the last rank leaves without a word. What became of each check on the others."""
    from torch.nn.parallel import DistributedDataParallel

    calls: tuple[Callable[[Any], None], ...] = (blocking, waiting, gathering, functional)
    groups = [dist.new_group(backend="cais") for _ in calls]
    model = DistributedDataParallel(nn.Linear(8, 1), process_group=dist.new_group(backend="cais"))
    dist.barrier()
    if dist.get_rank() == RANKS - 1:
        os._exit(0)
    said = {call.__name__: _raises(call, group) for call, group in zip(calls, groups, strict=True)}
    said["backward"] = _raises(backward, model)
    return said


def _raises(call: Callable[[Any], None], argument: Any) -> str:
    try:
        call(argument)
    except Exception as error:
        return "" if f"rank {RANKS - 1}" in str(error) else traceback.format_exc()
    return "it has not raised"
