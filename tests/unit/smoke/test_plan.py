from __future__ import annotations

import numpy as np
import pytest

from cais_tools.errors import UsageError
from cais_tools.smoke.plan import OPERATIONS, Plan, operations_named


def _plan(**changes: int) -> Plan:
    values = {"steps": 3, "ranks": 4, "size": 4096, "seed": 7} | changes
    return Plan(tuple(OPERATIONS.values()), **values)


def test_every_step_runs_every_operation_in_turn() -> None:
    steps = list(_plan())
    assert [(step.number, step.operation.name) for step in steps] == [
        (number, name) for number in (1, 2, 3) for name in OPERATIONS
    ]
    assert len(steps) == _plan().total


def test_the_same_seed_gives_the_same_tensors_whatever_else_runs() -> None:
    alone = Plan(operations_named("max"), steps=3, ranks=4, size=4096, seed=7)
    together = next(step for step in _plan() if step.operation.name == "max" and step.number == 1)
    for mine, other in zip(next(iter(alone)).inputs, together.inputs, strict=True):
        assert np.array_equal(mine, other)
    other_seed = _plan(seed=8).step(1, OPERATIONS["max"])
    assert not np.array_equal(other_seed.inputs[0], together.inputs[0])


def test_integers_cover_the_full_range_and_its_ends() -> None:
    words = np.concatenate(_plan(size=65536).step(1, OPERATIONS["sum"]).inputs)
    assert words.min() == np.iinfo(np.int32).min
    assert words.max() == np.iinfo(np.int32).max
    assert (np.bincount((words.view(np.uint32) >> 30).astype(int)) > len(words) / 5).all()


def test_the_root_goes_round_the_ranks() -> None:
    roots = [step.root for step in _plan(steps=5) if step.operation.name == "broadcast"]
    assert roots == [0, 1, 2, 3, 0]


def test_sharded_operations_fall_into_equal_parts() -> None:
    plan = _plan(ranks=3, size=4096)
    assert plan.elements(OPERATIONS["reduce-scatter"]) % 3 == 0
    assert len(plan.step(1, OPERATIONS["all-gather"]).inputs[0]) * 3 == plan.elements(OPERATIONS["all-gather"])


@pytest.mark.parametrize(("text", "names"), [("sum", ["sum"]), (" max, sum ,max", ["max", "sum"])])
def test_operations_by_name(text: str, names: list[str]) -> None:
    assert [operation.name for operation in operations_named(text)] == names


@pytest.mark.parametrize("text", ["", "sum,median", "AllReduce"])
def test_unknown_operations_are_refused_with_those_that_exist(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        operations_named(text)
    assert "reduce-scatter" in (caught.value.hint or "")


def test_a_tensor_has_a_word_for_each_rank() -> None:
    with pytest.raises(UsageError, match="less than a word"):
        _plan(size=15)
