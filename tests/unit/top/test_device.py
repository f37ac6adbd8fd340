"""A switch over time: it dies and comes back, is loaded anew, counts from a baseline."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cais_tools.session.observer import Primary
from cais_tools.top.device import DeviceState
from cais_tools.top.model import Model
from cais_tools.top.observation import Failure, Observation, Program
from cais_tools.top.rows import device_row, group_rows, port_rows
from cais_tools.top.severity import Severity
from tests.unit.top.scenes import START, a_fleet, a_snapshot, observation, sources, watched

LOST = Failure("Unreachable", "nothing listens", None, 3)


def lost(tick: int) -> Observation:
    return Observation("leaf1", START + tick, failure=LOST)


@pytest.fixture
def device() -> DeviceState:
    return DeviceState(sources(1)[0])


def names(model: Model) -> list[str]:
    return [entry.finding.name for entry in reversed(model.journal.entries)]


def test_nothing_is_known_before_the_first_observation(device: DeviceState) -> None:
    row = device_row(device, Model([]).journal, START)
    assert (row.state, row.sram, row.ops, row.up_s) == ("waiting", None, None, None)
    assert group_rows(device) == port_rows(device) == []


def test_rates_are_those_of_the_interval(device: DeviceState) -> None:
    for seen in watched(ticks=2):
        device.take(seen)
    before, after = a_snapshot(1), a_snapshot(2)
    assert device.rates is not None
    assert device.rates.operations_per_s == after.operations - before.operations
    (first, *_) = group_rows(device)
    assert first.ops == after.groups[0].operations - before.groups[0].operations
    assert first.rules == 2
    (port, *_) = port_rows(device)
    assert port.bytes_in_per_s is not None
    assert port.bytes_in_per_s == after.ports[1].received.bytes - before.ports[1].received.bytes
    assert port.utilisation == pytest.approx(port.bytes_in_per_s * 8 / 100e9)
    assert (port.name, port.ranks) == ("swp1", "g0:r0 g1:r0 g2:r0 +1")


def test_a_switch_that_dies_keeps_what_it_said_and_comes_back(device: DeviceState) -> None:
    for seen in watched(ticks=3):
        device.take(seen)
    taken = device.take(lost(4))
    assert [finding.name for finding in taken.findings] == ["gone"]
    assert (device.is_up, device.changed, device.rates) == (False, START + 4, None)
    assert group_rows(device)[0].completed == a_snapshot(3).groups[0].operations
    device.take(lost(5))
    assert device.changed == START + 4
    back = device.take(observation("leaf1", 9))
    assert (back.findings, back.events) == ([], [])
    assert (device.is_up, device.rates, device.changed) == (True, None, START + 9)
    curve = device.curves.device["ops"].last(9)
    assert [math.isnan(value) for value in curve] == [True, False, False, True, True, True]
    assert len(device.curves.groups[0]) == 5  # the first observation has no rates, and no curves of groups


@pytest.mark.parametrize("is_seen", [True, False])
def test_counters_that_begin_anew_are_no_negative_rates(device: DeviceState, is_seen: bool) -> None:
    """Seen by another cookie, or only by counters that went back."""
    for seen in watched(ticks=30):
        device.take(seen)
    device.zero()
    again = observation("leaf1", 31, a_snapshot(2))
    if is_seen:
        again = replace(again, program=Program("cais", 99))
    taken = device.take(again)
    assert [finding.name for finding in taken.events] == ["program"]
    assert (device.rates, device.baseline, device.rules) == (None, None, None)
    assert device.program_since == START + 31
    device.take(observation("leaf1", 32, replace(a_snapshot(3), time=2000.0), program=again.program))
    assert device.rates is not None
    assert min(device.rates.group_operations_per_s.values()) >= 0


def test_a_group_that_was_removed_is_no_restart(device: DeviceState) -> None:
    for seen in watched(ticks=2):
        device.take(seen)
    snapshot = a_snapshot(3)
    fewer = replace(snapshot, groups={key: each for key, each in snapshot.groups.items() if key})
    assert device.take(observation("leaf1", 3, fewer)).events == []
    assert [row.group for row in group_rows(device)] == [1, 2, 3]


def test_a_baseline_counts_from_zero_until_totals_are_wanted(device: DeviceState) -> None:
    for seen in watched(ticks=10):
        device.take(seen)
    device.zero()
    assert {row.completed for row in group_rows(device)} == {0}
    device.take(observation("leaf1", 11))
    done = a_snapshot(11).groups[0].operations - a_snapshot(10).groups[0].operations
    assert group_rows(device)[0].completed == done
    sent = a_snapshot(11).ports[1].sent.packets - a_snapshot(10).ports[1].sent.packets
    assert port_rows(device)[0].packets_out == sent
    device.baseline = None
    assert group_rows(device)[0].completed == a_snapshot(11).groups[0].operations


def test_how_long_a_program_runs_is_known_only_if_it_was_seen_loading(device: DeviceState) -> None:
    bare = Failure("NoPipeline", "no P4 program is loaded", None, 5)
    device.take(observation("leaf1", 1))
    assert device_row(device, Model([]).journal, START + 5).up_is_least
    other = DeviceState(sources(1)[0])
    other.take(Observation("leaf1", START, failure=bare))
    other.take(observation("leaf1", 1))
    row = device_row(other, Model([]).journal, START + 5)
    assert (row.up_s, row.up_is_least) == (4.0, False)


def test_another_primary_is_an_event_and_none_is_not() -> None:
    model = Model(sources(1))
    for tick, primary in enumerate(
        [Primary(False, 5), Primary(True, 6), Primary(True, 6), Primary(True, 7), Primary(False, 7)], 1
    ):
        model.take(observation("leaf1", tick, primary=primary))
    assert names(model) == ["primary", "primary"]
    assert "election id 7" in model.journal.entries[0].finding.message


def test_heat_is_an_alarm_where_a_device_tells_it() -> None:
    model = Model(sources(1))
    for tick, celsius in enumerate([None, 60.0, 85.0, 85.5, 70.0], 1):
        model.take(observation("leaf1", tick, temperature_c=celsius))
    (entry,) = model.journal.entries
    assert (entry.finding.name, entry.finding.value, entry.time, entry.ended) == (
        "temperature",
        "86C",
        START + 4,
        START + 5,
    )


def test_a_fleet_in_trouble() -> None:
    model = Model(sources())
    for seen in a_fleet():
        model.take(seen)
    assert names(model) == ["program", "sram", "primary", "gone"]
    assert [entry.finding.name for entry in model.journal.active()] == ["gone", "sram"]
    assert model.severity is Severity.CRITICAL
    rows = [device_row(each, model.journal, START + 90) for each in model.devices.values()]
    assert [row.state for row in rows] == ["up", "up", "DOWN"]
    assert rows[1].alarms == ("sram",)


def test_the_first_reading_raises_no_alarm_for_what_is_long_over() -> None:
    model = Model(sources(1))
    snapshot = a_snapshot(5)
    stranger = snapshot.groups[3]
    packets = {**stranger.packets, "no_rule": 10**7}
    bad = replace(snapshot, groups={3: replace(stranger, packets=packets)})
    assert bad.fallback_ratio > 0.5
    model.take(observation("leaf1", 1, bad))
    assert model.journal.entries == []


def test_what_is_frozen_stays() -> None:
    model = Model(sources(1))
    for seen in watched(ticks=5):
        model.take(seen)
    frozen = model.frozen()
    for seen in watched(ticks=9)[5:]:
        model.take(seen)
    model.take(lost(10))
    device = frozen.devices["leaf1"]
    assert (device.time, device.is_up, len(device.curves.device["ops"])) == (START + 5, True, 5)
    assert frozen.journal.entries == []


def test_the_log_and_the_curves_are_bounded() -> None:
    model = Model(sources(1))
    up = observation("leaf1", 1)
    for tick in range(700):
        model.take(replace(up, time=START + 100 * tick))
        model.take(replace(lost(0), time=START + 100 * tick + 50))
    assert len(model.journal.entries) == 500
    device = model.devices["leaf1"]
    assert (len(device.curves.device["ops"]), len(device.curves.groups)) == (600, 0)


def test_what_nobody_asked_for_is_left_alone() -> None:
    model = Model(sources(1))
    model.take(observation("another", 1))
    assert model.devices["leaf1"].is_waited_for
