from __future__ import annotations

from dataclasses import replace

import pytest

from cais_tools.session import CounterData
from cais_tools.session.cais import OUTCOMES, DelayHistogram, GroupStats, PortStats, Rates, Snapshot


def _histogram(**buckets: int) -> DelayHistogram:
    return DelayHistogram(tuple(buckets.get(f"b{bucket}", 0) for bucket in range(16)))


def _group(group_id: int = 0, **packets: int) -> GroupStats:
    return GroupStats(
        group_id,
        256,
        {name: packets.get(name, 0) for name in OUTCOMES},
        {name: 100 * packets.get(name, 0) for name in OUTCOMES},
    )


def test_an_empty_histogram_has_no_delay() -> None:
    assert DelayHistogram().average_us is None
    assert DelayHistogram().percentile_us(50) is None


def test_averages_and_percentiles() -> None:
    histogram = _histogram(b0=50, b3=49, b15=1)  # below 1, 4 to 8, from 16384 on
    assert histogram.average_us == pytest.approx((50 * 0.5 + 49 * 6 + 24576) / 100)
    assert histogram.percentile_us(25) == pytest.approx(0.5)
    assert histogram.percentile_us(50) == pytest.approx(1.0)
    assert histogram.percentile_us(99) == pytest.approx(8.0)
    assert (histogram.percentile_us(99.5) or 0) > 16384


def test_a_percentile_never_decreases() -> None:
    histogram = _histogram(b1=3, b4=1, b9=7)
    values = [histogram.percentile_us(percent) or 0.0 for percent in range(101)]
    assert values == sorted(values)


def test_slots_in_use_are_opened_and_not_completed() -> None:
    assert _group(opened=10, completed=7, reopened=3).slots_in_use == 3
    assert _group(opened=10, completed=11).slots_in_use == 0


def test_the_fallback_ratio() -> None:
    shot = Snapshot(0, 4096, 256, {0: _group(opened=4, completed=4, no_rule=1, no_member=1, reopened=1, duplicate=1)})
    assert shot.fallback_ratio == pytest.approx(3 / 12)
    assert Snapshot(0, 4096, 0).fallback_ratio == 0
    assert Snapshot(0, 4096, 0).sram_usage == 0


def test_what_operators_ask_of_a_group() -> None:
    group = _group(duplicate=1, answered=2, no_member=3, no_rule=4, diverged=5, unknown_op=6, stale=7)
    assert (group.duplicates, group.replayed, group.rejected, group.bad) == (1, 2, 12, 6)


BEFORE = Snapshot(
    10.0,
    4096,
    256,
    {0: _group(opened=100, added=200, completed=100)},
    {1: PortStats(1, CounterData(1000, 10_000), CounterData(500, 5000), _histogram(b0=500))},
)
AFTER = replace(
    BEFORE,
    time=12.0,
    groups={0: _group(opened=140, added=280, completed=140, no_rule=20), 1: _group(1, completed_alone=6)},
    ports={
        1: PortStats(1, CounterData(1400, 14_000), CounterData(540, 5400), _histogram(b0=500, b3=40)),
        2: PortStats(2, CounterData(4, 40)),
    },
)


def test_rates() -> None:
    rates = Rates.between(BEFORE, AFTER)
    assert rates.seconds == 2
    assert rates.operations_per_s == pytest.approx((40 + 6) / 2)
    assert rates.contributions_per_s == pytest.approx((160 + 6) / 2)
    assert rates.reduced_bytes_per_s == pytest.approx(16_600 / 2)
    assert rates.fallback_ratio == pytest.approx(20 / 186)
    assert rates.delay.average_us == pytest.approx(6.0)
    assert rates.group_operations_per_s == {0: 20, 1: 3}
    assert (rates.ports[1].packets_in, rates.ports[1].bytes_out) == (200, 200)
    assert rates.ports[2].bytes_in == 20
    assert rates.groups[0].packets["no_rule"] == 20
    assert rates.contributions == 186
    assert (rates.delays[1].total, rates.delays[2].total) == (40, 0)


def test_counters_that_started_anew_give_no_negative_rates() -> None:
    rates = Rates.between(AFTER, replace(BEFORE, time=14.0))
    assert rates.operations_per_s == 50
    assert rates.ports[1].packets_in == 500
    assert min(rates.delay.counts) >= 0


def test_snapshots_in_the_wrong_order() -> None:
    with pytest.raises(ValueError, match="later"):
        Rates.between(AFTER, BEFORE)
