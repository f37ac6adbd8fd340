"""The policy from tick to tick: what is remembered, what is told to ranks, what is forgotten."""

from __future__ import annotations

import pytest

from cais_tools.controller.hysteresis import BAND, RAISE, Latch, stays_on
from cais_tools.controller.policy import Policy
from cais_tools.controller.scoring import Kind, Link, Path
from cais_tools.controller.verdict import GroupInputs
from tests.unit.controller.situations import GROUP, MB, inputs, reduce_of, with_score

SWITCH, ENDPOINT = Path.SWITCH, Path.ENDPOINT
ONE_MB = reduce_of(MB)


def paths(policy: Policy, *ticks: GroupInputs) -> str:
    """Where operations of 1 MB go after each tick: s or e."""
    letters = ""
    for number, given in enumerate(ticks):
        policy.tick(number / 10, {GROUP: given})
        letters += policy.decision(GROUP).path(ONE_MB).name[0].lower()
    return letters


def test_a_group_that_nobody_has_named_stays_on_endpoints() -> None:
    decision = Policy().hand_out(GROUP, 0)
    assert (decision.offload, decision.reason, decision.path(ONE_MB)) == (False, "not decided yet", ENDPOINT)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.19, 0.21, 0.19, 0.16, 0.14, 0.16, 0.19, 0.21), "essseees"),
        ((0.17,) * 4, "eeee"),
        ((0.3, 0.17, 0.17, 0.17), "ssss"),
        ((0.3, -5.0, 0.3), "ses"),
    ],
)
def test_a_class_enters_over_the_threshold_and_leaves_below_the_band(scores: tuple[float, ...], expected: str) -> None:
    assert paths(Policy(), *(with_score(each, ONE_MB) for each in scores)) == expected


def test_the_ends_of_the_band_belong_to_it() -> None:
    assert [stays_on(was_on, score, 0.2) for was_on in (True, False) for score in (0.2 - BAND, 0.2)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("usages", "thresholds"),
    [
        ((0.79, 0.80, 0.81, 0.75, 0.71, 0.70, 0.75, 0.80), (0, 0, 1, 1, 1, 0, 0, 0)),
        ((0.85, 0.72, 0.85, 0.72), (1, 1, 1, 1)),
    ],
)
def test_a_crowded_switch_raises_the_threshold(usages: tuple[float, ...], thresholds: tuple[int, ...]) -> None:
    policy = Policy()
    in_force: list[float] = []
    for usage in usages:
        policy.tick(0, {GROUP: inputs(sram=usage, sram_usage_limit=1.0)})
        in_force.append(policy.decision(GROUP).threshold)
    assert in_force == pytest.approx([0.2 + RAISE * raised for raised in thresholds])


def test_what_gains_little_leaves_a_crowded_switch_and_comes_back() -> None:
    usages = (0.1, 0.81, 0.75, 0.7)
    ticks = [with_score(0.3, ONE_MB, sram=usage, sram_usage_limit=1.0) for usage in usages]
    assert paths(Policy(), *ticks) == "sees"


def test_over_the_limit_nothing_enters_and_what_is_there_stays() -> None:
    policy = Policy()
    newcomer, never_seen = reduce_of(2 * MB), reduce_of(3 * MB)
    for usage, admitted in ((0.5, True), (0.76, False), (0.7, False), (0.65, True)):
        policy.tick(0, {GROUP: inputs(ONE_MB, *([newcomer] if usage > 0.7 else []), sram=usage)})
        decision = policy.decision(GROUP)
        assert decision.admitted is admitted
        assert decision.path(ONE_MB) is SWITCH
        assert decision.path(newcomer) is decision.path(never_seen) is (SWITCH if admitted else ENDPOINT)
    policy.tick(0, {GROUP: inputs(sram=0.76), 4: inputs(sram=0.76)})
    assert policy.decision(GROUP).offload
    assert not policy.decision(4).offload
    assert policy.decision(4).reason == "no new work: 76% of the slots are in use"


def test_telemetry_that_is_missing_changes_no_latch() -> None:
    policy = Policy()
    for usage, admitted in (
        (float("nan"), True),
        (0.9, False),
        (float("nan"), False),
        (0.1, True),
        (float("nan"), True),
    ):
        policy.tick(0, {GROUP: inputs(sram=usage)})
        assert policy.decision(GROUP).admitted is admitted


def test_a_limit_of_nothing_lets_in_what_finds_an_empty_switch() -> None:
    latch = Latch()
    assert [latch.update(usage, 0.0) for usage in (0.0, 0.1, 0.0)] == [False, True, False]


def test_people_and_devices_outrank_scores_and_what_held_goes_on() -> None:
    usual = with_score(0.17, ONE_MB)
    ticks = [with_score(0.3, ONE_MB), usual]
    # On the switch inside the band: it stays there, but when it was on endpoints meanwhile it must earn it anew.
    assert paths(Policy(), *ticks, with_score(0.17, wanted=SWITCH), usual) == "ssss"
    assert paths(Policy(), *ticks, with_score(0.17, wanted=ENDPOINT), usual) == "ssee"
    assert paths(Policy(), *ticks, with_score(0.17, reachable=False), usual) == "ssee"
    assert paths(Policy(), *ticks, with_score(0.17, drained=True), with_score(0.3)) == "sses"
    assert paths(Policy(), with_score(-1.0, ONE_MB), with_score(-1.0, wanted=SWITCH), with_score(-1.0)) == "ese"


def test_asked_for_the_switch_everything_but_nothing_goes_there() -> None:
    policy = Policy()
    policy.tick(0, {GROUP: with_score(-1.0, reduce_of(0), wanted=SWITCH)})
    decision = policy.decision(GROUP)
    assert decision.path(reduce_of(1)) is SWITCH
    assert decision.path(reduce_of(0)) is decision.path(reduce_of(1, kind=Kind.UNSPECIFIED)) is ENDPOINT
    assert decision.reason == "the switch was asked for"


def test_classes_nobody_has_seen_go_by_their_size() -> None:
    policy = Policy()
    link = Link(4, 1e9, 4e9, 250e-6)
    policy.tick(0, {GROUP: inputs(link=link)})
    decision = policy.decision(GROUP)
    assert decision.break_even == {kind: 517242 for kind in Kind if kind is not Kind.UNSPECIFIED}
    assert decision.overrides == {}
    for kind in decision.break_even:
        assert decision.path(reduce_of(517241, kind=kind)) is ENDPOINT
        assert decision.path(reduce_of(517242, kind=kind)) is SWITCH
    assert decision.reason == "scores are over the threshold 0.200 from 517242 bytes on"


def test_only_classes_that_differ_from_their_size_s_rule_are_named() -> None:
    policy = Policy()
    kept, small, large = reduce_of(MB), reduce_of(MB // 10), reduce_of(10 * MB)
    policy.tick(0, {GROUP: with_score(0.3, kept, small, large)})
    assert policy.decision(GROUP).overrides == {}
    policy.tick(1, {GROUP: with_score(0.17)})
    assert policy.decision(GROUP).overrides == {kept: SWITCH}


def test_where_no_size_gains_enough_nothing_is_offloaded() -> None:
    policy = Policy()
    policy.tick(0, {GROUP: inputs(link=Link(4, 1e9, 1e9, 0.0))})
    decision = policy.decision(GROUP)
    assert (decision.offload, decision.break_even) == (False, {})
    assert decision.reason == "no size has a score over the threshold 0.200"


def test_groups_that_are_gone_are_forgotten() -> None:
    policy = Policy()
    policy.tick(0, {GROUP: with_score(0.3, ONE_MB), 4: with_score(0.3, ONE_MB)})
    policy.tick(1, {4: with_score(0.17)})
    policy.tick(2, {GROUP: with_score(0.17, ONE_MB), 4: with_score(0.17)})
    assert policy.decision(4).path(ONE_MB) is SWITCH
    assert policy.decision(GROUP).path(ONE_MB) is ENDPOINT


def test_the_classes_used_least_recently_make_room_and_are_counted() -> None:
    policy = Policy(max_classes=3)
    for size in (1, 2, 3, 1, 4, 5):
        policy.tick(size, {GROUP: inputs(reduce_of(size))})
    state = policy.state(GROUP)
    assert [operation.bytes for operation in state.classes] == [1, 4, 5]
    assert state.dropped_classes == 2
    policy.tick(9, {GROUP: inputs(*(reduce_of(size) for size in range(100, 200)))})
    assert [operation.bytes for operation in state.classes] == [197, 198, 199]
    assert state.dropped_classes == 2 + 100
