"""A table of inputs and decisions for one class."""

from __future__ import annotations

import math

import pytest

from cais_tools.controller.scoring import Kind, Link, OperationClass, Path
from cais_tools.controller.verdict import GroupInputs, Reason, in_words, judge
from tests.unit.controller.situations import MB, inputs, reduce_of, with_score

SWITCH, ENDPOINT = Path.SWITCH, Path.ENDPOINT
ONE_MB = reduce_of(MB)
LINK = Link(4, 1e9, 4e9, 0.0)


def judged(
    operation: OperationClass, given: GroupInputs, *, admitted: bool = True, was_on: bool = False
) -> tuple[Path, Reason]:
    verdict = judge(operation, given, threshold=given.offload_threshold, admitted=admitted, was_on=was_on)
    return verdict.path, verdict.reason


@pytest.mark.parametrize(
    ("given", "was_on", "expected"),
    [
        (with_score(0.21), False, (SWITCH, Reason.GAINS)),
        (with_score(0.19), False, (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        (with_score(0.19), True, (SWITCH, Reason.KEPT)),
        (with_score(0.14), True, (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        (with_score(0.21, offload_threshold=0.4), False, (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        (with_score(-3.0), True, (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        # Exactly at the threshold is not over it; exactly at the lower end is not below it.
        (inputs(offload_threshold=9 / 16), False, (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        (inputs(offload_threshold=9 / 16), True, (SWITCH, Reason.KEPT)),
        # The original's test of 200 MB among 8 ranks would go to any switch that is quicker than the links.
        (inputs(link=Link(8, 1.25e9, 12.5e9, 8.3e-6)), False, (SWITCH, Reason.GAINS)),
        # Its overloaded switch: 50 us of queue are nothing for 1 MB on links of 1 GB/s, but the end on 100 GB/s.
        (inputs(link=Link(4, 1e9, 4e9, 50e-6)), False, (SWITCH, Reason.GAINS)),
        (inputs(link=Link(4, 100e9, 400e9, 50e-6)), True, (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
    ],
)
def test_scores(given: GroupInputs, was_on: bool, expected: tuple[Path, Reason]) -> None:
    assert judged(ONE_MB, given, was_on=was_on) == expected


@pytest.mark.parametrize("was_on", [False, True])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (inputs(link=Link(1, 1e9, 4e9, 0.0)), (ENDPOINT, Reason.ONE_RANK)),
        (inputs(link=Link(1, 1e9, 4e9, 0.0), wanted=SWITCH), (ENDPOINT, Reason.ONE_RANK)),
        (inputs(link=Link(0, 1e9, 4e9, 0.0)), (ENDPOINT, Reason.ONE_RANK)),
        (inputs(wanted=ENDPOINT), (ENDPOINT, Reason.ASKED_ENDPOINT)),
        (inputs(wanted=ENDPOINT, reachable=False), (ENDPOINT, Reason.ASKED_ENDPOINT)),
        (inputs(reachable=False), (ENDPOINT, Reason.GONE)),
        (inputs(reachable=False, wanted=SWITCH), (ENDPOINT, Reason.GONE)),
        (inputs(drained=True), (ENDPOINT, Reason.DRAINED)),
        (inputs(drained=True, wanted=SWITCH), (ENDPOINT, Reason.DRAINED)),
        (inputs(proved=False), (ENDPOINT, Reason.UNPROVED)),
        (inputs(proved=False, wanted=SWITCH), (ENDPOINT, Reason.UNPROVED)),
        (inputs(wanted=SWITCH), (SWITCH, Reason.ASKED_SWITCH)),
        (with_score(-9.0, wanted=SWITCH), (SWITCH, Reason.ASKED_SWITCH)),
        (inputs(link=Link(4, math.nan, math.nan, math.nan), wanted=SWITCH), (SWITCH, Reason.ASKED_SWITCH)),
        *(
            (inputs(link=Link(4, bad, 4e9, 0.0)), (ENDPOINT, Reason.NO_BANDWIDTH))
            for bad in (math.nan, 0.0, -1.0, math.inf)
        ),
        *((inputs(link=Link(4, 1e9, bad, 0.0)), (ENDPOINT, Reason.NO_RATE)) for bad in (math.nan, 0.0, -1.0)),
        *((inputs(link=Link(4, 1e9, 4e9, bad)), (ENDPOINT, Reason.NO_DELAY)) for bad in (math.nan, -1e-9)),
        (inputs(link=Link(4, 1e9, 4e9, math.inf)), (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        (inputs(link=Link(4, 1e9, 5e-324, 0.0)), (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
        (inputs(link=Link(4, 5e-324, 4e9, 0.0)), (SWITCH, Reason.GAINS)),
        (inputs(offload_threshold=math.nan), (ENDPOINT, Reason.NO_THRESHOLD)),
        (inputs(offload_threshold=math.inf), (ENDPOINT, Reason.GAINS_TOO_LITTLE)),
    ],
)
def test_what_outranks_scores(given: GroupInputs, expected: tuple[Path, Reason], was_on: bool) -> None:
    assert judged(ONE_MB, given, was_on=was_on) == expected


@pytest.mark.parametrize("wanted", [Path.AUTO, SWITCH])
def test_operations_that_no_switch_can_help(wanted: Path) -> None:
    assert judged(reduce_of(0), inputs(wanted=wanted)) == (ENDPOINT, Reason.EMPTY)
    assert judged(reduce_of(MB, kind=Kind.UNSPECIFIED), inputs(wanted=wanted)) == (ENDPOINT, Reason.UNKNOWN_KIND)


def test_a_full_switch_admits_nothing_new() -> None:
    assert judged(ONE_MB, inputs(), admitted=False) == (ENDPOINT, Reason.FULL)
    assert judged(ONE_MB, inputs(), admitted=False, was_on=True) == (SWITCH, Reason.GAINS)
    assert judged(ONE_MB, with_score(0.1), admitted=False) == (ENDPOINT, Reason.GAINS_TOO_LITTLE)
    assert judged(ONE_MB, inputs(wanted=SWITCH), admitted=False) == (SWITCH, Reason.ASKED_SWITCH)


def test_every_reason_has_words_of_its_own() -> None:
    words = [in_words(reason, 0.1, 0.2, 0.9) for reason in Reason]
    assert len(set(words)) == len(Reason)
    assert in_words(Reason.KEPT, 0.17, 0.2, 0.1) == "score 0.170 is not yet below 0.150, where it leaves the switch"
    assert in_words(Reason.FULL, 0.5, 0.2, 0.81) == "no new work: 81% of the slots are in use"
