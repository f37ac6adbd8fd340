"""Ranks, stragglers first, and slots as a map of heat."""

from __future__ import annotations

import pytest

from cais_tools.top.device import DeviceState
from cais_tools.top.heat import heat_map, level_of
from cais_tools.top.rows import group_rows
from cais_tools.top.stragglers import rank_rows, waited_for
from tests.unit.top.scenes import observation, slots_of, sources, watched


@pytest.fixture
def device() -> DeviceState:
    device = DeviceState(sources(1)[0])
    for seen in watched(ticks=4):
        device.take(seen)
    return device


def test_the_rank_that_is_waited_for_comes_first(device: DeviceState) -> None:
    rows = rank_rows(device, 2)
    assert [row.rank for row in rows] == [2, 0, 1, 3]
    first = rows[0]
    assert (first.port, first.name, first.missing, first.looks, first.oldest_us) == (3, "swp3", 3, 4, 256)
    assert first.behind == pytest.approx(1 / 12, abs=0.01)
    assert rows[1].behind == 0
    assert all(row.shared for row in rows)
    assert waited_for(device, 2) == (256, "rank 2 (swp3)")
    assert waited_for(device, 0) == (None, "")


def test_without_registers_what_came_less_tells_the_straggler() -> None:
    device = DeviceState(sources(1)[0])
    for tick in (1, 2):
        device.take(observation("leaf1", tick, open_slots=None, slots_hidden="this switch shows no registers"))
    rows = rank_rows(device, 2)
    assert (rows[0].rank, rows[0].missing) == (2, None)
    assert device.slots.hidden == "this switch shows no registers"


def test_no_group_has_no_ranks(device: DeviceState) -> None:
    assert rank_rows(device, 99) == []
    assert len(group_rows(device)) == 4


def test_levels_of_heat() -> None:
    ages = (None, 0, 999, 1_000, 10_000, 100_000, 1_000_000, 10**9)
    assert [level_of(age) for age in ages] == [1, 1, 1, 2, 3, 4, 5, 5]


def test_each_slot_has_a_cell_where_there_is_room() -> None:
    found = heat_map(256, slots_of(3), 70, 8)
    assert (found.per_cell, found.open, len(found.rows), len(found.rows[0])) == (1, 3, 4, 64)
    assert [place for place, level in enumerate(found.rows[0]) if level] == [0, 9, 18]


@pytest.mark.parametrize(
    ("slots", "width", "height"), [(4096, 80, 2), (4096, 7, 1), (2, 300, 8), (256, 1, 1), (0, 5, 5)]
)
def test_it_fits(slots: int, width: int, height: int) -> None:
    found = heat_map(slots, slots_of(2) if slots else (), width, height)
    assert len(found.rows) <= height
    assert all(len(row) <= width for row in found.rows)
    assert sum(map(len, found.rows)) * found.per_cell >= slots
