"""CAIS packets behind tags, in cooked captures, and cut off."""

from __future__ import annotations

import numpy as np
import pytest

from cais_tools.sniff.batch import CaptureInterface, Direction, LinkType, batch_of
from cais_tools.sniff.cooked import Cooked
from cais_tools.sniff.decode import decode
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import HEADER_BYTES, SWITCH_MAC, Header, mac_bytes
from tests.unit.sniff.captures import CAIS, ETHERNET, frame, header

RANK, SWITCH = mac_bytes(source_mac(1)), mac_bytes(SWITCH_MAC)


def test_fields_lanes_and_addresses() -> None:
    decoded = decode(batch_of([b"", frame(3), ETHERNET + b"\x08\x00" + bytes(46), frame(4, op_type=5)]))
    assert decoded.index.tolist() == [1, 3]
    assert decoded.header[1].item() == (5, 1, 5, 7, 8, 4, 8, 77)
    assert decoded.lanes(0).tolist() == [1, -2]
    assert decoded.source_mac[0].tobytes() + decoded.target_mac[0].tobytes() == ETHERNET[6:] + ETHERNET[:6]
    assert decoded.vlan.tolist() == [-1, -1]
    assert not decoded.truncated.any()
    assert not decoded.from_switch.any()


@pytest.mark.parametrize(
    ("tags", "vlan", "count"),
    [
        ("81006064", 100, 1),
        ("81000000", 0, 1),
        ("88a80064 810000c8", 100, 2),
        ("91000064 81000fff", 100, 2),
        ("8100f001" * 9, 1, 9),
    ],
)
def test_vlan_tags(tags: str, vlan: int, count: int) -> None:
    decoded = decode(batch_of([frame(1, bytes.fromhex(tags)), frame(2)]))
    assert (decoded.vlan.tolist(), decoded.tags.tolist()) == ([vlan, -1], [count, 0])
    assert decoded.header["seq_num"].tolist() == [1, 2]
    assert decoded.lanes(0).tolist() == [1, -2]


def test_every_length_of_a_capture() -> None:
    whole = frame(7, bytes.fromhex("88a80064810000c8"))
    decoded = decode(batch_of([whole[:n] for n in range(len(whole) + 1)], length=[len(whole)] * (len(whole) + 1)))
    header_at = 14 + 8
    assert decoded.malformed.tolist() == list(range(header_at, header_at + HEADER_BYTES))
    assert decoded.index.tolist() == list(range(header_at + HEADER_BYTES, len(whole) + 1))
    assert decoded.body_bytes.tolist() == list(range(9))
    assert decoded.truncated.tolist() == [True] * 8 + [False]


def test_linux_cooked_captures() -> None:
    sll = bytes.fromhex("0004 0001 0006") + SWITCH + bytes(2) + CAIS + header()
    tagged = bytes.fromhex("0000 0001 0006") + RANK + bytes.fromhex("0000 8100 0007") + CAIS + header()
    decoded = decode(batch_of([sll, tagged, sll[:15], sll[:20]], link_type=LinkType.LINUX_SLL))
    assert (decoded.index.tolist(), decoded.malformed.tolist()) == ([0, 1], [3])
    assert (decoded.from_switch.tolist(), decoded.vlan.tolist()) == ([True, False], [-1, 7])
    assert not decoded.target_mac.any()
    sll2 = CAIS + bytes.fromhex("0000 00000003 0001 04 06") + SWITCH + bytes(2) + header()
    no_address = CAIS + bytes.fromhex("0000 00000003 0001 04 00") + bytes(8) + header()
    decoded = decode(batch_of([sll2, no_address], link_type=LinkType.LINUX_SLL2))
    assert decoded.from_switch.tolist() == [True, False]
    assert [each.item() for each in decoded.header] == [Header.unpack(header())] * 2


def test_cooked_captures_tell_direction_and_interface() -> None:
    def record(index: int, packet_type: int) -> bytes:
        return CAIS + bytes(2) + index.to_bytes(4, "big") + bytes([0, 1, packet_type, 6]) + RANK + bytes(2) + header()

    interfaces = [CaptureInterface("x.pcap", LinkType.LINUX_SLL2)]
    cooked = Cooked(interfaces)
    for _ in range(2):
        batch = cooked.complete(batch_of([record(5, 4), record(9, 3), b"short"], link_type=LinkType.LINUX_SLL2))
        assert batch.direction.tolist() == [Direction.OUT, Direction.IN, Direction.UNKNOWN]
        assert [interfaces[i].name for i in batch.interface.tolist()] == ["if5", "if9", "x.pcap"]


def test_link_types_that_nobody_decodes_and_empty_batches() -> None:
    for batch in (batch_of([frame()], link_type=147), batch_of([]), batch_of([b""])):
        decoded = decode(batch)
        assert len(decoded) == len(decoded.malformed) == 0


def test_selection_keeps_columns_together() -> None:
    decoded = decode(batch_of([frame(i) for i in range(6)]))
    chosen = decoded.select(np.array([4, 1]))
    assert chosen.header["seq_num"].tolist() == [4, 1]
    assert chosen.index.tolist() == [4, 1]
    batch = decoded.batch.select(slice(2, 4))
    assert decode(batch).header["seq_num"].tolist() == [2, 3]
    assert batch.first == 3
