"""AF_PACKET links over veth, in a network namespace of their own."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from cais_tools.errors import NotPermitted
from cais_tools.links import open_link
from cais_tools.links.interface import Interface
from tests.integration.netns import NetworkNamespace, network_namespace


@pytest.fixture
def netns() -> Iterator[NetworkNamespace]:
    with network_namespace() as namespace:
        namespace.veth("va", "vb")
        yield namespace


@pytest.fixture
def ends(netns: NetworkNamespace) -> Iterator[tuple[Interface, Interface]]:
    left, right = netns.run(lambda: (Interface("va"), Interface("vb")))
    yield left, right
    left.close()
    right.close()


def frame(length: int, fill: int = 0, ether_type: int = 0x88B5) -> bytes:
    addresses = bytes.fromhex("03ca15000000 02ca15010000")
    return (addresses + ether_type.to_bytes(2, "big")).ljust(length, bytes([fill]))


def receive(link: Interface, count: int) -> list[bytes]:
    frames: list[bytes] = []
    while len(frames) < count and select.select([link], [], [], 5.0)[0]:
        frames += link.recv()
    return frames


def test_frames_arrive_whole_and_in_order(ends: tuple[Interface, Interface]) -> None:
    left, right = ends
    frames = [frame(60 + i * 7 % 1400, i % 256) for i in range(300)]
    assert left.send(frames) == 300
    assert receive(right, 300) == frames
    assert right.recv() == []


def test_what_this_machine_sends_is_not_heard(netns: NetworkNamespace, ends: tuple[Interface, Interface]) -> None:
    left, right = ends
    beside = netns.run(lambda: Interface("va"))
    beside.send([frame(60)])
    left.send([frame(61)])
    assert receive(right, 2) == [frame(60), frame(61)]
    assert left.recv() == beside.recv() == []
    beside.close()


def test_a_matrix_is_its_rows(ends: tuple[Interface, Interface]) -> None:
    left, right = ends
    matrix = np.tile(np.frombuffer(frame(290), np.uint8), (150, 1))
    matrix[:, 14:] = np.random.default_rng(1).integers(0, 256, (150, 276), np.uint8)
    assert right.send_matrix(matrix) == 150
    assert receive(left, 150) == [row.tobytes() for row in matrix]


@pytest.mark.parametrize("tpid", [0x8100, 0x88A8])
def test_vlan_tags_come_back(ends: tuple[Interface, Interface], tpid: int) -> None:
    left, right = ends
    plain = frame(80, 1)
    tagged = plain[:12] + tpid.to_bytes(2, "big") + (5 << 13 | 42).to_bytes(2, "big") + plain[12:]
    zero = plain[:12] + tpid.to_bytes(2, "big") + b"\0\0" + plain[12:]  # priority tag 0 on VLAN 0 is a tag too
    left.send([plain, tagged, zero, plain])
    assert receive(right, 4) == [plain, tagged, zero, plain]


def test_a_frame_that_the_kernel_refuses_does_not_stop_the_others(ends: tuple[Interface, Interface]) -> None:
    left, right = ends
    assert left.send([frame(60, 1), frame(4000), b"short", b"", frame(60, 2)]) == 5
    assert receive(right, 2) == [frame(60, 1), frame(60, 2)]
    assert left.lost == 3
    assert left.up


def test_an_interface_that_is_down_loses_frames_until_it_is_up(
    netns: NetworkNamespace, ends: tuple[Interface, Interface]
) -> None:
    left, right = ends
    netns.ip("link set va down")
    assert left.send([frame(60)] * 100) == 100
    assert left.recv() == []
    assert (left.lost, left.up) == (100, False)
    netns.ip("link set va up")
    netns.wait_until_up("va")
    assert left.send([frame(60)]) == 1
    assert left.up
    assert len(receive(right, 1)) == 1


def test_an_interface_that_is_removed_loses_frames(netns: NetworkNamespace, ends: tuple[Interface, Interface]) -> None:
    left, _ = ends
    netns.ip("link del va")
    assert left.send_matrix(np.zeros((3, 60), np.uint8)) == 3
    assert left.recv() == []
    assert not left.up


def test_without_the_privilege_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(NotPermitted, match="CAP_NET_RAW") as caught:
        open_link("interface:lo")
    assert caught.value.hint is not None
    assert "setcap" in caught.value.hint
