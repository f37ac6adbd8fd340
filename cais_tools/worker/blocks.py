"""Floating-point sums as integer sums: one packet is one block of lanes that shares an exponent.

Round 1 agrees on each block's largest exponent through the switch itself (op max), round 2 adds integers. Blocks are
float32 or float64. With E the block's exponent, that is |x| < 2^E for every finite x of every rank, and
g = ceil(log2 n), each rank sends rint(x 2^(30 - g - E)). No sum of n of them can overflow 32 bits, and

    |error| <= n/2 * 2^(E - 30 + g)        plus the final rounding to the tensor's own type.

Integer sums do not depend on the order of arrival, so neither does the result. NaN and infinities never become
numbers: round 1 says which blocks have any, and a third round counts them lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cais_tools.worker.transfer import Flags, Rows

__all__ = [
    "Blocks",
    "Codewords",
    "bound",
    "codewords",
    "count_non_finite",
    "error_bound",
    "exponents",
    "finite_only",
    "has_non_finite",
    "headroom",
    "plausible",
    "quantise",
    "restore",
    "salt",
    "scaled",
    "with_non_finite",
]

Float = TypeVar("Float", bound=np.floating[Any])
Blocks: TypeAlias = NDArray[np.floating[Any]]
"""float32 or float64, shape (blocks, lanes)."""
Codewords: TypeAlias = NDArray[np.int32]
"""Shape (blocks, 2): the largest exponent, and whether there is a NaN or an infinity."""

# float64 exponents, as frexp has them, are -1073 .. 1024; 0 is kept for blocks without a finite number but zero.
_BIAS = 1100
_NON_FINITE = 0xFFF
_CODE_BITS, _CHECK_BITS = 15, 16  # and the sign bit stays 0
_POLYNOMIAL = 0x11021  # CRC-16-CCITT: finds any three flipped bits in a word this short
# Ten bits for each count: up to 32 ranks.
_NAN_SHIFT, _POSITIVE_SHIFT, _NEGATIVE_SHIFT, _COUNT_MASK = 0, 10, 20, 0x3FF


def codewords(blocks: NDArray[Any], widen: Callable[[NDArray[Any]], Blocks] = lambda same: same) -> Codewords:
    """Return what this rank has to say about its blocks, as words whose maximum is the group's.

    `widen` makes floats of what is in `blocks`, if that is another type (or a type's bits) whose first bit is the sign.
    Each word checks itself (a CRC below the value), for the tag of a maximum does not cover values.
    """
    largest = widen(_largest(blocks))
    flagged = ~np.isfinite(largest)
    if flagged.any():
        some = widen(blocks[flagged])
        largest[flagged] = np.max(np.abs(some), axis=1, initial=0, where=np.isfinite(some))
    _, found = np.frexp(largest)
    codes = np.where(largest > 0, found + _BIAS, 0)
    return _with_check(np.stack((codes, np.where(flagged, _NON_FINITE, 0)), axis=1))


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
    steps = scaled(finite_only(blocks, agreed), -_unit_exponents(agreed, ranks))
    return np.rint(steps, out=steps).astype(np.int32)


def restore(sums: Rows, agreed: Codewords, ranks: int) -> NDArray[np.float64]:
    """Return the sums as floats; beyond the largest float64 they are infinite, as in IEEE 754 addition."""
    with np.errstate(over="ignore", under="ignore"):
        return scaled(sums.astype(np.float64), _unit_exponents(agreed, ranks))


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
    info = np.finfo(inputs.dtype)
    return bound(inputs, lanes, _error, float(info.eps), float(info.smallest_subnormal))


# What sums of 16-bit numbers need too


def bound(
    inputs: NDArray[np.floating[Any]],
    width: int,
    error: Callable[[NDArray[np.int32], int], NDArray[np.float64]],
    eps: float,
    smallest_subnormal: float,
) -> NDArray[np.float64]:
    """Return the error bound of each element, where `width` elements share an exponent: `error` of it, and a rounding.

    `error` is given the exponents of blocks, and how many ranks there are.
    """
    ranks, elements = inputs.shape
    wide = np.zeros((ranks, -(-elements // width) * width), np.float64)
    wide[:, :elements] = np.where(np.isfinite(inputs), inputs, 0)
    largest = np.abs(wide).max(axis=0).reshape(-1, width).max(axis=1, initial=0.0)
    per_element = np.repeat(error(np.frexp(largest)[1], ranks), width)[:elements]
    with np.errstate(over="ignore"):
        sums = np.abs(wide).sum(axis=0)[:elements]
    return per_element + np.maximum((sums + per_element) * eps, smallest_subnormal) / 2


def headroom(ranks: int) -> int:
    """Return the bits that a sum of `ranks` integers may need more than one of them: ceil(log2(ranks))."""
    return (ranks - 1).bit_length()


def exponents(agreed: Codewords) -> NDArray[np.int32]:
    """Return E of each block; 0 where there is no number but 0, for which any will do."""
    codes = agreed[:, 0] >> _CHECK_BITS
    return np.where(codes > 0, codes - _BIAS, 0).astype(np.int32)


def finite_only(blocks: NDArray[Float], agreed: Codewords) -> NDArray[Float]:
    """Return a copy in which NaN and infinities are 0."""
    copy = blocks.copy()
    flagged = np.flatnonzero(has_non_finite(agreed))
    if len(flagged):
        copy[flagged] = np.where(np.isfinite(copy[flagged]), copy[flagged], 0)
    return copy


def scaled(blocks: NDArray[Float], exponents: NDArray[np.int32]) -> NDArray[Float]:
    """Multiply each block, in place, with its power of two, and return it.

    As `np.ldexp` would, and many times as fast. Two factors where 2^exponent alone is no normal float. What is inexact
    in between is a number that the second factor makes still smaller: far below half a step when numbers become
    integers. When integers become numbers, there is nothing between that is not exact.
    """
    one, limit = blocks.dtype.type(1), np.finfo(blocks.dtype).maxexp - 2
    factors = [exponents]
    if exponents.max(initial=0) > limit or exponents.min(initial=0) < -limit:
        factors = [exponents >> 1, exponents - (exponents >> 1)]
    with np.errstate(over="ignore", under="ignore"):
        for factor in factors:
            blocks *= np.ldexp(one, factor)[:, np.newaxis]
    return blocks


def _largest(blocks: NDArray[Any]) -> NDArray[Any]:
    """Return the largest magnitude of each block; a NaN is larger than an infinity.

    Without the sign, the bits are in the order of the numbers, and integers are compared much faster.
    """
    if not blocks.shape[1]:
        return np.zeros(len(blocks), blocks.dtype)
    bits = np.dtype(f"u{blocks.dtype.itemsize}").type
    return (blocks.view(bits) & (~bits(0) >> bits(1))).max(axis=1).view(blocks.dtype)


def _error(exponents: NDArray[np.int32], ranks: int) -> NDArray[np.float64]:
    return ranks / 2 * np.ldexp(1.0, exponents - 30 + headroom(ranks))


def _unit_exponents(agreed: Codewords, ranks: int) -> NDArray[np.int32]:
    """Return u for each block: the integers count multiples of 2^u."""
    return exponents(agreed) - 30 + headroom(ranks)


def _with_check(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Append the CRC-16 of each code of up to 15 bits."""
    codes = codes.astype(np.int32) & (1 << _CODE_BITS) - 1
    return codes << _CHECK_BITS | _checks()[codes]


@cache
def _checks() -> NDArray[np.int32]:
    """Return the CRC-16 of every code."""
    remainder = np.arange(1 << _CODE_BITS) << _CHECK_BITS
    for bit in range(_CODE_BITS + _CHECK_BITS - 1, _CHECK_BITS - 1, -1):
        remainder ^= (remainder >> bit & 1) * (_POLYNOMIAL << bit - _CHECK_BITS)
    return remainder.astype(np.int32)
