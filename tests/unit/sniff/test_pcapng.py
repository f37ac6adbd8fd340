"""pcapng files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from cais_tools.sniff.batch import Direction
from tests.unit.sniff.captures import (
    START,
    block,
    frame,
    frames_of,
    interface,
    options,
    packet,
    pcap,
    read,
    section,
    times_of,
)

NAME, RESOLUTION, OFFSET = 2, 9, 14


@pytest.mark.parametrize("order", ["<", ">"])
def test_packets_between_blocks_that_nobody_knows(tmp_path: Path, order: str) -> None:
    content = section(order) + interface(order) + block(0xBAD, b"what?", order)
    content += b"".join(packet(frame(i), START * 10**6 + i, order=order) for i in range(50))
    content += block(5, bytes(12), order) + packet(frame(50), START * 10**6 + 50, order=order)
    source, batches, said = read(tmp_path / "x", content)
    assert frames_of(batches) == [frame(i) for i in range(51)]
    assert times_of(batches) == [(START * 10**6 + i) * 1000 for i in range(51)]
    assert (said, source.damaged) == ([], False)


def test_sections_of_either_byte_order_with_interfaces_of_their_own(tmp_path: Path) -> None:
    content = section("<") + interface("<", described=[(NAME, b"veth1")]) + interface("<", described=[(NAME, b"veth2")])
    content += packet(frame(0), interface=1) + packet(frame(1))
    content += section(">") + interface(">") + packet(frame(2), order=">")
    source, batches, _ = read(tmp_path / "x", content)
    assert [each.name for each in source.interfaces] == ["veth1", "veth2", f"{tmp_path}/x#2"]
    assert [number for batch in batches for number in batch.interface.tolist()] == [1, 0, 2]
    assert frames_of(batches) == [frame(0), frame(1), frame(2)]


@pytest.mark.parametrize(
    ("resolution", "ticks", "nanoseconds"),
    [
        (None, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (0, 1_700_000_000, 1_700_000_000_000_000_000),
        (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (10, 17_000_000_001_234_567_891, 1_700_000_000_123_456_789),
        (0x80 | 10, 1_700_000_000 << 10 | 512, 1_700_000_000_500_000_000),
        (0x80 | 30, 1_700_000_000 << 30 | 1 << 28, 1_700_000_000_250_000_000),
        (0x80 | 40, 1_000 << 40 | 3 << 38, 1_000_750_000_000),
        (0x80 | 63, 1 << 63 | 1 << 62, 1_500_000_000),
    ],
)
def test_units_of_time(tmp_path: Path, resolution: int | None, ticks: int, nanoseconds: int) -> None:
    described = [] if resolution is None else [(RESOLUTION, bytes([resolution]))]
    content = section() + interface(described=described) + packet(frame(), ticks)
    assert times_of(read(tmp_path / "x", content)[1]) == [nanoseconds]


@pytest.mark.parametrize("resolution", range(256))
def test_no_unit_of_time_is_an_error(tmp_path: Path, resolution: int) -> None:
    described = [(RESOLUTION, bytes([resolution])), (OFFSET, struct.pack("<q", -(2**63)))]
    content = section() + interface(described=described) + packet(frame(), 2**64 - 1)
    assert len(frames_of(read(tmp_path / "x", content)[1])) == 1


def test_offset_of_the_clock(tmp_path: Path) -> None:
    content = section() + interface(described=[(OFFSET, struct.pack("<q", START))]) + packet(frame(), 5)
    assert times_of(read(tmp_path / "x", content)[1]) == [START * 10**9 + 5000]


def test_simple_and_old_packet_blocks(tmp_path: Path) -> None:
    cut = frame(1)[:40]
    old = struct.pack("<HHIIII", 1, 0, START * 10**6 >> 32, START * 10**6 & 0xFFFFFFFF, len(frame(2)), len(frame(2)))
    content = section() + interface(snaplen=40) + interface()
    content += block(3, struct.pack("<I", len(frame(1))) + cut) + block(2, old + frame(2)) + packet(frame(3))
    _, batches, _ = read(tmp_path / "x", content)
    assert frames_of(batches) == [cut, frame(2), frame(3)]
    assert np.concatenate([batch.length for batch in batches]).tolist() == [len(frame(i)) for i in (1, 2, 3)]
    assert np.concatenate([batch.interface for batch in batches]).tolist() == [0, 1, 0]


def test_direction_is_among_the_options_of_a_packet(tmp_path: Path) -> None:
    flags = [[], [(2, struct.pack("<I", 1))], [(1, b"a comment"), (2, struct.pack("<I", 2))], [(2, b"\xff" * 4)]]
    content = section() + interface() + b"".join(packet(frame(), described=each) for each in flags)
    _, [batch], _ = read(tmp_path / "x", content)
    assert batch.direction.tolist() == [Direction.UNKNOWN, Direction.IN, Direction.OUT, Direction.UNKNOWN]


def test_interfaces_of_different_link_types_make_batches_of_their_own(tmp_path: Path) -> None:
    content = section() + interface() + interface(link_type=113) + interface(link_type=147)
    content += b"".join(packet(frame(i), interface=i % 3) for i in range(6))
    _, batches, _ = read(tmp_path / "x", content)
    assert [batch.link_type for batch in batches] == [1, 113, 147, 1, 113, 147]
    assert [batch.first for batch in batches] == [1, 2, 3, 4, 5, 6]


def _damaged(tmp_path: Path, tail: bytes) -> str:
    source, batches, [said] = read(tmp_path / "x", section() + interface() + packet(frame(0)) + tail + packet(frame(1)))
    assert frames_of(batches) == [frame(0)]
    assert source.damaged
    return said


def test_damage_ends_the_reading(tmp_path: Path) -> None:
    good = packet(frame(1))
    assert "8 bytes" in _damaged(tmp_path, struct.pack("<III", 5, 8, 8))
    assert "4,294,967,295 bytes" in _damaged(tmp_path, b"\xff" * 12)
    assert "that nobody described" in _damaged(tmp_path, packet(frame(1), interface=1))
    assert "longer than its block" in _damaged(tmp_path, good[:20] + struct.pack("<I", 4000) + good[24:])
    assert "lengths make no sense" in _damaged(tmp_path, good[:-4] + struct.pack("<I", 12))
    assert "lengths make no sense" in _damaged(tmp_path, block(6, bytes(16)))
    assert "without a byte order" in _damaged(tmp_path, block(0x0A0D0D0A, bytes(16)))
    assert "the two lengths" in _damaged(tmp_path, block(5, bytes(4))[:-4] + bytes(4))
    assert "interface description" in _damaged(tmp_path, block(1, bytes(4)))


def test_a_cut_off_last_block(tmp_path: Path) -> None:
    content = section() + interface() + packet(frame(0)) + packet(frame(1))
    source, batches, said = read(tmp_path / "x", content[:-7])
    assert frames_of(batches) == [frame(0)]
    assert said == [f"{tmp_path}/x ends in the middle of record 2; the 1 before it are read"]
    assert not source.damaged


def test_no_packets_and_no_interfaces(tmp_path: Path) -> None:
    source, batches, said = read(tmp_path / "x", section())
    assert (source.interfaces, batches, said) == ([], [], [])


def test_options_helper_pads() -> None:
    assert len(options([(NAME, b"veth1")])) == 16
    assert pcap([])[:4] == b"\xd4\xc3\xb2\xa1"
