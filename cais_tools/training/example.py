"""A two-layer tensor-parallel model, trained on gloo or through the switch: only the backend's name differs.

torchrun --nproc-per-node 4 -m cais_tools.training.example --backend cais
"""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import argparse
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import cais_tools.training.api as cais

__all__ = ["main"]


def build() -> nn.Module:
    """The first layer is split by columns, the second by rows: one all-reduce forward, and one backward."""
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


def train(steps: int) -> tuple[float, float]:
    """The last loss, and the seconds of the slowest step but the first."""
    torch.manual_seed(0)
    model, data = build(), torch.randn(32, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss, slowest = torch.tensor(0.0), 0.0
    for step in range(steps):
        began = time.monotonic()
        loss = nn.functional.mse_loss(model(data), data.sin())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slowest = max(slowest, time.monotonic() - began) if step else 0.0
    return loss.item(), slowest


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--backend", default="cais", help="cais, or gloo")
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    dist.init_process_group(given.backend)
    loss, slowest = train(given.steps)
    if dist.get_rank() == 0:
        sys.stdout.write(f"{given.backend}: loss {loss:.6f} after {given.steps} steps, the slowest {slowest:.3f} s\n")
        for report in cais.stats().values() if cais.is_initialized() else ():
            sys.stdout.write(f"{report.on_switch} operations through the switch, {report.on_endpoints} on endpoints\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
