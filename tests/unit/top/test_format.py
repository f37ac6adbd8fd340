"""Numbers, times, bars and curves."""

from __future__ import annotations

import math

import pytest

from cais_tools.top.format import bar, count, curve, duration, latency, percent, rate, size
from cais_tools.top.history import History


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (0, "0"),
        (99_999, "99,999"),
        (100_000, "100k"),
        (999_499, "999k"),
        (999_600, "1.00M"),
        (12_345_678, "12.3M"),
        (5e12, "5.00T"),
        (7e16, "70000T"),
    ],
)
def test_counts_are_whole_where_they_fit(value: float | None, text: str) -> None:
    assert count(value) == text


def test_a_wide_column_has_the_whole_number() -> None:
    assert count(117_702, 8) == "117,702"
    assert count(12_117_702, 8) == "12.1M"


def test_other_values() -> None:
    assert [rate(value) for value in (None, 0, 0.26, 99.94, 1234.5)] == ["-", "0", "0.3", "99.9", "1,234"]
    assert [size(value) for value in (None, 12, 3_400_000)] == ["-", "12B", "3.40MB"]
    assert [percent(value) for value in (None, 0.0, 0.1234, 1)] == ["-", "0.0%", "12.3%", "100.0%"]
    assert [latency(value) for value in (None, 1.25, 999.96, 1.2e6)] == ["-", "1.2us", "1.0ms", "1.2s"]
    assert [duration(value) for value in (None, 9.94, 59.9, 65, 7380, 400_000)] == [
        "-",
        "9.9s",
        "59s",
        "1m05s",
        "2h03m",
        "4d15h",
    ]


def test_a_bar_shows_that_there_is_something() -> None:
    assert bar(None, 4) == bar(0.0, 4) == "░░░░"
    assert bar(0.0001, 4) == "▏░░░"
    assert bar(0.5, 4) == "██░░"
    assert bar(7.0, 4) == "████"
    assert bar(0.5, 0) == ""


def test_a_curve_tells_zero_from_a_gap() -> None:
    assert curve([0.0, math.nan, 4.0, 8.0], 6, 1, 8.0) == ["  ▁ ▄█"]


def test_a_curve_of_several_lines_and_no_width() -> None:
    assert curve([4.0, 8.0, 1.0], 3, 2, 8.0) == [" █ ", "██▂"]
    assert curve([1.0], 0, 2, 8.0) == ["", ""]
    assert curve([1.0, 2.0], 1, 1, 0.0) == ["▁"]


def test_a_history_keeps_the_newest() -> None:
    history = History(3)
    for value in (1.0, None, 3.0, 4.0):
        history.add(value)
    assert [str(value) for value in history.last(9)] == ["nan", "3.0", "4.0"]
    assert list(history.last(1)) == [4.0]
    assert list(history.last(0)) == []
    assert (len(history), history.peak()) == (3, 4.0)
    copy = history.copy()
    history.add(5.0)
    assert list(copy.last(1)) == [4.0]
