"""float32 as int32 in the same order, so that a switch that compares integers compares floats (exactly)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["from_ordered", "to_ordered"]

_MAGNITUDE = np.int32(0x7FFFFFFF)


def to_ordered(values: NDArray[np.float32], *, nan_first: bool) -> NDArray[np.int32]:
    """Return integers in the order of `values`, -0.0 before 0.0.

    NaN is greater than everything, or less with `nan_first`: so it wins a maximum, or a minimum, as in NumPy.
    """
    bits = values.view(np.int32)
    ordered = np.where(bits < 0, bits ^ _MAGNITUDE, bits)
    limits = np.iinfo(np.int32)
    return np.where(np.isnan(values), np.int32(limits.min if nan_first else limits.max), ordered)


def from_ordered(ordered: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the floats; both ends of the integers are NaN."""
    return np.where(ordered < 0, ordered ^ _MAGNITUDE, ordered).astype(np.int32).view(np.float32)
