from __future__ import annotations

import threading
import time

import pytest

from cais_tools.switch.locks import TurnLock
from cais_tools.switch.queues import PortQueue


def test_first_in_first_out_with_time_and_depth() -> None:
    queue: PortQueue[str] = PortQueue(4)
    assert queue.offer(["a", "b"], 10) == 2
    assert queue.offer(["c"], 11) == 1
    assert queue.take(2) == [("a", 10, 0), ("b", 10, 1)]
    assert queue.take(9) == [("c", 11, 2)]
    assert queue.take(9) == []


def test_what_comes_when_it_is_full_is_dropped_and_counted() -> None:
    queue: PortQueue[int] = PortQueue(3)
    assert queue.offer([1, 2], 0) == 2
    assert queue.offer([3, 4, 5], 0) == 1
    assert queue.offer([6], 0) == 0
    assert (queue.dropped, queue.peak, len(queue)) == (3, 3, 3)
    assert [item for item, _, _ in queue.take(3)] == [1, 2, 3]
    assert queue.offer([7], 0) == 1


def test_clear_tells_how_much_was_lost() -> None:
    queue: PortQueue[int] = PortQueue(3)
    queue.offer([1, 2], 0)
    assert queue.clear() == 2
    assert len(queue) == 0


def test_a_queue_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="holds nothing"):
        PortQueue(0)


def test_a_thread_that_takes_the_lock_again_at_once_lets_the_waiting_one_in() -> None:
    lock = TurnLock()
    held = threading.Event()
    order: list[str] = []

    def busy() -> None:
        with lock:
            held.set()
            while not lock._gate.locked():  # until the other one waits
                time.sleep(0.001)
        with lock:
            order.append("busy")

    thread = threading.Thread(target=busy, daemon=True)
    thread.start()
    assert held.wait(10)
    with lock:
        order.append("waiting")
    thread.join(10)
    assert order == ["waiting", "busy"]
