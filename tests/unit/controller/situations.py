"""Inputs of the policy, all good unless said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from cais_tools.controller.scoring import Kind, Link, OperationClass
from cais_tools.controller.verdict import GroupInputs

__all__ = ["GROUP", "MB", "inputs", "reduce_of", "with_score"]

MB: Final = 1_000_000
GROUP: Final = 3


def reduce_of(size: int, dtype: str = "float32", kind: Kind = Kind.ALL_REDUCE) -> OperationClass:
    return OperationClass(kind, dtype, size)


def inputs(*seen: OperationClass, link: Link | None = None, sram: float = 0.1, **changes: Any) -> GroupInputs:
    """4 ranks on links of 1 GB/s, a switch of 4 GB/s without a queue: every size has the score 9/16."""
    usual = GroupInputs(link=link or Link(4, 1e9, 4e9, 0.0), sram_usage=sram, seen=seen)
    return replace(usual, **changes)


def with_score(score: float, /, *seen: OperationClass, **changes: Any) -> GroupInputs:
    """Inputs under which operations of 1 MB have this score."""
    # (1 - 1/4 - q * 1e9 / 1e6) * 3/4 = score
    return inputs(*seen, link=Link(4, 1e9, 4e9, (0.75 - score / 0.75) * 1e-3), **changes)
