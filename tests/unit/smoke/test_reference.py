from __future__ import annotations

import numpy as np

from cais_tools.smoke.plan import OPERATIONS, Step
from cais_tools.smoke.reference import expected


def _step(name: str, inputs: list[list[int]], root: int = 0) -> Step:
    operation = OPERATIONS[name]
    return Step(1, operation, root, [np.array(values, operation.dtype) for values in inputs])


def _lists(step: Step) -> list[list[float] | None]:
    return [None if values is None else values.tolist() for values in expected(step)]


def test_sums_wrap_as_int32() -> None:
    assert _lists(_step("sum", [[2**31 - 1, -(2**31)], [1, -1]])) == [[-(2**31), 2**31 - 1]] * 2


def test_products_wrap_as_int32() -> None:
    assert _lists(_step("product", [[65536, 3], [65536, -2]])) == [[0, -6]] * 2


def test_maximum_and_minimum_are_signed() -> None:
    assert _lists(_step("max", [[-1, 5], [1, -7]])) == [[1, 5]] * 2
    assert _lists(_step("min", [[-1, 5], [1, -7]])) == [[-1, -7]] * 2


def test_gathered_parts_stand_in_the_order_of_the_ranks() -> None:
    assert _lists(_step("all-gather", [[1, 2], [3, 4]])) == [[1, 2, 3, 4]] * 2


def test_everybody_gets_what_the_root_broadcasts() -> None:
    assert _lists(_step("broadcast", [[1, 2], [3, 4]], root=1)) == [[3, 4]] * 2


def test_reduce_leaves_nothing_to_the_others() -> None:
    assert _lists(_step("reduce", [[1, 2], [3, 4]], root=1)) == [None, [4, 6]]


def test_reduce_scatter_gives_each_rank_its_part() -> None:
    assert _lists(_step("reduce-scatter", [[1, 2], [3, 4]])) == [[4], [6]]


def test_float_sums_are_exact_where_float32_would_round() -> None:
    (first, _) = expected(_step("sum-float32", [[2**24], [1]]))
    assert first is not None
    assert first.tolist() == [2**24 + 1]
