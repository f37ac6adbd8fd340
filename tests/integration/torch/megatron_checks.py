"""Megatron-LM's tensor-parallel layers on the backend `cais`, beside the same layers on gloo, without a GPU.

Run by four ranks, as torchrun would (`python -m tests.integration.torch.megatron_checks`); rank by rank it says as JSON
what became of each check: nothing, or the error.
"""

# torch and megatron-core are extras, and a strict checker must pass without them.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from typing import Any

warnings.simplefilter("ignore")  # Megatron tells what is missing without a GPU

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

# Megatron makes its buffers on the current device, and knows of none but CUDA's.
torch.cuda.current_device = lambda: torch.device("cpu")

from megatron.core import parallel_state  # noqa: E402
from megatron.core.model_parallel_config import ModelParallelConfig  # noqa: E402
from megatron.core.process_groups_config import ProcessGroupCollection  # noqa: E402
from megatron.core.tensor_parallel.layers import (  # noqa: E402
    ColumnParallelLinear,
    RowParallelLinear,
    VocabParallelEmbedding,
)

from cais_tools.training import api, autoload  # noqa: E402

RANKS, WIDTH, TOKENS, BATCH, WORDS, STEPS = 4, 32, 8, 2, 64, 8


class Block(torch.nn.Module):
    """An embedding and an MLP, as Megatron splits them over the ranks of `groups.tp`."""

    def __init__(self, groups: ProcessGroupCollection, *, sequence: bool) -> None:
        super().__init__()
        config = ModelParallelConfig(
            tensor_model_parallel_size=RANKS,
            sequence_parallel=sequence,
            use_cpu_initialization=True,
            params_dtype=torch.float32,
        )
        options = {"config": config, "init_method": torch.nn.init.xavier_normal_, "tp_group": groups.tp}
        self.embedding = VocabParallelEmbedding(WORDS, WIDTH, reduce_scatter_embeddings=sequence, **options)
        self.up = ColumnParallelLinear(WIDTH, 4 * WIDTH, bias=True, gather_output=False, **options)
        options |= {"input_is_parallel": True, "skip_bias_add": False}
        self.down = RowParallelLinear(4 * WIDTH, WIDTH, bias=True, **options)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(words)
        if hidden.shape[0] == BATCH:  # (batch, tokens, width), which only the other way puts the tokens first
            hidden = hidden.transpose(0, 1).contiguous()
        return self.down(torch.nn.functional.gelu(self.up(hidden)[0]))[0]


def train(groups: ProcessGroupCollection, *, sequence: bool) -> tuple[list[float], list[torch.Tensor]]:
    """The loss of each step on this rank, and the gradients of the last one."""
    torch.manual_seed(3)
    model = Block(groups, sequence=sequence)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    words = torch.randint(0, WORDS, (BATCH, TOKENS))
    losses: list[float] = []
    for _ in range(STEPS):
        loss = (model(words) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.grad for parameter in model.parameters()]


def on_switch() -> int:
    return sum(report.on_switch for report in api.stats().values())


def compare(tested: Any, expected: Any, *, sequence: bool) -> None:
    before = on_switch()
    losses, gradients = train(ProcessGroupCollection(tp=tested), sequence=sequence)
    through_switch = on_switch() - before
    right, right_gradients = train(ProcessGroupCollection(tp=expected), sequence=sequence)
    assert all(abs(one - other) < 1e-5 for one, other in zip(losses, right, strict=True)), (losses, right)
    assert losses[-1] < losses[0]
    for one, other in zip(gradients, right_gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert through_switch >= 3 * STEPS, through_switch


def main() -> None:
    autoload.register()
    dist.init_process_group("gloo")
    said: dict[str, str] = {}

    def check(name: str, tested: Any, expected: Any, *, sequence: bool) -> None:
        try:
            compare(tested, expected, sequence=sequence)
            said[name] = ""
        except Exception:
            said[name] = traceback.format_exc()

    parallel_state._set_global_memory_buffer()
    cais, gloo = dist.new_group(backend="cais"), dist.new_group(backend="gloo")
    check("its collection of groups", cais, gloo, sequence=False)
    check("its collection of groups, sequence parallel", cais, gloo, sequence=True)
    dist.destroy_process_group()
    parallel_state._GLOBAL_MEMORY_BUFFER = None

    # The way of its training script: all groups are of the default group's backend.
    dist.init_process_group("cais")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=RANKS)
    gloo = dist.new_group(backend="gloo")
    own = parallel_state.get_tensor_model_parallel_group()
    check("groups that it makes", own, gloo, sequence=False)
    check("groups that it makes, sequence parallel", own, gloo, sequence=True)
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main()
