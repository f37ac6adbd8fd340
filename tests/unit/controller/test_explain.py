"""What is said of decisions afterwards, and that it costs no more memory than it should."""

from __future__ import annotations

import math

import pytest

from cais_tools.controller.explain import explain, in_one_line, threshold_history
from cais_tools.controller.history import Ring
from cais_tools.controller.policy import Policy
from cais_tools.controller.scoring import Link, Path
from tests.unit.controller.situations import GROUP, MB, inputs, reduce_of, with_score

ONE_MB, TEN_MB = reduce_of(MB), reduce_of(10 * MB)


def ticked(*scores: float, kept: int = 3000) -> Policy:
    policy = Policy(kept_ticks=kept)
    for number, each in enumerate(scores):
        policy.tick(float(number), {GROUP: with_score(each, ONE_MB)})
    return policy


def test_a_row_has_every_input_and_every_term() -> None:
    policy = Policy()
    policy.tick(7.5, {GROUP: inputs(ONE_MB, link=Link(4, 1e9, 4e9, 250e-6), sram=0.3)})
    policy.hand_out(GROUP, 128)
    (row,) = explain(policy.state(GROUP))
    assert (row.time, row.operation, row.from_operation, row.path) == (7.5, ONE_MB, 128, Path.SWITCH)
    assert (row.ranks, row.bandwidth, row.processing_rate, row.queue_delay) == (4, 1e9, 4e9, 250e-6)
    assert (row.endpoint_time, row.switch_time, row.score) == pytest.approx((1e-3, 0.5e-3, 0.375))
    assert (row.offload_threshold, row.threshold, row.sram_usage, row.admitted) == (0.2, 0.2, 0.3, True)
    assert row.reason == "score 0.375 is over the threshold 0.200"


def test_a_row_for_each_change_and_the_newest() -> None:
    rows = explain(ticked(0.1, 0.1, 0.3, 0.4, 0.18, 0.17, 0.17, 0.1, 0.1).state(GROUP))
    assert [row.time for row in rows] == [0, 2, 4, 7, 8]
    assert [row.path.name[0] for row in rows] == list("ESSEE")
    assert [round(row.score, 6) for row in rows] == [0.1, 0.3, 0.18, 0.1, 0.1]
    assert len(explain(ticked(0.1, 0.1, 0.3).state(GROUP), every=True)) == 3


def test_the_operation_from_which_on_it_holds() -> None:
    policy = ticked(0.1)
    policy.hand_out(GROUP, 10)
    policy.hand_out(GROUP, 20)
    for now, each, first in ((1, 0.3, None), (2, 0.1, 30), (3, 0.3, 40), (4, 0.3, 50), (5, 0.1, None)):
        policy.tick(now, {GROUP: with_score(each, ONE_MB)})
        if first is not None:
            policy.hand_out(GROUP, first)
    rows = {row.time: row.from_operation for row in explain(policy.state(GROUP), every=True)}
    assert rows == {0: 10, 1: None, 2: 30, 3: 40, 4: 40, 5: None}


def test_since_a_time_and_some_classes_only() -> None:
    policy = Policy()
    for now in range(6):
        policy.tick(now, {GROUP: inputs(ONE_MB, TEN_MB)})
    state = policy.state(GROUP)
    assert {row.operation for row in explain(state)} == {ONE_MB, TEN_MB}
    assert [(row.time, row.operation) for row in explain(state, classes=[TEN_MB])] == [(0, TEN_MB), (5, TEN_MB)]
    assert [row.time for row in explain(state, classes=[ONE_MB], since=3)] == [3, 5]
    assert explain(Policy().state(GROUP)) == []


def test_a_class_begins_when_it_is_seen_and_ends_when_it_is_forgotten() -> None:
    policy = Policy(max_classes=1)
    for now in range(3):
        policy.tick(now, {GROUP: inputs(ONE_MB)})
    policy.tick(3, {GROUP: inputs(TEN_MB)})
    state = policy.state(GROUP)
    assert [(row.time, row.operation) for row in explain(state)] == [(3, TEN_MB)]
    assert in_one_line(state).endswith("; 1 classes forgotten")


def test_the_threshold_s_history() -> None:
    policy = Policy()
    for now, (usage, wanted) in enumerate([(0.1, 0.2), (0.9, 0.2), (0.9, 0.2), (0.75, 0.3), (0.6, 0.3), (0.6, 0.3)]):
        policy.tick(now, {GROUP: inputs(sram=usage, offload_threshold=wanted)})
    state = policy.state(GROUP)
    assert [(each.time, round(each.threshold, 6)) for each in threshold_history(state)] == [
        (0, 0.2),
        (1, 0.4),
        (3, 0.5),
        (4, 0.3),
    ]
    assert [each.time for each in threshold_history(state, since=3.5)] == [3, 4]
    assert [each.sram_usage for each in threshold_history(state)] == [0.1, 0.9, 0.75, 0.6]


def test_the_state_in_one_line() -> None:
    policy = Policy()
    assert in_one_line(policy.state(GROUP)) == "not decided yet"
    policy.tick(0, {GROUP: inputs(drained=True)})
    assert in_one_line(policy.state(GROUP)) == "on endpoints; the switch is drained"
    policy.tick(1, {GROUP: inputs(sram=0.85, sram_usage_limit=1.0)})
    assert in_one_line(policy.state(GROUP)) == (
        "on the switch, by class; scores are over the threshold 0.400 from 1 bytes on; "
        "threshold raised, 85% of the slots are in use"
    )


def test_inputs_without_sense_are_explained_too() -> None:
    policy = Policy()
    for now in range(3):
        policy.tick(now, {GROUP: inputs(ONE_MB, link=Link(4, math.nan, 4e9, 0.0), offload_threshold=math.nan)})
    rows = explain(policy.state(GROUP))
    assert [row.reason for row in rows] == ["the links' bandwidth is not known"] * 2
    assert all(math.isnan(row.score) and math.isnan(row.endpoint_time) for row in rows)
    assert len(threshold_history(policy.state(GROUP))) == 1


def test_the_newest_ticks_are_kept() -> None:
    policy = ticked(*(0.1 if number % 2 else 0.3 for number in range(25)), kept=10)
    rows = explain(policy.state(GROUP), every=True)
    assert [row.time for row in rows] == list(range(15, 25))
    assert [row.path is Path.SWITCH for row in rows] == [number % 2 == 0 for number in range(15, 25)]


def test_a_ring_is_bounded_and_numbered() -> None:
    ring = Ring("=dB", 4, first=100)
    for number in range(10):
        ring.append(number / 2, number)
    assert (ring.first, ring.end) == (106, 110)
    assert [ring.row(number) for number in range(106, 110)] == [(3.0, 6), (3.5, 7), (4.0, 8), (4.5, 9)]
    for outside in (105, 110):
        with pytest.raises(IndexError, match=f"row {outside} is not among 106 to 109"):
            ring.row(outside)
