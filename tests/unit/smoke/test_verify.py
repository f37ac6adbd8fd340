from __future__ import annotations

import numpy as np
import pytest

from cais_tools.smoke.plan import OPERATIONS, Plan, Step
from cais_tools.smoke.verify import explain, first_wrong, float_bound, locate
from cais_tools.wire import Op
from cais_tools.worker.transfer import Rows, Transfer
from tests.unit.smoke.simulated import run_step

LANES = 16
PORTS = (1, 2, 3, 4)


def _step(name: str, *, number: int = 2, ranks: int = 4, size: int = 4000) -> Step:
    return Plan((OPERATIONS[name],), steps=5, ranks=ranks, size=size, seed=3).step(number, OPERATIONS[name])


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_what_the_plans_give_is_what_the_reference_says(name: str, ranks: int) -> None:
    step = _step(name, ranks=ranks)
    results, _ = run_step(step, LANES)
    assert first_wrong(step, results, LANES) is None


@pytest.mark.parametrize("name", [name for name in OPERATIONS if not name.startswith("sum-")])
@pytest.mark.parametrize("where", [0, 1, 17, 200])
def test_a_wrong_element_is_found_where_it_travels(name: str, where: int) -> None:
    """A lane that is flipped on its way out is named by the very chunk and lane."""
    step = _step(name)
    flipped: list[tuple[int, int]] = []

    def flip(transfer: Transfer, rows: Rows) -> Rows:
        packet, lane = divmod(where % (transfer.packets * LANES // 8), LANES)
        spoiled = rows.copy()
        spoiled[packet, lane] ^= np.int32(4)
        flipped.append((int(transfer.chunk_ids[packet]), lane))
        return spoiled

    results, _ = run_step(step, LANES, flip)
    wrong = first_wrong(step, results, LANES)
    assert wrong is not None
    mismatch = explain(step, wrong, lanes=LANES, ports=PORTS, group_id=0)
    assert (mismatch.chunk, mismatch.lane) == flipped[0]
    assert int(mismatch.expected) ^ int(mismatch.got) == 4
    assert mismatch.cause.startswith(f"a flipped bit (bit 2 of lane {mismatch.lane})")


@pytest.mark.parametrize("name", [name for name in OPERATIONS if not name.startswith("sum-")])
def test_places_agree_with_the_layout_when_chunks_start_again(name: str) -> None:
    """More packets than chunk_ids: the tensor is cut into several operations."""
    lanes = 2
    step = _step(name, size=8 * 100_000)
    _, sent = run_step(step, lanes)
    numbers = np.concatenate([transfers[0].chunk_ids for transfers in sent])
    count = len(step.inputs[0])
    for rank, index in ((0, 0), (1, 1), (2, 20_000), (3, 16_383), (1, 24_999)):
        place = locate(step, rank, index * lanes, lanes)
        if step.operation.op is Op.ALLGATHER:
            owner, inside = divmod(index * lanes, count)
            packet = inside // lanes * step.ranks + owner
        elif step.operation.sharded:
            packet = index * step.ranks + rank
        else:
            packet = index
        assert place.chunk == numbers[packet]


def test_a_missing_rank_is_found_in_a_sum() -> None:
    step = _step("sum")
    results = [values - step.inputs[2] for values in run_step(step, LANES)[0] if values is not None]
    wrong = first_wrong(step, results, LANES)
    assert wrong is not None
    mismatch = explain(step, wrong, lanes=LANES, ports=(5, 6, 7, 8), group_id=0)
    assert "rank 2 (port 7)" in mismatch.cause


@pytest.mark.parametrize("name", ["reduce-scatter", "all-gather"])
def test_parts_in_the_wrong_order_are_a_wrong_port(name: str) -> None:
    step = _step(name)
    results, _ = run_step(step, LANES)
    if name == "all-gather":
        results = [None if values is None else np.roll(values, len(step.inputs[0])) for values in results]
    else:
        results = [results[1], results[0], *results[2:]]
    wrong = first_wrong(step, results, LANES)
    assert wrong is not None
    cause = explain(step, wrong, lanes=LANES, ports=PORTS, group_id=0).cause
    assert cause.startswith("wrong port")


def test_a_rank_that_gets_nothing_is_a_wrong_port() -> None:
    step = _step("reduce")
    wrong = first_wrong(step, [None] * 4, LANES)
    assert wrong is not None
    assert explain(step, wrong, lanes=LANES, ports=PORTS, group_id=0).cause.startswith("wrong port")


@pytest.mark.parametrize(("name", "small"), [("sum-float32", 1e-6), ("sum-float16", 2e-3), ("sum-bfloat16", 2e-2)])
def test_floats_hold_the_stated_bound_and_not_much_less(name: str, small: float) -> None:
    step = _step(name)
    results, _ = run_step(step, LANES)
    exact = np.sum([values.astype(np.float64) for values in step.inputs], axis=0)
    bound = float_bound(step, LANES)
    for values in results:
        assert values is not None
        assert (np.abs(values - exact) <= bound).all()
    assert (bound < small * np.max(np.abs(step.inputs))).all()


@pytest.mark.parametrize("name", ["sum-float32", "sum-float16", "sum-bfloat16"])
def test_a_float_sum_one_unit_off_is_wrong(name: str) -> None:
    """Integer sums do not depend on the order, so that there is but one right result."""
    step = _step(name)
    results, _ = run_step(step, LANES)
    assert results[1] is not None
    results[1] = results[1].copy()
    results[1][37] = np.nextafter(results[1][37], np.float32(np.inf))
    wrong = first_wrong(step, results, LANES)
    assert wrong is not None
    assert (wrong.rank, wrong.index) == (1, 37)


def test_two_elements_of_16_bits_travel_in_a_lane() -> None:
    step = _step("sum-bfloat16")
    first, second = (locate(step, 0, index, LANES) for index in (3 * 2 * LANES + 5, 3 * 2 * LANES + LANES + 5))
    assert first == second
    assert (first.chunk, first.lane, first.elements) == (3, 5, slice(6 * LANES, 8 * LANES))
