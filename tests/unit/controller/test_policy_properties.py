"""Whatever the inputs: no flapping, no reversal of sizes, no promise that ranks would read differently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from cais_tools.controller.hysteresis import RELEASE, Latch
from cais_tools.controller.policy import Policy
from cais_tools.controller.scoring import Kind, Link, OperationClass, Path
from cais_tools.controller.verdict import GroupInputs
from tests.unit.controller.situations import GROUP, MB, reduce_of, with_score

ONE_MB = reduce_of(MB)
any_float = st.floats() | st.sampled_from([0.0, -1.0, math.nan, math.inf])
sane = st.floats(min_value=1e3, max_value=1e13)
usages = st.floats(min_value=0, max_value=1)
links = st.builds(Link, st.integers(1, 32), sane | any_float, sane | any_float, st.floats(0, 1) | any_float)
classes = st.builds(
    OperationClass, st.sampled_from(Kind), st.sampled_from(["float32", "bfloat16"]), st.integers(0, 1 << 40)
)
anything = st.builds(
    GroupInputs,
    link=links,
    sram_usage=usages | any_float,
    reachable=st.booleans(),
    drained=st.booleans(),
    proved=st.booleans(),
    wanted=st.sampled_from(Path),
    seen=st.lists(classes, max_size=4).map(tuple),
    offload_threshold=st.floats(0, 1) | any_float,
    sram_usage_limit=usages | any_float,
)


def changes(policy: Policy, ticks: Sequence[GroupInputs], operation: OperationClass = ONE_MB) -> int:
    taken: list[Path] = []
    for number, given_inputs in enumerate(ticks):
        policy.tick(number / 10, {GROUP: given_inputs})
        taken.append(policy.decision(GROUP).path(operation))
    return sum(one is not other for one, other in pairwise(taken))


@settings(max_examples=60, deadline=None)
@given(st.lists(anything, max_size=4), anything)
def test_a_constant_input_changes_nothing_after_its_first_tick(
    before: list[GroupInputs], constant: GroupInputs
) -> None:
    policy = Policy()
    for given_inputs in before:
        policy.tick(0, {GROUP: given_inputs})
    policy.tick(1, {GROUP: constant})
    first = policy.decision(GROUP)
    for now in range(2, 6):
        policy.tick(now, {GROUP: constant})
        later = policy.decision(GROUP)
        assert all(first.path(each) is later.path(each) for each in policy.state(GROUP).classes)
        assert (first.offload, first.break_even, first.admitted) == (later.offload, later.break_even, later.admitted)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 0.56), min_size=2, max_size=30), st.booleans())
def test_scores_that_only_rise_or_only_fall_change_the_path_once_at_most(scores: list[float], falling: bool) -> None:
    ramp = [with_score(each, ONE_MB) for each in sorted(scores, reverse=falling)]
    assert changes(Policy(), ramp) <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(usages, min_size=2, max_size=30), st.booleans(), st.floats(0.16, 0.56))
def test_usage_that_only_rises_or_only_falls_changes_the_path_once_at_most(
    levels: list[float], falling: bool, wanted: float
) -> None:
    ramp = [with_score(wanted, ONE_MB, sram=level) for level in sorted(levels, reverse=falling)]
    assert changes(Policy(), ramp) <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.151, 0.199), min_size=2, max_size=30), st.sampled_from([0.1, 0.3]))
def test_noise_inside_the_band_changes_nothing(noise: list[float], start: float) -> None:
    assert changes(Policy(), [with_score(each, ONE_MB) for each in (start, *noise)]) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(usages), st.floats(0.01, 1))
def test_a_latch_is_released_only_below_the_point_where_it_was_set(values: list[float], level: float) -> None:
    latch = Latch()
    was_set = False
    for value in values:
        is_set = latch.update(value, level)
        if is_set and not was_set:
            assert value > level
        if was_set and not is_set:
            assert value <= level * RELEASE < level
        was_set = is_set


@settings(max_examples=60, deadline=None)
@given(
    st.lists(anything, min_size=1, max_size=6), st.lists(st.integers(1, 1 << 40), min_size=2, max_size=6, unique=True)
)
def test_of_two_sizes_the_larger_is_on_the_switch_where_the_smaller_is(
    ticks: list[GroupInputs], sizes: list[int]
) -> None:
    policy = Policy()
    operations = [reduce_of(size) for size in sorted(sizes)]
    for given_inputs in ticks:
        policy.tick(0, {GROUP: replace(given_inputs, seen=tuple(operations))})
        on = [policy.decision(GROUP).path(each) is Path.SWITCH for each in operations]
        assert on == sorted(on)


@settings(max_examples=60, deadline=None)
@given(anything, classes)
def test_a_class_that_is_seen_goes_where_its_size_said_it_would(
    given_inputs: GroupInputs, operation: OperationClass
) -> None:
    unseen, seen = Policy(), Policy()
    unseen.tick(0, {GROUP: replace(given_inputs, seen=())})
    seen.tick(0, {GROUP: replace(given_inputs, seen=(operation,))})
    assert unseen.decision(GROUP).path(operation) is seen.decision(GROUP).path(operation)


@settings(max_examples=60, deadline=None)
@given(st.lists(anything, min_size=1, max_size=6), st.integers(-1, 1))
def test_one_rank_never_offloads(ticks: list[GroupInputs], ranks: int) -> None:
    policy = Policy()
    for each in ticks:
        alone = Link(ranks, each.link.bandwidth, each.link.processing_rate, each.link.queue_delay)
        policy.tick(0, {GROUP: replace(each, link=alone)})
        assert not policy.decision(GROUP).offload


@settings(max_examples=60, deadline=None)
@given(st.lists(anything, min_size=1, max_size=6))
def test_what_ranks_read_in_a_decision_is_what_was_decided_for_the_class(ticks: list[GroupInputs]) -> None:
    policy = Policy()
    for each in ticks:
        policy.tick(0, {GROUP: each})
        state = policy.state(GROUP)
        assert all(state.decision.path(operation) is record.path for operation, record in state.classes.items())
        assert state.decision.reason
