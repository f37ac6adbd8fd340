"""Aggregates are let go in time: memory stays bounded in a long capture, and a live one shows them while it goes on."""

from __future__ import annotations

import numpy as np
import pytest

from cais_tools.sniff import window
from cais_tools.sniff.batch import batch_of
from cais_tools.sniff.decode import Decoded, decode
from cais_tools.sniff.slots import Slots
from cais_tools.sniff.verify import Verify
from cais_tools.sniff.window import PATIENCE_NS, QUIET_NS, Window
from tests.unit.sniff.traffic import INTERFACES, aggregate, contribution

MS = 10**6


def packets(frames: list[bytes], first: int = 1) -> Decoded:
    return decode(batch_of(frames, time_ns=[MS * (first + i) for i in range(len(frames))], first=first))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "_MOST_ROWS", 64)


@pytest.mark.usefixtures("small")
def test_old_aggregates_are_let_go_and_each_once() -> None:
    slots, seen = Slots(INTERFACES), []
    for seq in range(200):
        seen += slots.feed(packets(aggregate(seq), first=1 + 4 * seq))
    assert len(seen) > 150
    seen += slots.finish()
    assert [slot.seq_num for slot in seen] == list(range(200))
    assert {len(slot.contributed) for slot in seen} == {3}


@pytest.mark.usefixtures("small")
def test_endless_repetitions_do_not_pile_up() -> None:
    slots = Slots(INTERFACES)
    seen = [slot for seq in range(100) for slot in slots.feed(packets([contribution(1, 0)] * 8, first=1 + 8 * seq))]
    assert len(seen) > 5


@pytest.mark.usefixtures("small")
def test_an_aggregate_in_pieces_is_one() -> None:
    """Its packets come in several batches, with others between them."""
    verify = Verify(INTERFACES)
    late = aggregate(5000)
    for part in range(4):
        verify.feed(packets([late[part], *aggregate(10 * part), *aggregate(10 * part + 1)], first=1 + 9 * part))
    verify.finish()
    report = verify.report()
    assert report.passed
    assert (report.verified, report.aggregates) == (9, 9)


def test_a_live_capture_shows_what_is_quiet() -> None:
    slots = Slots(INTERFACES, live=True)
    assert slots.feed(packets([*aggregate(1), contribution(2, 0)])) == []
    assert slots.tick(5 * MS) == []
    assert [slot.seq_num for slot in slots.tick(5 * MS + QUIET_NS)] == [1]
    assert [slot.seq_num for slot in slots.tick(5 * MS + PATIENCE_NS)] == [2]
    assert slots.finish() == []


def test_a_file_has_no_clock() -> None:
    slots = Slots(INTERFACES)
    slots.feed(packets(aggregate(1)))
    assert slots.tick(10**18) == []
    assert len(slots.finish()) == 1


def test_lanes_are_kept_with_their_packets() -> None:
    frames = [contribution(1, 0, lanes=(1, 2, 3, 4) * 4), contribution(1, 1, lanes=()), contribution(1, 2)]
    kept = Window(INTERFACES, payload=True, live=False)
    kept.add(packets(frames[:1]))
    kept.add(packets(frames[1:], first=2))
    found = kept.finish()
    assert found is not None
    assert found.rows["lanes"].tolist() == [16, 0, 4]
    assert (found.payload[0] == np.tile([1, 2, 3, 4], 4)).all()
    assert not found.payload[1].any()
    assert not found.payload[2, 4:].any()
