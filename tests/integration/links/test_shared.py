"""Several groups on one cable."""

from __future__ import annotations

import select
import threading

import pytest

from cais_tools.links.cable import Cable
from cais_tools.links.shared import SharedLink
from cais_tools.wire import Header, Op

ADDRESSES = b"\x02\x00\x00\x00\x00\x01" + b"\x02\x00\x00\x00\x00\x02"


def frame(group_id: int, number: int, tag: bytes = b"") -> bytes:
    header = Header(Op.ALLREDUCE, group_id, 0, 0, 1, number, 0, 0)
    return ADDRESSES + tag + b"\x88\xb5" + header.pack()


@pytest.fixture
def ends() -> tuple[Cable, SharedLink]:
    switch = Cable()
    host = Cable(0, switch.local_port)
    switch.connect(host.local_port)
    return switch, SharedLink(host)


def wait(link: object, seconds: float = 5.0) -> bool:
    poll = select.poll()
    poll.register(link, select.POLLIN)  # type: ignore[arg-type]
    return bool(poll.poll(seconds * 1000))


def test_each_group_gets_its_frames_and_nobody_elses(ends: tuple[Cable, SharedLink]) -> None:
    switch, shared = ends
    first, second = shared.for_group(1), shared.for_group(2)
    mine = [frame(1, 0), frame(1, 1, b"\x81\x00\x00\x07")]
    switch.send([mine[0], frame(2, 0), frame(9, 0), b"\x00" * 60, mine[1]])
    assert wait(first)
    assert first.recv() == mine
    # The other's thread is woken by what this one has fetched for it.
    assert wait(second)
    assert second.recv() == [frame(2, 0)]
    assert not wait(second, 0.05)
    assert shared.foreign == 2
    shared.close()
    switch.close()


def test_two_threads_lose_nothing(ends: tuple[Cable, SharedLink]) -> None:
    switch, shared = ends
    links = {group: shared.for_group(group) for group in (1, 2)}
    heard: dict[int, list[bytes]] = {1: [], 2: []}

    def listen(group: int) -> None:
        while len(heard[group]) < 500 and wait(links[group], 2.0):
            heard[group] += links[group].recv()

    threads = [threading.Thread(target=listen, args=(group,)) for group in links]
    for thread in threads:
        thread.start()
    for number in range(500):
        switch.send([frame(1, number), frame(2, number)])
    for thread in threads:
        thread.join()
    assert heard == {group: [frame(group, number) for number in range(500)] for group in (1, 2)}
    shared.close()
    switch.close()


def test_a_group_that_leaves_takes_nobody_along(ends: tuple[Cable, SharedLink]) -> None:
    switch, shared = ends
    first, second = shared.for_group(1), shared.for_group(2)
    first.close()
    switch.send([frame(1, 0), frame(2, 0)])
    assert wait(second)
    assert second.recv() == [frame(2, 0)]
    assert shared.foreign == 1
    assert second.send([frame(2, 1)]) == 1
    assert wait(switch)
    assert switch.recv() == [frame(2, 1)]
    shared.close()
    switch.close()


def test_a_group_that_fetches_nothing_fills_no_memory(
    ends: tuple[Cable, SharedLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cais_tools.links.shared._QUEUED", 2)
    switch, shared = ends
    first, second = shared.for_group(1), shared.for_group(2)
    switch.send([frame(2, number) for number in range(5)])
    assert wait(first)
    assert first.recv() == []
    assert shared.overrun == 3
    assert second.recv() == [frame(2, 0), frame(2, 1)]
    shared.close()
    switch.close()
