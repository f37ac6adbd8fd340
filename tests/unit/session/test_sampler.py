"""Readings over lost connections, against a session that is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cais_tools.errors import Unreachable
from cais_tools.session.cais import Sampler, Snapshot
from tests.unit.session.readings import group_stats, snapshot


class _Switch:
    """In place of CaisSwitch: gives the snapshots in order, or raises what stands among them."""

    def __init__(self, world: _World) -> None:
        self.world = self.session = world

    def snapshot(self, *, rules: bool, since: Snapshot | None) -> Snapshot:
        assert not rules
        self.world.searches.append(since is None)
        item = self.world.items.pop(0)
        if isinstance(item, Exception):
            raise item
        return item


class _World:
    def __init__(self) -> None:
        self.items: list[Snapshot | Exception] = []
        self.searches: list[bool] = []
        self.opened = self.closed = 0

    def open(self) -> Any:
        self.opened += 1
        return self

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> _World:
    monkeypatch.setattr("cais_tools.session.cais.sampler.CaisSwitch", _Switch)
    return _World()


SHOT = snapshot(group_stats(opened=10, completed=10), time=1.0)


def test_rates_from_the_second_reading_on(world: _World) -> None:
    sampler = Sampler(world.open)
    world.items = [SHOT, snapshot(group_stats(opened=30, completed=30), time=3.0)]
    assert sampler.take().rates is None
    rates = sampler.take().rates
    assert rates is not None
    assert rates.operations_per_s == 10
    assert (world.opened, world.closed) == (1, 0)


def test_a_lost_switch_is_connected_to_anew_and_has_no_rates_at_first(world: _World) -> None:
    sampler = Sampler(world.open)
    world.items = [SHOT, Unreachable("gone"), replace(SHOT, time=5.0), replace(SHOT, time=6.0)]
    sampler.take()
    with pytest.raises(Unreachable):
        sampler.take()
    assert (world.opened, world.closed) == (1, 1)
    assert sampler.take().rates is None
    assert sampler.take().rates is not None
    assert world.opened == 2


def test_all_counters_are_looked_through_now_and_then(world: _World) -> None:
    sampler = Sampler(world.open)
    world.items = [replace(SHOT, time=each) for each in (0.0, 1.0, 9.0, 10.5, 11.0, 21.0)]
    for _ in range(6):
        sampler.take()
    assert world.searches == [True, False, False, False, True, False]


def test_closing_twice_is_no_error(world: _World) -> None:
    sampler = Sampler(world.open)
    world.items = [SHOT]
    sampler.take()
    sampler.close()
    sampler.close()
    assert world.closed == 1
