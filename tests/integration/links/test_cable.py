"""Cables between two sockets of this machine."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from cais_tools.links.cable import MAX_BUNDLE_FRAMES, Cable

Ends = tuple[Cable, Cable]


@pytest.fixture
def ends() -> Iterator[Ends]:
    left, right = Cable(), Cable()
    left.connect(right.local_port)
    right.connect(left.local_port)
    yield left, right
    left.close()
    right.close()


def receive(cable: Cable, count: int) -> list[bytes]:
    frames: list[bytes] = []
    while len(frames) < count and select.select([cable], [], [], 5.0)[0]:
        frames += cable.recv()
    return frames


def test_frames_arrive_whole_and_in_order(ends: Ends) -> None:
    left, right = ends
    frames = [bytes([i % 256]) * (14 + i * 7 % 1500) for i in range(300)]
    assert left.send(frames) == len(frames)
    assert receive(right, len(frames)) == frames
    assert right.recv() == []


def test_a_matrix_is_its_rows(ends: Ends) -> None:
    left, right = ends
    matrix = np.random.default_rng(1).integers(0, 256, (150, 290), np.uint8)
    assert right.send_matrix(matrix) == 150
    assert receive(left, 150) == [row.tobytes() for row in matrix]


def test_a_matrix_of_long_frames_takes_more_datagrams(ends: Ends) -> None:
    left, right = ends
    matrix = np.full((20, 9000), 7, np.uint8)
    assert left.send_matrix(matrix) == 20
    assert receive(right, 20) == [bytes([7]) * 9000] * 20


def test_frames_are_bundled(ends: Ends) -> None:
    left, right = ends
    plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    plain.bind(("127.0.0.1", 0))
    left.connect(plain.getsockname()[1])
    left.send([b"x" * 60] * (MAX_BUNDLE_FRAMES + 1))
    assert [len(plain.recv(1 << 16)) for _ in range(2)] == [MAX_BUNDLE_FRAMES * 62, 62]
    plain.close()
    right.close()


@pytest.mark.parametrize(
    "bundle",
    [b"", b"\0", b"\0\0", b"\0\5abcd", b"\0\1a\0", b"\0\1a\0\2b", b"\0\1a" * 65],
    ids=["empty", "half a length", "no frame", "cut short", "odd byte", "second cut short", "too many"],
)
def test_damaged_bundles_are_dropped_and_counted(ends: Ends, bundle: bytes) -> None:
    left, right = ends
    raw = socket.socket(fileno=socket.dup(left.fileno()))
    raw.send(bundle)
    left.send([b"good frame"])
    assert receive(right, 1) == [b"good frame"]
    assert right.damaged == 1
    raw.close()


def test_an_unplugged_cable_loses_frames() -> None:
    cable, other = Cable(), Cable()
    assert cable.send([b"frame"]) == 1  # nothing plugged in yet
    cable.connect(other.local_port)
    other.close()
    assert [cable.send([b"frame"]) for _ in range(3)] == [1, 1, 1]
    assert cable.send_matrix(np.zeros((3, 60), np.uint8)) == 3
    assert cable.recv() == []
    assert cable.lost == 1 + 3 + 3
    cable.close()


def test_the_first_frame_after_plugging_in_again_arrives() -> None:
    cable, other = Cable(), Cable()
    port = other.local_port
    cable.connect(port)
    other.close()
    cable.send([b"lost"])
    other = Cable(port, cable.local_port)
    cable.send([b"first"])
    assert receive(other, 1) == [b"first"]
    cable.close()
    other.close()


def test_strangers_are_not_heard(ends: Ends) -> None:
    left, right = ends
    stranger = Cable(0, right.local_port)
    stranger.send([b"stranger"])
    left.send([b"friend"])
    assert receive(right, 1) == [b"friend"]
    stranger.close()


class FullSocket:
    """Stands in for a socket that is full after two datagrams, which UDP over loopback never is on its own."""

    def __init__(self) -> None:
        self.sent = 0

    def send(self, data: bytes) -> int:
        if self.sent == 2:
            raise BlockingIOError(errno.EAGAIN, "full")
        self.sent += 1
        return len(data)


def test_what_does_not_fit_is_not_taken(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    left, _ = ends
    with monkeypatch.context() as patch:
        patch.setattr(left, "_socket", FullSocket())
        assert left.send([b"x" * 1000] * 1000) == 2 * 59
        assert left.send_matrix(np.zeros((1000, 1000), np.uint8)) == 0
    assert left.lost == 0
