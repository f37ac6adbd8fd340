"""Block floating point: codewords, integers, error bound, NaN and infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from cais_tools.wire import Op
from cais_tools.worker import blocks, collectives
from cais_tools.worker.config import Membership
from tests.unit.worker.model import in_lock_step

LANES = 4


def summed(inputs: NDArray[Any], lanes: int = LANES) -> NDArray[Any]:
    ranks = len(inputs)
    members = [Membership(0, rank, ranks, 64, lanes) for rank in range(ranks)]
    results = in_lock_step([collectives.all_reduce(m, inputs[m.rank], Op.ALLREDUCE, 0) for m in members], lanes=lanes)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])  # every rank has the same numbers
    assert results[0].dtype == inputs.dtype
    return results[0]


def ieee_class(inputs: NDArray[Any]) -> NDArray[np.float64]:
    """What non-finite inputs make of a sum; 0 where all are finite."""
    special = np.where(np.isfinite(inputs), 0.0, inputs).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return special.sum(axis=0)


def assert_within_bound(inputs: NDArray[Any], lanes: int = LANES) -> None:
    result = summed(inputs, lanes).astype(np.float64)
    ranks = len(inputs)
    wide = inputs.astype(np.longdouble)
    finite = np.where(np.isfinite(wide), wide, 0)
    special = ieee_class(inputs)
    np.testing.assert_array_equal(result[special != 0], special[special != 0])
    for start in range(0, inputs.shape[1], lanes):
        block = finite[:, start : start + lanes]
        exponent = int(np.frexp(np.abs(block).max(initial=0))[1])
        unit = np.ldexp(np.longdouble(1), exponent - 30 + (ranks - 1).bit_length())
        exact = block.sum(axis=0)
        info = np.finfo(inputs.dtype)
        rounding = np.maximum(np.abs(exact) * np.longdouble(info.eps), np.longdouble(info.smallest_subnormal))
        bound = ranks / 2 * unit + rounding
        for got, want, limit, kind in zip(
            result[start : start + lanes], exact, bound, special[start : start + lanes], strict=True
        ):
            if kind == 0 and abs(want) + limit <= info.max:
                assert abs(got - want) <= limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signalling_nans_make_numpy_complain_of_nothing(dtype: type[np.floating[Any]]) -> None:
    inputs = np.array([[np.inf], [1.0]], dtype)
    inputs.view(np.uint32 if dtype is np.float32 else np.uint64)[0] += 1
    np.testing.assert_array_equal(summed(inputs), [np.nan])


EDGE_64 = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.0, 1e300, -1.7976931348623157e308]
NON_FINITE = [float("nan"), float("inf"), float("-inf")]


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 13)),
        elements=st.floats(width=32) | st.sampled_from(NON_FINITE),
    )
)
@settings(deadline=None)
def test_float32_sums_keep_the_bound(inputs: NDArray[np.float32]) -> None:
    assert_within_bound(inputs)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 13)),
        elements=st.floats() | st.sampled_from(EDGE_64 + NON_FINITE),
    )
)
@settings(deadline=None)
def test_float64_sums_keep_the_bound(inputs: NDArray[np.float64]) -> None:
    assert_within_bound(inputs)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 31, 32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_sum_of_extremes_overflows(ranks: int, dtype: type[np.floating[Any]], sign: int) -> None:
    just_below = np.nextafter(dtype(2), dtype(0))  # rounds up to the largest integer that a rank may send
    inputs = np.full((ranks, 5), sign * just_below, dtype)
    np.testing.assert_allclose(summed(inputs), sign * float(just_below) * ranks, rtol=1e-7)


@pytest.mark.parametrize("ranks", [2, 32])
def test_random_sums_of_many_ranks(ranks: int) -> None:
    random = np.random.default_rng(ranks)
    assert_within_bound(random.normal(0, 1e-3, (ranks, 500)).astype(np.float32), 64)
    assert_within_bound(random.normal(size=(ranks, 500)) * 10.0 ** random.integers(-30, 30, (ranks, 500)), 64)


def test_sums_of_zeros_and_of_nothing() -> None:
    np.testing.assert_array_equal(summed(np.zeros((3, 9), np.float32)), np.zeros(9))
    assert summed(np.zeros((3, 0), np.float64)).shape == (0,)


def test_denormals_alone_are_exact() -> None:
    tiny = np.finfo(np.float32).smallest_subnormal
    inputs = (np.arange(12).reshape(3, 4) * tiny).astype(np.float32)
    np.testing.assert_array_equal(summed(inputs), inputs.sum(axis=0))
    least = np.array([[5e-324], [5e-324]])
    np.testing.assert_array_equal(summed(least), [1e-323])


def test_more_than_the_largest_float_is_infinite() -> None:
    for dtype in (np.float32, np.float64):
        largest = np.finfo(dtype).max
        np.testing.assert_array_equal(summed(np.full((2, 1), largest, dtype)), [np.inf])
        np.testing.assert_array_equal(summed(np.full((2, 1), -largest, dtype)), [-np.inf])


def test_nan_and_infinity_spare_their_neighbours() -> None:
    nan, inf = np.nan, np.inf
    inputs = np.array(
        [
            [1.0, nan, inf, -inf, inf, nan, 1.5, 0.0],
            [2.0, 1.0, 1.0, 1e30, -inf, inf, nan, -inf],
            [4.0, 1.0, inf, -inf, 1.0, -inf, inf, 0.0],
        ],
        np.float32,
    )
    want = [7.0, nan, inf, -inf, nan, nan, nan, -inf]
    np.testing.assert_array_equal(summed(inputs, 8)[1:], want[1:])
    np.testing.assert_array_equal(summed(inputs, 3), want)  # 1e30 is in another block now


def test_all_of_32_ranks_may_be_infinite() -> None:
    inputs = np.stack([np.full(32, np.nan), np.full(32, np.inf), np.full(32, -np.inf), np.ones(32)], axis=1)
    np.testing.assert_array_equal(summed(inputs), [np.nan, np.inf, -np.inf, 32.0])


@given(hnp.arrays(np.float32, (5, LANES), elements=st.floats(width=32, allow_nan=False)), st.integers(0, 32))
@settings(deadline=None)
def test_float32_becomes_the_same_integers_as_in_float64(values: NDArray[np.float32], more: int) -> None:
    """Whatever the exponents, and if other ranks have larger ones."""
    agreed = np.maximum(blocks.codewords(values), blocks.codewords(np.full((5, 1), 2.0 ** (more * 8 - 128))))
    wide = values.astype(np.float64)
    np.testing.assert_array_equal(blocks.quantise(values, agreed, 4), blocks.quantise(wide, agreed, 4))
    np.testing.assert_array_equal(blocks.codewords(values), blocks.codewords(wide))


@given(st.integers(0, 2124), st.integers(0, 30))
def test_a_flipped_bit_makes_a_codeword_implausible(code: int, bit: int) -> None:
    word = blocks._with_check(np.array([[code]]))
    none = np.zeros_like(word)
    assert blocks.plausible(none, word).all()
    assert not blocks.plausible(none, word ^ np.int32(1 << bit)).any()


def test_a_codeword_below_ones_own_is_implausible() -> None:
    small, large = blocks.codewords(np.array([[1.0]])), blocks.codewords(np.array([[2.0]]))
    assert blocks.plausible(small, large).all()
    assert not blocks.plausible(large, small).any()
    assert not blocks.plausible(small, np.full_like(small, -1)).any()


def test_the_largest_codeword_is_that_of_the_largest_exponent() -> None:
    values = np.array([0.0, 5e-324, 1e-300, 1.0, 3.0, 1e300, np.finfo(np.float64).max])
    words = blocks.codewords(values[:, np.newaxis])
    assert np.all(np.diff(words[:, 0]) > 0)
    assert np.all(words[:, 1] == 0)
    assert blocks.codewords(np.array([[np.nan]]))[0, 0] == 0
    assert blocks.has_non_finite(blocks.codewords(np.array([[np.nan, 1.0]])))[0]


def test_other_exponents_are_other_salt() -> None:
    words = blocks.codewords(np.ldexp(np.ones((2098, 1)), np.arange(-1074, 1024)[:, np.newaxis]))
    flagged = blocks.codewords(np.array([[np.inf]]))
    assert len(np.unique(blocks.salt(np.concatenate((words, flagged))))) == len(words) + 1
