"""Sums of float16 and bfloat16: two to a word, error bound, extremes, NaN and infinities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from cais_tools.errors import UsageError
from cais_tools.wire import Op
from cais_tools.worker import blocks, collectives, halves
from cais_tools.worker.config import Membership
from tests.unit.worker.model import SCATTERED, in_lock_step

LANES = 4
Tensor = NDArray[Any]


@dataclass(frozen=True)
class Kind:
    """A type by its bits: what is in `array` is `dtype`, as `collectives` takes it."""

    name: str
    dtype: type[Any]
    largest: float
    subnormal: float

    @property
    def bfloat16(self) -> bool:
        return self.dtype is np.uint16

    def array(self, values: Any) -> Tensor:
        """The nearest numbers of the type."""
        wide = np.asarray(values, np.float32)
        return halves.to_bfloat16(wide) if self.bfloat16 else halves.to_float16(wide)

    def of_bits(self, bits: Tensor) -> Tensor:
        return bits.view(self.dtype)

    def wide(self, array: Tensor) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return (halves.from_bfloat16(array) if self.bfloat16 else halves.from_float16(array)).astype(np.float64)


FLOAT16 = Kind("float16", np.float16, 65504.0, 2.0**-24)
BFLOAT16 = Kind("bfloat16", np.uint16, 2.0**128 - 2.0**120, 2.0**-133)
kinds = pytest.mark.parametrize("kind", [FLOAT16, BFLOAT16], ids=lambda kind: kind.name)

Call = Callable[[Membership, Tensor], collectives.Plan[Any]]


def run(inputs: Tensor, call: Call, lanes: int = LANES) -> list[Any]:
    members = [Membership(0, rank, len(inputs), 64, lanes) for rank in range(len(inputs))]
    return in_lock_step([call(member, inputs[member.rank]) for member in members], lanes=lanes)


def summed(kind: Kind, inputs: Tensor, lanes: int = LANES) -> Tensor:
    results = run(inputs, lambda m, x: collectives.all_reduce(m, x, Op.ALLREDUCE, 0, bfloat16=kind.bfloat16), lanes)
    for result in results:
        assert result.dtype == kind.dtype
        np.testing.assert_array_equal(result.view(np.uint16), results[0].view(np.uint16))
    return results[0]


def assert_within_bound(kind: Kind, inputs: Tensor, lanes: int = LANES) -> None:
    """Compare with the bound as the docstring has it, and with `error_bound`."""
    got, wide = kind.wide(summed(kind, inputs, lanes)), kind.wide(inputs)
    finite = np.where(np.isfinite(wide), wide, 0)
    with np.errstate(invalid="ignore"):
        special = np.where(np.isfinite(wide), 0, wide).sum(axis=0)
    np.testing.assert_array_equal(got[special != 0], special[special != 0])
    exact = finite.sum(axis=0)
    assert_stated_bound(kind, finite, np.where(special == 0, got, exact), exact, lanes)
    certain = (special == 0) & (np.abs(finite).sum(axis=0) * 1.1 < kind.largest)
    assert np.all(np.abs(got - exact)[certain] <= halves.error_bound(inputs, lanes)[certain])


def assert_stated_bound(kind: Kind, finite: Tensor, got: Tensor, exact: Tensor, lanes: int) -> None:
    ranks, eps = len(finite), 2.0**-10 if kind is FLOAT16 else 2.0**-7
    for start in range(0, finite.shape[1], 2 * lanes):
        part = slice(start, start + 2 * lanes)
        exponent = int(np.frexp(np.abs(finite[:, part]).max())[1])
        bound = ranks * 2.0 ** (exponent - 15 + (ranks - 1).bit_length())
        rounding = np.maximum((np.abs(exact[part]) + bound) * eps, kind.subnormal) / 2
        within = np.abs(exact[part]) + bound + rounding <= kind.largest
        assert np.all(np.abs(got[part] - exact[part])[within] <= (bound + rounding)[within])


@kinds
@pytest.mark.parametrize("values", ["all", "finite"])
def test_sums_keep_the_bound(kind: Kind, values: str) -> None:
    @given(hnp.arrays(np.uint16, st.tuples(st.integers(1, 6), st.integers(1, 19))))
    @settings(deadline=None)
    def check(bits: NDArray[np.uint16]) -> None:
        inputs = kind.of_bits(bits)
        if values == "finite":
            inputs = np.where(np.isfinite(kind.wide(inputs)), inputs, kind.dtype(0))
        assert_within_bound(kind, inputs)

    check()


@kinds
@pytest.mark.parametrize("ranks", range(2, 33))
def test_any_number_of_ranks(kind: Kind, ranks: int) -> None:
    random = np.random.default_rng(ranks)
    assert_within_bound(kind, kind.array(random.normal(0, 1e-3, (ranks, 301))), 64)
    assert_within_bound(
        kind, kind.array(random.normal(size=(ranks, 301)) * 10.0 ** random.integers(-8, 4, (ranks, 301)))
    )


@kinds
@pytest.mark.parametrize("ranks", range(2, 33))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_of_all_ranks_fit_into_a_field(kind: Kind, ranks: int, sign: float) -> None:
    """What overflows in one half must not be seen in the other."""
    just_below = 2 * (1 - 2.0 ** (-11 if kind is FLOAT16 else -8))  # float16 rounds up to what does not fit
    inputs = np.zeros((ranks, 2 * LANES), np.float32)
    inputs[:, 0], inputs[:, LANES], inputs[:, 1], inputs[:, LANES + 2] = sign, -sign, 1, -1
    inputs *= just_below
    assert_within_bound(kind, kind.array(inputs))
    got = kind.wide(summed(kind, kind.array(inputs)))
    assert np.count_nonzero(got) == 4
    np.testing.assert_allclose(got[[0, LANES]], [sign * just_below * ranks, -sign * just_below * ranks], rtol=2.0**-7)
    np.testing.assert_array_equal(
        kind.wide(summed(kind, kind.array(np.full((ranks, 9), sign * kind.largest)))), sign * np.inf
    )


@kinds
def test_every_field_survives_the_switch(kind: Kind) -> None:
    """Whatever two numbers meet in a word."""
    values = np.arange(-(2**15) + 2, 2**15 - 1, 97)
    upper, lower = np.meshgrid(values, values)
    fields = np.concatenate((upper.reshape(-1, 1), lower.reshape(-1, 1)), axis=1).astype(np.int32)
    words = halves._pack(fields)
    np.testing.assert_array_equal(words, (fields[:, :1].astype(np.int64) << 16) + fields[:, 1:])
    np.testing.assert_array_equal(halves._unpack(words), fields)


@kinds
def test_a_word_that_no_sum_can_be_is_no_crash(kind: Kind) -> None:
    assert halves._unpack(np.array([[0x7FFFFFFF], [-(2**31)], [0x7FFF8000]], np.int32)).shape == (3, 2)


@kinds
def test_zeros_and_nothing_and_denormals(kind: Kind) -> None:
    np.testing.assert_array_equal(kind.wide(summed(kind, kind.array(np.zeros((3, 9))))), np.zeros(9))
    assert summed(kind, kind.array(np.zeros((3, 0)))).shape == (0,)
    tiny = kind.array(np.arange(27).reshape(3, 9) * np.float32(kind.subnormal))
    assert kind.wide(tiny).max() > 0
    np.testing.assert_array_equal(kind.wide(summed(kind, tiny)), kind.wide(tiny).sum(axis=0))


@kinds
def test_few_bits_are_exact(kind: Kind) -> None:
    inputs = np.random.default_rng(1).integers(-31, 32, (4, 1001)).astype(np.float32)
    np.testing.assert_array_equal(kind.wide(summed(kind, kind.array(inputs), 64)), inputs.sum(axis=0))


@kinds
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, LANES, 2 * LANES + 1])
def test_one_that_is_not_finite_spares_its_neighbours(kind: Kind, special: float, place: int) -> None:
    inputs = np.ones((3, 2 * LANES + 3), np.float32)
    inputs[1, place] = special
    got = kind.wide(summed(kind, kind.array(inputs)))
    np.testing.assert_array_equal(got, inputs.sum(axis=0))


@kinds
def test_all_of_32_ranks_may_be_infinite(kind: Kind) -> None:
    inputs = np.stack([np.full(32, np.nan), np.full(32, np.inf), np.full(32, -np.inf), np.ones(32)], axis=1)
    inputs = np.tile(inputs, (1, 2))
    inputs[7, 6] = np.inf
    np.testing.assert_array_equal(
        kind.wide(summed(kind, kind.array(inputs))), [np.nan, np.inf, -np.inf, 32, np.nan, np.inf, np.nan, 32]
    )


@kinds
def test_more_than_the_largest_is_infinite(kind: Kind) -> None:
    np.testing.assert_array_equal(kind.wide(summed(kind, kind.array([[kind.largest], [kind.largest]]))), [np.inf])
    np.testing.assert_array_equal(kind.wide(summed(kind, kind.array([[-kind.largest], [-kind.largest]]))), [-np.inf])


@kinds
def test_half_the_packets_of_float32(kind: Kind) -> None:
    def packets(inputs: Tensor, **how: Any) -> list[int]:
        seen: list[int] = []

        def call(member: Membership, array: Tensor) -> collectives.Plan[Any]:
            plan = collectives.all_reduce(member, array, Op.ALLREDUCE, 0, **how)
            transfer = next(plan)
            while True:
                seen.append(transfer.packets)
                try:
                    transfer = plan.send((yield transfer))
                except StopIteration as stop:
                    return stop.value

        run(inputs, call, 64)
        return seen[:: len(inputs)]

    values = np.ones((2, 64 * 256), np.float32)
    assert packets(values) == [8, 256]
    assert packets(kind.array(values), bfloat16=kind.bfloat16) == [4, 128]


@kinds
@pytest.mark.parametrize("shape", [(4,), (8, 3), (4, 0), (4, 5, 2)])
def test_reduce_scatter_and_reduce(kind: Kind, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).integers(-31, 32, (4, *shape)).astype(np.float32)
    inputs, want = kind.array(values), values.sum(axis=0)
    part = shape[0] // 4
    scattered = run(inputs, lambda m, x: collectives.reduce_scatter(m, x, SCATTERED, bfloat16=kind.bfloat16))
    for rank, result in enumerate(scattered):
        assert result.dtype == kind.dtype
        np.testing.assert_array_equal(kind.wide(result), want[rank * part : (rank + 1) * part])
    reduced = run(inputs, lambda m, x: collectives.reduce(m, x, 2, SCATTERED, bfloat16=kind.bfloat16))
    assert [result is None for result in reduced] == [True, True, False, True]
    np.testing.assert_array_equal(kind.wide(reduced[2]), want)


@kinds
def test_reduce_scatter_with_nan(kind: Kind) -> None:
    values = np.ones((2, 40), np.float32)
    values[0, 3], values[1, 32], values[1, 33] = np.nan, np.inf, -np.inf
    inputs = kind.array(values)
    parts = run(inputs, lambda m, x: collectives.reduce_scatter(m, x, SCATTERED, bfloat16=kind.bfloat16))
    np.testing.assert_array_equal(kind.wide(np.concatenate(parts)), values.sum(axis=0))


@kinds
@pytest.mark.parametrize(("op", "reference"), [(Op.ALLREDUCE_MAX, np.maximum), (Op.ALLREDUCE_MIN, np.minimum)])
def test_max_and_min_are_exact(kind: Kind, op: Op, reference: np.ufunc) -> None:
    @given(hnp.arrays(np.uint16, st.tuples(st.integers(1, 5), st.integers(0, 9))))
    @settings(deadline=None)
    def check(bits: NDArray[np.uint16]) -> None:
        inputs = kind.of_bits(bits)
        for result in run(inputs, lambda m, x: collectives.all_reduce(m, x, op, 0, bfloat16=kind.bfloat16)):
            assert result.dtype == kind.dtype
            np.testing.assert_array_equal(kind.wide(result), reference.reduce(kind.wide(inputs)))

    check()


def test_every_bfloat16_is_what_it_says() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    values = halves.from_bfloat16(bits)
    ours = halves.to_bfloat16(values)
    nan = np.isnan(values)
    np.testing.assert_array_equal(ours[~nan], bits[~nan])
    assert np.isnan(halves.from_bfloat16(ours[nan])).all()


def test_bfloat16_rounds_to_the_nearest_and_ties_to_even() -> None:
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 2**-8, 2.0**128 - 2.0**119, 3e38], np.float32)
    want = [1.0, 1 + 2**-6, 1 + 2**-7, -1.0, np.inf, 226 * 2.0**120]
    np.testing.assert_array_equal(halves.from_bfloat16(halves.to_bfloat16(values)), np.array(want, np.float32))


def test_bits_that_nobody_called_bfloat16_are_refused() -> None:
    member = Membership(0, 0, 2, 64, LANES)
    with pytest.raises(UsageError, match="allreduce of uint16 is not supported") as caught:
        next(collectives.all_reduce(member, np.zeros(3, np.uint16), Op.ALLREDUCE, 0))
    assert "bfloat16, say so" in str(caught.value.hint)
    with pytest.raises(UsageError, match="int16 holds no bfloat16"):
        next(collectives.reduce_scatter(member, np.zeros(4, np.int16), 0, bfloat16=True))


def test_other_byte_orders_and_strides() -> None:
    values = np.arange(24, dtype=">f2").reshape(4, 6).T[::2]
    for result in run(np.stack([values, values]), lambda m, _: collectives.all_reduce(m, values, Op.ALLREDUCE, 0)):
        np.testing.assert_array_equal(result, values * 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_is_that_of_ldexp(dtype: type[np.floating[Any]]) -> None:
    """Also where the power of two alone is no number."""
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant - 40, info.maxexp + 40, dtype=np.int32)
    for value in (dtype(1), dtype(-3), info.smallest_subnormal):
        values = np.full((len(exponents), 1), value, dtype)
        with np.errstate(over="ignore", under="ignore"):
            want = np.ldexp(values, exponents[:, np.newaxis])
            np.testing.assert_array_equal(blocks.scaled(values, exponents), want)
