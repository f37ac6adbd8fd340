from __future__ import annotations

import math
from pathlib import Path

import pytest

from cais_tools.errors import Unreachable
from cais_tools.smoke.report import Comparison, Failure, Mismatch, OperationRow, Report, percentile

HUNDRED = [float(value) for value in range(1, 101)]


@pytest.mark.parametrize(
    ("values", "share", "wanted"),
    [(HUNDRED, 0.5, 50), (HUNDRED, 0.99, 99), ([3.0, 1.0, 2.0], 0.5, 2), ([7.0], 0.99, 7), ([7.0], 0.0, 7)],
)
def test_percentiles_are_values_that_occurred(values: list[float], share: float, wanted: float) -> None:
    assert percentile(values, share) == wanted


def test_nothing_measured_is_no_number() -> None:
    assert math.isnan(percentile([], 0.5))
    assert math.isnan(OperationRow("sum").goodput)


def _report(*rows: OperationRow) -> Report:
    return Report("127.0.0.1:9559", 1, 4, 16384, {row.operation: row for row in rows}, seconds=2.0)


def test_goodput_is_one_ranks_tensors_over_the_time_they_took() -> None:
    row = OperationRow("sum", steps=2, bytes=2048, latencies=[0.5, 0.5])
    assert row.goodput == 2048


def test_a_mismatch_fails_the_run_and_an_undetected_flip_does_not() -> None:
    assert _report(OperationRow("max", steps=1, undetected=1)).passed
    assert "1 undetected" in _report(OperationRow("max", steps=1, undetected=1)).verdict()
    failed = _report(OperationRow("sum", steps=1, mismatches=1))
    assert not failed.passed
    assert failed.verdict().startswith("failed: ")


def test_a_difference_to_another_library_fails_the_run() -> None:
    report = _report(OperationRow("sum", steps=1))
    report.against["sum"] = Comparison("sum", steps=1, differences=1)
    assert not report.passed


def test_a_mismatch_says_where() -> None:
    mismatch = Mismatch(3, "sum", 2, 17, 5, 10, 11, "a flipped bit", Path("x.pcap"))
    assert str(mismatch) == "step 3, sum, rank 2, chunk 17, lane 5: expected 10, got 11"
    report = _report(OperationRow("sum", mismatches=1))
    report.mismatch = mismatch
    assert report.as_dict()["mismatch"]["frame"] == "x.pcap"


def test_units_stand_in_the_keys() -> None:
    row = OperationRow("sum", steps=1, bytes=4, latencies=[0.25]).as_dict()
    assert row["latency_p50_us"] == 250_000
    assert row["goodput_bytes_per_s"] == 16


def test_a_run_that_ended_early_has_failed_and_says_where() -> None:
    report = _report(OperationRow("sum", steps=3, latencies=[0.1] * 3))
    report.failure = Failure(4, "sum", Unreachable("the switch has gone", hint="start it"))
    assert not report.passed
    verdict = report.verdict()
    assert verdict.startswith("failed: ended in step 4, sum; 4 ranks, 3 steps")
    assert verdict.endswith("seed 1")
    assert report.as_dict()["failure"] == {
        "step": 4,
        "operation": "sum",
        "error": "the switch has gone",
        "hint": "start it",
        "exit_code": 3,
    }
