"""More updates than fit into one Write: verdicts by place, several batches under way, and a stop between them."""

from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.session import SwitchSession, TableEntry, Update, UpdateType, load_shipped
from cais_tools.session.cais.tables import mac_entry
from tests.unit.session.fake_switch import FakeSwitch

COUNT = 1000


@pytest.fixture
def loaded(session: SwitchSession, fake: FakeSwitch) -> SwitchSession:
    session.load(load_shipped())
    fake.writes.clear()
    return session


def _inserts(count: int = COUNT) -> list[Update]:
    return [Update(UpdateType.INSERT, mac_entry(address, 1)) for address in range(1, count + 1)]


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_verdict_for_every_update_in_order(loaded: SwitchSession, fake: FakeSwitch, at_once: int) -> None:
    loaded.insert(mac_entry(700, 2))
    verdicts = list(loaded.write_each(_inserts(), at_once=at_once))
    assert [verdict.index for verdict in verdicts] == list(range(COUNT))
    assert [verdict.index for verdict in verdicts if verdict.code == "ALREADY_EXISTS"] == [699]
    assert str(verdicts[699]).startswith("update 699 (INSERT mac dst_addr=700): ALREADY_EXISTS")
    assert len(fake.entities) == COUNT


def test_a_stop_lets_come_what_is_under_way(loaded: SwitchSession, fake: FakeSwitch) -> None:
    seen: list[int] = []
    verdicts = loaded.write_each(_inserts(), at_once=2, stop=lambda: bool(seen))
    seen += [verdict.index for verdict in verdicts]
    assert seen == list(range(COUNT)), "the stop is asked for when all have come"
    fake.entities.clear()
    seen.clear()
    for verdict in loaded.write_each(_inserts(), at_once=2, stop=lambda: bool(seen)):
        seen.append(verdict.index)
    assert seen == list(range(512))
    assert len(fake.entities) == 512


def test_an_update_that_makes_no_sense_is_found_before_anything_is_sent(
    loaded: SwitchSession, fake: FakeSwitch
) -> None:
    bad = Update(UpdateType.INSERT, TableEntry("mac", {"dst_addr": 1}, "forward", {"port": 512}))
    with pytest.raises(UsageError):
        loaded.try_write([*_inserts(), bad])
    assert not fake.writes
    with pytest.raises(UsageError):
        list(loaded.write_each([*_inserts(), bad], at_once=2))
    assert len(fake.entities) == 768, "nothing goes on behind the error"
