"""The score: numbers worked out by hand, the size from which on it pays, and inputs that make no sense."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cais_tools.controller.scoring import LARGEST, Link, break_even, score, terms

MB = 1_000_000
rates = st.floats(min_value=1e3, max_value=1e13)
delays = st.floats(min_value=0, max_value=10)
links = st.builds(Link, st.integers(2, 32), rates, rates, delays)
sizes = st.integers(1, LARGEST - 1)
thresholds = st.floats(min_value=-1, max_value=1)


@pytest.mark.parametrize(
    ("size", "link", "endpoint_time", "switch_time", "expected"),
    [
        # The original's test: 200 MB among 8 ranks; links of 10 Gbit/s, a switch of ten times that, 8.3 us of queue.
        (200 * MB, Link(8, 1.25e9, 12.5e9, 8.3e-6), 0.16, 0.0160083, (1 - 0.1 - 8.3e-6 / 0.16) * 7 / 8),
        (1 * MB, Link(4, 1e9, 4e9, 250e-6), 1e-3, 0.5e-3, 0.375),
        (1 * MB, Link(2, 1e9, 4e9, 250e-6), 1e-3, 0.5e-3, 0.25),
        (1 * MB, Link(4, 1e9, 1e9, 0), 1e-3, 1e-3, 0.0),
        (1 * MB, Link(4, 1e9, 0.5e9, 0), 1e-3, 2e-3, -0.75),
        (1000, Link(4, 1e9, 1e9, 1e-6), 1e-6, 2e-6, -0.75),
        (1 * MB, Link(1, 1e9, 4e9, 0), 1e-3, 0.25e-3, 0.0),
        (1 * MB, Link(4, 1e9, math.inf, 0), 1e-3, 0.0, 0.75),
        (1 * MB, Link(4, 1e9, 4e9, math.inf), 1e-3, math.inf, -math.inf),
    ],
)
def test_terms(size: int, link: Link, endpoint_time: float, switch_time: float, expected: float) -> None:
    found = terms(size, link)
    assert (found.endpoint_time, found.switch_time) == pytest.approx((endpoint_time, switch_time))
    assert found.score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("link", "threshold", "expected"),
    [
        # (1 - 1/4 - 250e-6 * 1e9 / s) * 3/4 > 0.2  <=>  s > 250e3 / (3/4 - 4/15)
        (Link(4, 1e9, 4e9, 250e-6), 0.2, math.floor(250e3 / (3 / 4 - 4 / 15)) + 1),
        (Link(4, 1e9, 4e9, 0), 0.2, 1),
        (Link(4, 1e9, 1e9, 0), 0.2, None),
        (Link(4, 1e9, 4e9, 0), 0.6, None),
        (Link(2, 1e9, math.inf, 0), 0.5, None),
        (Link(4, 1e9, 4e9, math.inf), 0.2, None),
    ],
)
def test_break_even(link: Link, threshold: float, expected: int | None) -> None:
    assert break_even(link, threshold) == expected


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0])
def test_what_cannot_be_computed_is_not_a_number(bad: float) -> None:
    assert math.isnan(terms(MB, Link(4, bad, 1e9, 0)).score)
    assert math.isnan(terms(MB, Link(4, 1e9, bad, 0)).score)
    assert math.isnan(terms(MB, Link(4, math.inf, 1e9, 0)).score)
    assert math.isnan(terms(MB, Link(4, 1e9, 1e9, math.nan)).switch_time)
    assert math.isnan(terms(0, Link(4, 1e9, 1e9, 0)).score)


@settings(max_examples=60, deadline=None)
@given(links, sizes)
def test_the_score_is_the_design_s_formula(link: Link, size: int) -> None:
    found = terms(size, link)
    formula = (found.endpoint_time - found.switch_time) / found.endpoint_time * (1 - 1 / link.ranks)
    assert found.score == pytest.approx(formula, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(links, sizes, sizes)
def test_it_grows_with_the_size(link: Link, one: int, other: int) -> None:
    assert score(min(one, other), link) <= score(max(one, other), link)


@settings(max_examples=60, deadline=None)
@given(links, thresholds, sizes)
def test_the_break_even_parts_the_sizes(link: Link, threshold: float, size: int) -> None:
    least = break_even(link, threshold)
    assert (score(size, link) > threshold) is (least is not None and size >= least)
