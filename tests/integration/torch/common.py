"""What the checks of the backend share: each is a function that all four ranks run, in one process group."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable

import torch

from cais_tools.training import api

__all__ = ["CHECKS", "RANKS", "check", "each_rank", "on_switch", "values"]

RANKS = 4
CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def each_rank(make: Callable[[int], torch.Tensor]) -> list[torch.Tensor]:
    return [make(rank) for rank in range(RANKS)]


def values(rank: int, size: int = 300, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(17 * rank + size)
    if dtype.is_floating_point:
        return torch.randn(size, generator=generator).to(dtype)
    return torch.randint(-1000, 1000, (size,), generator=generator).to(dtype)


def on_switch() -> int:
    return sum(report.on_switch for report in api.stats().values())
