"""Packets as lines and as documents."""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from cais_tools.sniff import times
from cais_tools.sniff.batch import CaptureInterface, Direction, LinkType, batch_of
from cais_tools.sniff.decode import decode
from cais_tools.sniff.documents import documents_of
from cais_tools.sniff.printing import Style, hex_dump, lines_of
from cais_tools.wire.header import SWITCH_MAC, mac_bytes
from tests.unit.sniff.captures import START, frame

UTC = Style(utc=True)
WHEN = START * 10**9 + 123_456_789
TWO = [CaptureInterface("veth1", 1, 1), CaptureInterface("veth2", 1, 2)]


def line(data: bytes, style: Style = UTC, *, length: int | None = None, mark: str = "") -> str:
    batch = batch_of([data], time_ns=[WHEN], length=[length or len(data)])
    [text] = lines_of(decode(batch), TWO[:1], style, [mark])
    return text


def from_switch(data: bytes) -> bytes:
    return data[:6] + mac_bytes(SWITCH_MAC) + data[12:]


def test_one_line_a_packet() -> None:
    rest = "group 1 layer 5 chunk 7/8 seq 9 len 8"
    assert line(frame()) == f"22:13:20.123456+00:00 rank 1 allreduce {rest}"
    assert line(from_switch(frame())) == f"22:13:20.123456+00:00 switch allreduce {rest}"
    assert line(frame(), Style(utc=True, numeric=True)) == f"22:13:20.123456+00:00 02:ca:15:01:00:01 op 0 {rest}"
    assert line(frame(tags=b"\x81\0\0\5")) == f"22:13:20.123456+00:00 vlan 5 rank 1 allreduce {rest}"


def test_what_is_wrong_with_a_packet_is_said() -> None:
    assert line(frame(op_type=9)).endswith("rank 1 op 9 group 1 layer 5 chunk 7/8 seq 9 len 8 [unknown operation]")
    assert line(frame()[:40], length=42).endswith("len 8 [cut off by the capture: 6 bytes of payload]")
    assert line(frame()[:40]).endswith("len 8 [payload_len is 8, but 6 bytes follow]")
    assert line(frame(), mark="  ! group 1").endswith("len 8  ! group 1")


def test_interface_and_direction_and_what_is_too_short() -> None:
    frames = [frame(1)[:20], frame(2), frame(3)[:33], frame(4)]
    batch = batch_of(
        frames, time_ns=[WHEN] * 4, interface=[0, 1, 0, 1], direction=[0, 1, 2, 2], length=[20, 42, 90, 42]
    )
    lines = [text.removeprefix("22:13:20.123456+00:00 ") for text in lines_of(decode(batch), TWO, UTC)]
    assert lines == [
        "veth1 [too short for a CAIS header: 20 bytes in all]",
        "veth2 In rank 1 allreduce group 1 layer 5 chunk 7/8 seq 2 len 8",
        "veth1 Out [too short for a CAIS header: the capture holds 33 of 90 bytes]",
        "veth2 Out rank 1 allreduce group 1 layer 5 chunk 7/8 seq 4 len 8",
    ]


def test_link_level_header() -> None:
    text = line(frame(tags=bytes.fromhex("88a86064 810000c8")), Style(utc=True, link=True))
    assert text.startswith(
        "22:13:20.123456+00:00 02:ca:15:01:00:01 > 03:ca:15:00:00:01, 802.1ad vlan 100 p 3, 802.1Q vlan 200 p 0, "
        "ethertype 0x88b5, length 50: rank 1 "
    )


def test_header_lanes_and_bytes() -> None:
    text = line(frame(lanes=[-1, *range(9)]), Style(utc=True, verbose=True, hex=1)).splitlines()
    assert text[1] == "    op_type 0 (allreduce), group_id 1, layer_id 5, chunk_id 7, total_chunks 8"
    assert text[2] == "    seq_num 9, payload_len 40, reserved 0x0000004d (tag)"
    assert text[3:5] == ["    lane   0: -1  0  1  2  3  4  5  6", "    lane   8:  7  8"]
    assert text[5] == "\t0x0000:  0001 0005 0007 0008 0000 0009 0000 0028"
    assert line(frame(), Style(hex=2)).splitlines()[1] == "\t0x0000:  03ca 1500 0001 02ca 1501 0001 88b5 0001"
    assert hex_dump(b"\1\2\3") == ["\t0x0000:  0102 03"]


def test_colour_tells_results_from_contributions_and_what_is_wrong() -> None:
    colour = Style(utc=True, colour=True)
    assert "\033[36mrank 1 allreduce\033[0m" in line(frame(), colour)
    assert "\033[32mswitch allreduce\033[0m" in line(from_switch(frame()), colour)
    assert line(frame(), colour, mark=" bad").endswith("len 8\033[31m bad\033[0m")
    assert "\033" not in line(frame(op_type=7), mark="bad")


def test_documents_have_the_fields_of_the_header() -> None:
    batch = batch_of([frame(tags=b"\x81\0\0\5")], time_ns=[WHEN], interface=1, direction=Direction.OUT)
    [document] = documents_of(decode(batch), TWO, Style(utc=True, verbose=True, hex=1))
    assert document == {
        "ts": "2023-11-14T22:13:20.123456789+00:00",
        "ts_ns": WHEN,
        "number": 1,
        "interface": "veth2",
        "port": 2,
        "direction": "out",
        "source": "02:ca:15:01:00:01",
        "target": "03:ca:15:00:00:01",
        "sender": "rank 1",
        "vlan": 5,
        "length": 46,
        "captured": 46,
        "op": "allreduce",
        "op_type": 0,
        "group_id": 1,
        "layer_id": 5,
        "chunk_id": 7,
        "total_chunks": 8,
        "seq_num": 9,
        "payload_len": 8,
        "reserved": 77,
        "lanes": [1, -2],
        "frame": frame(tags=b"\x81\0\0\5").hex(),
    }


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Generator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()
    times._parts.cache_clear()


@pytest.mark.parametrize(
    ("name", "second", "text"),
    [
        ("Asia/Kolkata", START, "2023-11-15T03:43:20.000000000+05:30"),
        ("Europe/Berlin", 1_698_541_200 - 1, "2023-10-29T02:59:59.000000000+02:00"),
        ("Europe/Berlin", 1_698_541_200 + 1, "2023-10-29T02:00:01.000000000+01:00"),
        ("UTC", -1, "1969-12-31T23:59:59.000000000+00:00"),
        ("UTC", -(2**63) // 10**9, "1677-09-21T00:12:43.000000000+00:00"),
        ("UTC", 2**63 // 10**9, "2262-04-11T23:47:16.000000000+00:00"),
    ],
)
def test_zones(zone: pytest.MonkeyPatch, name: str, second: int, text: str) -> None:
    zone.setenv("TZ", name)
    time.tzset()
    times._parts.cache_clear()
    assert times.rfc3339(second * 10**9, utc=False) == text
    assert times.clock(second * 10**9, utc=False) == text[11:26] + text[29:]


def test_cooked_captures_have_no_target() -> None:
    sll = bytes.fromhex("0000 0001 0006 02ca15010001 0000 8100 0007") + frame()[12:]
    decoded = decode(batch_of([sll], link_type=LinkType.LINUX_SLL))
    [text] = lines_of(decoded, TWO[:1], Style(link=True, utc=True))
    assert " 02:ca:15:01:00:01, vlan 7, ethertype 0x88b5, length 48: rank 1 allreduce " in text
    [document] = documents_of(decoded, TWO, UTC)
    assert document["target"] is None
