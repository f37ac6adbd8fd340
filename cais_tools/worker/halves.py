"""Sums of 16-bit floating-point numbers: two of them in each word, so that they move half the bytes of float32.

A block is 2 x `lanes` numbers that share an exponent, agreed on as in `blocks`. With E the block's exponent, that is
|x| < 2^E for every finite x of every rank, and g = ceil(log2 n), each rank makes rint(x 2^(15 - g - E)) of a number,
at most 2^(15 - g) - 1 either way: then no sum of n of them leaves 16 signed bits. The first half of the block's numbers
travels in the upper halves of the words (hi * 2^16 + lo). The switch adds words and knows nothing of this; a negative
lower half borrows from the upper one, and the receiver gives it back. So, in a group of n ranks,

    |error| <= n * 2^(E - 15 + g)        plus the final rounding to the tensor's own type,

and half of that where no rank's number is within half a step of 2^E, for only there is anything cut off.

All numbers here are float32, which holds float16 and bfloat16 exactly, and these sums too: they are rounded once, by
`to_float16` or `to_bfloat16`. NumPy has no bfloat16: its values are their bits, in uint16.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cais_tools.worker import blocks
from cais_tools.worker.blocks import Codewords
from cais_tools.worker.transfer import Rows

__all__ = [
    "Halves",
    "count_non_finite",
    "error_bound",
    "from_bfloat16",
    "from_float16",
    "quantise",
    "restore",
    "to_bfloat16",
    "to_float16",
    "with_non_finite",
]

Halves: TypeAlias = NDArray[np.float32]
"""Shape (blocks, 2 x lanes)."""

_BITS = 15
_HALF = 16
_NEGATIVE_SHIFT, _COUNT_MASK = 6, 0x3F  # counts of up to 32 ranks
_QUIET_NAN = np.uint16(0x7FC0)
_BFLOAT16_EPS, _BFLOAT16_SUBNORMAL = 2.0**-7, 2.0**-133


def from_float16(values: NDArray[np.float16]) -> NDArray[np.float32]:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return values.astype(np.float32)


def to_float16(values: NDArray[np.floating[Any]]) -> NDArray[np.float16]:
    """Return the nearest float16, ties to even; beyond the largest they are infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float16)


def from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    words = bits.astype(np.uint32)
    words <<= np.uint32(_HALF)
    return words.view(np.float32)


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16, ties to even. Beyond the largest they are infinite."""
    words = values.view(np.uint32)
    odd = (words >> np.uint32(_HALF)) & np.uint32(1)
    odd += np.uint32(0x7FFF)
    odd += words  # wraps for some NaNs, which are replaced
    bits = (odd >> np.uint32(_HALF)).astype(np.uint16)
    bits[np.isnan(values)] = _QUIET_NAN
    return bits


def quantise(values: Halves, agreed: Codewords, ranks: int) -> Rows:
    """Return the words to be added up, shape (blocks, lanes); NaN and infinities count as 0."""
    steps = np.rint(blocks.scaled(blocks.finite_only(values, agreed), -_unit_exponents(agreed, ranks)))
    most = np.float32(2 ** (_BITS - blocks.headroom(ranks)) - 1)
    return _pack(np.clip(steps, -most, most, out=steps).astype(np.int32))


def restore(sums: Rows, agreed: Codewords, ranks: int) -> Halves:
    """Return the sums that the words hold, exactly; beyond the largest float32 they are infinite."""
    return blocks.scaled(_unpack(sums).astype(np.float32), _unit_exponents(agreed, ranks))


def count_non_finite(values: Halves) -> Rows:
    """Return words whose sums over the ranks count +inf and -inf; a NaN counts as both, which sum to NaN."""
    nan = np.isnan(values)
    positive, negative = np.isposinf(values) | nan, np.isneginf(values) | nan
    return _pack(positive.astype(np.int32) | negative.astype(np.int32) << _NEGATIVE_SHIFT)


def with_non_finite(sums: Halves, counts: Rows) -> Halves:
    """Return the sums with what NaN and infinities make of them, as IEEE 754 addition says."""
    kinds = _unpack(counts)
    positive, negative = kinds & _COUNT_MASK > 0, kinds >> _NEGATIVE_SHIFT > 0
    result = np.where(positive, np.float32(np.inf), sums)
    result = np.where(negative, np.float32(-np.inf), result)
    return np.where(positive & negative, np.float32(np.nan), result)


def error_bound(inputs: NDArray[Any], lanes: int) -> NDArray[np.float64]:
    """Return how far a sum of `inputs`, shape (ranks, elements), float16 or bits of bfloat16, may be off: (elements,).

    That is the bound above with half a unit in the last place of the tensor's type for the final rounding; it holds
    where the inputs are finite and the sum does not exceed the largest float of the type.
    """
    if inputs.dtype == np.uint16:
        return blocks.bound(from_bfloat16(inputs), 2 * lanes, _error, _BFLOAT16_EPS, _BFLOAT16_SUBNORMAL)
    info = np.finfo(inputs.dtype)
    return blocks.bound(from_float16(inputs), 2 * lanes, _error, float(info.eps), float(info.smallest_subnormal))


def _error(exponents: NDArray[np.int32], ranks: int) -> NDArray[np.float64]:
    return ranks * np.ldexp(1.0, exponents - _BITS + blocks.headroom(ranks))


def _unit_exponents(agreed: Codewords, ranks: int) -> NDArray[np.int32]:
    return blocks.exponents(agreed) - _BITS + blocks.headroom(ranks)


def _pack(fields: NDArray[np.int32]) -> Rows:
    lanes = fields.shape[1] // 2
    return (fields[:, :lanes] << _HALF) + fields[:, lanes:]


def _unpack(words: Rows) -> NDArray[np.int32]:
    lanes = words.shape[1]
    fields = np.empty((len(words), 2 * lanes), np.int32)
    low = fields[:, lanes:]
    np.right_shift(words << _HALF, _HALF, out=low)
    # The difference wraps where the sum did not fit into 32 bits, as a damaged one may; it has not passed the tag.
    np.right_shift(words - low, _HALF, out=fields[:, :lanes])
    return fields
