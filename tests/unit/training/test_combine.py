"""What the endpoints compute, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cais_tools.errors import UsageError
from cais_tools.training.combine import combine
from cais_tools.training.operations import BFLOAT16
from cais_tools.worker.halves import from_bfloat16, to_bfloat16

RNG = np.random.default_rng(1)


def tensors(dtype: Any, ranks: int = 4) -> list[Any]:
    if np.dtype(dtype).kind == "i":
        return [RNG.integers(-(2**31), 2**31 - 1, 8, np.int64).astype(dtype) for _ in range(ranks)]
    return [RNG.standard_normal(8).astype(dtype) for _ in range(ranks)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float16, np.float32, np.float64])
def test_reductions(dtype: Any) -> None:
    given = tensors(dtype)
    wide = np.stack(given).astype(np.float64 if np.dtype(dtype).kind == "f" else dtype)
    for kind, reduce in (("ALL_REDUCE", np.sum), ("ALL_REDUCE_PRODUCT", np.prod)):
        expected = reduce(wide, axis=0, dtype=wide.dtype).astype(dtype)
        for result in combine(kind, np.dtype(dtype).name, given, 0):
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, expected)
    for kind, extreme in (("ALL_REDUCE_MAX", np.max), ("ALL_REDUCE_MIN", np.min)):
        np.testing.assert_array_equal(combine(kind, "", given, 0)[3], extreme(np.stack(given), axis=0))


def test_bfloat16_is_added_up_as_numbers_and_rounded_once() -> None:
    values = [RNG.standard_normal(100).astype(np.float32) for _ in range(3)]
    bits = [to_bfloat16(each) for each in values]
    expected = to_bfloat16(np.sum([from_bfloat16(each).astype(np.float64) for each in bits], axis=0).astype(np.float32))
    np.testing.assert_array_equal(combine("ALL_REDUCE", BFLOAT16, bits, 0)[1], expected)


def test_the_other_kinds() -> None:
    given = tensors(np.int32)
    assert all(np.array_equal(result, given[2]) for result in combine("BROADCAST", "int32", given, 2))
    np.testing.assert_array_equal(combine("ALL_GATHER", "int32", given, 0)[1], np.stack(given))
    total = np.sum(given, axis=0, dtype=np.int32)
    parts = combine("REDUCE_SCATTER", "int32", given, 0)
    np.testing.assert_array_equal(np.concatenate(parts), total)
    assert [len(part) for part in parts] == [2] * 4


def test_nan_and_infinities_survive() -> None:
    given = [np.array([np.nan, np.inf, np.inf], np.float32), np.array([1, 1, -np.inf], np.float32)]
    np.testing.assert_array_equal(combine("ALL_REDUCE", "float32", given, 0)[0], [np.nan, np.inf, np.nan])


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="no operation ALL_TO_ALL"):
        combine("ALL_TO_ALL", "int32", tensors(np.int32), 0)
