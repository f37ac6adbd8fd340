"""Floating-point sums as integer sums: one packet is one block of lanes that shares an exponent.

Round 1 agrees on each block's largest exponent through the switch itself (op max), round 2 adds integers. All
numbers are float64 here, which holds float32 exactly. With E the block's exponent, that is |x| < 2^E for every
finite x of every rank, and g = ceil(log2 n), each rank sends rint(x 2^(30 - g - E)). No sum of n of them can
overflow 32 bits, and

    |error| <= n/2 * 2^(E - 30 + g)        plus the final rounding to the tensor's own type.

Integer sums do not depend on the order of arrival, so neither does the result. NaN and infinities never become
numbers: round 1 says which blocks have any, and a third round counts them lane by lane.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cais_tools.worker.transfer import Flags, Rows

__all__ = [
    "Blocks",
    "Codewords",
    "codewords",
    "count_non_finite",
    "error_bound",
    "has_non_finite",
    "plausible",
    "quantise",
    "restore",
    "salt",
    "with_non_finite",
]

Blocks: TypeAlias = NDArray[np.float64]
"""Shape (blocks, lanes)."""
Codewords: TypeAlias = NDArray[np.int32]
"""Shape (blocks, 2): the largest exponent, and whether there is a NaN or an infinity."""

# float64 exponents, as frexp has them, are -1073 .. 1024; 0 is kept for blocks without a finite number but zero.
_BIAS = 1100
_NON_FINITE = 0xFFF
_CODE_BITS, _CHECK_BITS = 15, 16  # and the sign bit stays 0
_POLYNOMIAL = 0x11021  # CRC-16-CCITT: finds any three flipped bits in a word this short
# Ten bits for each count: up to 32 ranks.
_NAN_SHIFT, _POSITIVE_SHIFT, _NEGATIVE_SHIFT, _COUNT_MASK = 0, 10, 20, 0x3FF


def codewords(blocks: Blocks) -> Codewords:
    """Return what this rank has to say about its blocks, as words whose maximum is the group's.

    Each word checks itself (a CRC below the value), for the tag of a maximum does not cover values.
    """
    finite = np.isfinite(blocks)
    largest = np.max(np.abs(blocks), axis=1, initial=0.0, where=finite)
    _, exponents = np.frexp(largest)
    codes = np.where(largest > 0, exponents + _BIAS, 0)
    flags = np.where(finite.all(axis=1), 0, _NON_FINITE)
    return _with_check(np.stack((codes, flags), axis=1))


def plausible(own: Rows, agreed: Rows) -> Flags:
    """Return whether each payload of codewords is sound: every word checks, and none is below this rank's own."""
    sound = (_with_check(agreed >> _CHECK_BITS) == agreed) & (agreed >= own)
    return sound.all(axis=1)


def has_non_finite(agreed: Codewords) -> Flags:
    return agreed[:, 1] != 0


def salt(agreed: Codewords) -> NDArray[np.uint32]:
    """Return a word for each block that goes into its tag: a rank that believes in another exponent is found out."""
    words = agreed.view(np.uint32)
    return words[:, 0] ^ (words[:, 1] << np.uint32(3))


def quantise(blocks: Blocks, agreed: Codewords, ranks: int) -> Rows:
    """Return the integers to be added up; NaN and infinities count as 0."""
    finite = np.where(np.isfinite(blocks), blocks, 0.0)
    return np.rint(np.ldexp(finite, -_unit_exponents(agreed, ranks)[:, np.newaxis])).astype(np.int32)


def restore(sums: Rows, agreed: Codewords, ranks: int) -> Blocks:
    """Return the sums as floats; beyond the largest float64 they are infinite, as in IEEE 754 addition."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(sums.astype(np.float64), _unit_exponents(agreed, ranks)[:, np.newaxis])


def count_non_finite(blocks: Blocks) -> Rows:
    """Return a word for each lane with one bit for what it is; their sum over the ranks counts each kind."""
    return (
        np.isnan(blocks).astype(np.int32) << _NAN_SHIFT
        | np.isposinf(blocks).astype(np.int32) << _POSITIVE_SHIFT
        | np.isneginf(blocks).astype(np.int32) << _NEGATIVE_SHIFT
    )


def with_non_finite(sums: Blocks, counts: Rows) -> Blocks:
    """Return the sums with what NaN and infinities make of them, as IEEE 754 addition says."""
    nan, positive, negative = (
        counts >> shift & _COUNT_MASK for shift in (_NAN_SHIFT, _POSITIVE_SHIFT, _NEGATIVE_SHIFT)
    )
    result = np.where(positive > 0, np.inf, sums)
    result = np.where(negative > 0, -np.inf, result)
    return np.where((nan > 0) | ((positive > 0) & (negative > 0)), np.nan, result)


def error_bound(inputs: NDArray[np.floating[Any]], lanes: int) -> NDArray[np.float64]:
    """Return how far a sum of `inputs`, shape (ranks, elements), may be off, shape (elements,).

    That is the bound above with half a unit in the last place of the tensor's type for the final rounding; it holds
    where the inputs are finite and the sum does not exceed the largest float.
    """
    ranks, elements = inputs.shape
    wide = np.zeros((ranks, -(-elements // lanes) * lanes), np.float64)
    wide[:, :elements] = np.where(np.isfinite(inputs), inputs, 0)
    largest = np.abs(wide).max(axis=0).reshape(-1, lanes).max(axis=1, initial=0.0)
    headroom = (ranks - 1).bit_length()
    per_block = ranks / 2 * np.ldexp(1.0, np.frexp(largest)[1] - 30 + headroom)
    info = np.finfo(inputs.dtype)
    with np.errstate(over="ignore"):
        sums = np.abs(wide).sum(axis=0)[:elements]
    rounding = np.maximum(sums * float(info.eps), float(info.smallest_subnormal)) / 2
    return np.repeat(per_block, lanes)[:elements] + rounding


def _unit_exponents(agreed: Codewords, ranks: int) -> NDArray[np.int32]:
    """Return u for each block: the integers count multiples of 2^u."""
    headroom = (ranks - 1).bit_length()  # ceil(log2(ranks))
    return (agreed[:, 0] >> _CHECK_BITS) - _BIAS - 30 + headroom


def _with_check(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Append the CRC-16 of each code of up to 15 bits."""
    remainder = codes.astype(np.int64) << _CHECK_BITS
    word = remainder & 0xFFFF_FFFF
    for bit in range(_CODE_BITS + _CHECK_BITS - 1, _CHECK_BITS - 1, -1):
        remainder ^= (remainder >> bit & 1) * (_POLYNOMIAL << bit - _CHECK_BITS)
    return (word | remainder & 0xFFFF).astype(np.int32)
