from __future__ import annotations

from cais_tools.session.event_queue import EventQueue
from cais_tools.session.events import PacketIn, PrimaryChanged, Restarted, StreamError


def test_events_come_in_order_whatever_their_kind() -> None:
    events = [PacketIn(b"1", {}), PrimaryChanged(True, ""), StreamError("UNKNOWN", ""), PacketIn(b"2", {})]
    queue = EventQueue()
    for event in events:
        queue.put(event)
    assert [queue.get(0) for _ in range(5)] == [*events, None]


def test_packets_that_nobody_fetches_do_not_hide_a_restart() -> None:
    queue = EventQueue(limit=3)
    queue.put(Restarted("gone"))
    for number in range(10):
        queue.put(PacketIn(bytes([number]), {}))
    assert queue.dropped == 7
    assert queue.get(0) == Restarted("gone")
    assert [event.payload for _ in range(3) if isinstance(event := queue.get(0), PacketIn)] == [b"\7", b"\x08", b"\t"]
    assert queue.get(0) is None


def test_a_switch_that_comes_and_goes_does_not_fill_the_memory() -> None:
    queue = EventQueue(limit=2)
    for number in range(5):
        queue.put(Restarted(str(number)))
    assert [queue.get(0) for _ in range(3)] == [Restarted("3"), Restarted("4"), None]
