"""What an operation makes of all ranks' tensors, computed in one place: the endpoints' way without a switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.training.operations import BFLOAT16, Tensor
from cais_tools.worker.halves import from_bfloat16, to_bfloat16

__all__ = ["combine"]

_REDUCE: dict[str, np.ufunc] = {
    "ALL_REDUCE": np.add,
    "REDUCE_SCATTER": np.add,
    "ALL_REDUCE_MAX": np.maximum,
    "ALL_REDUCE_MIN": np.minimum,
    "ALL_REDUCE_PRODUCT": np.multiply,
}


def combine(kind: str, dtype: str, tensors: Sequence[Tensor], root: int) -> list[Tensor]:
    """Each rank's result, from each rank's tensor.

    Floats of up to 32 bits are added up in float64 and rounded once; int32 wraps. One process computes for all, so all
    have the same bits.
    """
    if kind == "BROADCAST":
        return [tensors[root]] * len(tensors)
    if kind == "ALL_GATHER":
        return [np.stack(tensors)] * len(tensors)
    if kind not in _REDUCE:
        raise UsageError(f"there is no operation {kind}")
    total = _reduce(_REDUCE[kind], dtype, tensors)
    if kind != "REDUCE_SCATTER":
        return [total] * len(tensors)
    return list(np.split(total, len(tensors)))


def _reduce(ufunc: np.ufunc, dtype: str, tensors: Sequence[Tensor]) -> Tensor:
    if dtype == BFLOAT16:
        wide = _accumulate(ufunc, [from_bfloat16(tensor) for tensor in tensors], np.float64)
        with np.errstate(over="ignore", under="ignore"):
            return to_bfloat16(wide.astype(np.float32))
    own = tensors[0].dtype
    wide = np.float64 if own.kind == "f" else own
    with np.errstate(over="ignore", invalid="ignore"):
        return _accumulate(ufunc, tensors, wide).astype(own)


def _accumulate(ufunc: np.ufunc, tensors: Sequence[Tensor], dtype: Any) -> Tensor:
    total = tensors[0].astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for tensor in tensors[1:]:
            ufunc(total, tensor, out=total, casting="unsafe")
    return total
