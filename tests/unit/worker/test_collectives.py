"""Operations on tensors, without packets: shapes, types, order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from cais_tools.errors import UsageError
from cais_tools.wire import Op
from cais_tools.worker import collectives, layout, ordered
from cais_tools.worker.config import Membership, Timing
from tests.unit.worker.model import SCATTERED, in_lock_step

LANES = 4
Tensor = NDArray[Any]


def members(ranks: int, lanes: int = LANES) -> list[Membership]:
    return [Membership(0, rank, ranks, 64, lanes) for rank in range(ranks)]


def run(ranks: int, call: Callable[[Membership], collectives.Plan[Any]], lanes: int = LANES) -> list[Any]:
    return in_lock_step([call(member) for member in members(ranks, lanes)], lanes=lanes)


int32 = st.integers(-(2**31), 2**31 - 1)
REDUCTIONS: dict[Op, Callable[[Tensor], Tensor]] = {
    Op.ALLREDUCE: lambda x: x.sum(axis=0, dtype=np.int32),
    Op.ALLREDUCE_MAX: lambda x: x.max(axis=0),
    Op.ALLREDUCE_MIN: lambda x: x.min(axis=0),
    Op.ALLREDUCE_PRODUCT: lambda x: x.prod(axis=0, dtype=np.int32),
}


@given(
    hnp.arrays(np.int32, st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)), elements=int32),
    st.sampled_from(list(REDUCTIONS)),
)
@settings(deadline=None)
def test_int32_reductions_are_numpys(inputs: Tensor, op: Op) -> None:
    for result in run(len(inputs), lambda m: collectives.all_reduce(m, inputs[m.rank], op, 0)):
        np.testing.assert_array_equal(result, REDUCTIONS[op](inputs))
        assert result.dtype == np.int32


@pytest.mark.parametrize(
    "array", [np.int32(7), np.arange(24, dtype=">i4").reshape(4, 6).T[::2], np.zeros((3, 0), np.int32)]
)
def test_any_shape_and_layout(array: Tensor) -> None:
    array = np.asarray(array)
    before = array.copy()
    for result in run(2, lambda m: collectives.all_reduce(m, array, Op.ALLREDUCE, 0)):
        assert result.shape == array.shape
        np.testing.assert_array_equal(result, array * 2)
    np.testing.assert_array_equal(array, before)


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.floats(width=32)),
    st.booleans(),
)
@settings(deadline=None)
def test_float32_max_and_min_are_numpys(inputs: Tensor, greatest: bool) -> None:
    op, reference = (Op.ALLREDUCE_MAX, np.maximum) if greatest else (Op.ALLREDUCE_MIN, np.minimum)
    for result in run(len(inputs), lambda m: collectives.all_reduce(m, inputs[m.rank], op, 0)):
        np.testing.assert_array_equal(result, reference.reduce(inputs))
        assert result.dtype == np.float32


@given(hnp.arrays(np.float32, 8, elements=st.floats(width=32, allow_nan=False)))
def test_the_order_of_float32_is_that_of_the_integers(values: Tensor) -> None:
    words = ordered.to_ordered(values, nan_first=False)
    np.testing.assert_array_equal(ordered.from_ordered(words).view(np.int32), values.view(np.int32))
    by_value, by_word = values[:, np.newaxis] < values, words[:, np.newaxis] < words
    assert np.all(by_word | ~by_value)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4,), (8, 3), (4, 0), (4, 5, 2)])
def test_reduce_scatter_gives_each_rank_its_part(dtype: type[Any], shape: tuple[int, ...]) -> None:
    inputs = np.random.default_rng(1).integers(-1000, 1000, (4, *shape)).astype(dtype)
    want = inputs.sum(axis=0, dtype=dtype)
    part = shape[0] // 4
    for rank, result in enumerate(run(4, lambda m: collectives.reduce_scatter(m, inputs[m.rank], SCATTERED))):
        np.testing.assert_array_equal(result, want[rank * part : (rank + 1) * part])
        assert result.dtype == dtype


def test_reduce_scatter_of_floats_with_nan() -> None:
    inputs = np.ones((2, 20), np.float32)
    inputs[0, 3], inputs[1, 12], inputs[1, 13] = np.nan, np.inf, -np.inf
    first, second = run(2, lambda m: collectives.reduce_scatter(m, inputs[m.rank], SCATTERED))
    np.testing.assert_array_equal(np.concatenate((first, second)), inputs.sum(axis=0))


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_reduce_gives_the_root_alone_the_sum(dtype: type[Any]) -> None:
    inputs = np.arange(30).reshape(3, 10).astype(dtype)
    results = run(3, lambda m: collectives.reduce(m, inputs[m.rank], 1, SCATTERED))
    assert results[0] is None
    assert results[2] is None
    np.testing.assert_array_equal(results[1], inputs.sum(axis=0))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float16, np.float64, np.bool_, np.complex128])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0, 2)])
def test_gather_and_broadcast_take_any_type(dtype: type[Any], shape: tuple[int, ...]) -> None:
    inputs = np.random.default_rng(2).integers(0, 100, (3, *shape)).astype(dtype)
    for result in run(3, lambda m: collectives.all_gather(m, inputs[m.rank], 0)):
        np.testing.assert_array_equal(result, inputs)
        assert result.dtype == dtype
    for result in run(3, lambda m: collectives.broadcast(m, inputs[m.rank], 2, 0)):
        np.testing.assert_array_equal(result, inputs[2])
        assert result.shape == shape


def test_gathered_floats_keep_every_bit() -> None:
    inputs = np.array([[np.nan, -0.0], [np.inf, 5e-324]])
    inputs.view(np.uint64)[0, 0] |= np.uint64(0x123)
    for result in run(2, lambda m: collectives.all_gather(m, inputs[m.rank], 0)):
        np.testing.assert_array_equal(result.view(np.uint64), inputs.view(np.uint64))


def test_large_tensors_are_several_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MAX_PACKETS", 5)
    inputs = np.random.default_rng(3).integers(-9, 9, (2, 62), np.int32)
    plan = collectives.all_reduce(members(2)[0], inputs[0], Op.ALLREDUCE, 0)
    assert next(plan).packets == 5
    total = inputs.sum(axis=0, dtype=np.int32)
    calls: list[tuple[Callable[[Membership], collectives.Plan[Any]], list[Tensor]]] = [
        (lambda m: collectives.all_reduce(m, inputs[m.rank], Op.ALLREDUCE, 0), [total, total]),
        (lambda m: collectives.all_reduce(m, inputs[m.rank].astype(np.float32), Op.ALLREDUCE, 0), [total, total]),
        (lambda m: collectives.all_gather(m, inputs[m.rank], 0), [inputs, inputs]),
        (lambda m: collectives.broadcast(m, inputs[m.rank], 1, 0), [inputs[1], inputs[1]]),
        (lambda m: collectives.reduce_scatter(m, inputs[m.rank], SCATTERED), [total[:31], total[31:]]),
    ]
    for call, want in calls:
        for result, expected in zip(run(2, call), want, strict=True):
            np.testing.assert_array_equal(result, expected)


def test_payload_len_of_the_last_packet_is_what_is_left() -> None:
    transfer = next(collectives.all_reduce(members(2)[0], np.arange(6, dtype=np.int32), Op.ALLREDUCE, 0))
    assert transfer.valid_bytes.tolist() == [16, 8]
    np.testing.assert_array_equal(transfer.payload, [[0, 1, 2, 3], [4, 5, 0, 0]])


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        (np.int64, Op.ALLREDUCE),
        (np.uint16, Op.ALLREDUCE),
        (np.bool_, Op.ALLREDUCE),
        (np.float64, Op.ALLREDUCE_MAX),
        (np.float64, Op.ALLREDUCE_MIN),
        (np.float32, Op.ALLREDUCE_PRODUCT),
        (np.float16, Op.ALLREDUCE_PRODUCT),
    ],
)
def test_what_is_not_supported_is_said(dtype: type[Any], op: Op) -> None:
    with pytest.raises(UsageError, match=f"{op.label} of {np.dtype(dtype).name} is not supported") as caught:
        next(collectives.all_reduce(members(2)[0], np.zeros(3, dtype), op, 0))
    assert caught.value.hint is not None
    assert "allreduce-max: int32, float32, float16, bfloat16" in caught.value.hint


def test_bad_calls_are_refused() -> None:
    member = members(2)[0]
    array = np.zeros(3, np.int32)
    with pytest.raises(UsageError, match="cannot be scattered"):
        next(collectives.reduce_scatter(member, array, 0))
    with pytest.raises(UsageError, match="rank 2"):
        next(collectives.broadcast(member, array, 2, 0))
    with pytest.raises(UsageError, match="rank -1"):
        next(collectives.reduce(member, array, -1, 0))
    with pytest.raises(UsageError, match="reduces nothing"):
        next(collectives.all_reduce(member, array, Op.BROADCAST, 0))
    with pytest.raises(UsageError, match="no bytes"):
        next(collectives.all_gather(member, np.array([object()]), 0))


@pytest.mark.parametrize(
    "impossible",
    [
        {"group_id": 256},
        {"rank": 2},
        {"rank": -1},
        {"ranks": 33},
        {"ranks": 0},
        {"slots": 12},
        {"slots": 1},
        {"lanes": 0},
    ],
)
def test_impossible_memberships_are_refused(impossible: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        replace(members(2)[0], **impossible)  # pyright: ignore[reportArgumentType]


def test_impossible_timings_are_refused() -> None:
    for timing in ({"timeout": 0.0}, {"min_rto": 2.0}, {"first_window": 0}):
        with pytest.raises(UsageError):
            Timing(**timing)  # pyright: ignore[reportArgumentType]
