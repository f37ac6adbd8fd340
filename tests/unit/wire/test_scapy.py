# pyright: basic, reportAttributeAccessIssue=false
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

from cais_tools.wire.frames import build_frames
from cais_tools.wire.header import ETHERTYPE_CAIS, HEADER_BYTES, SWITCH_MAC, Op
from cais_tools.wire.scapy import CAIS


def frame(payload: np.ndarray | None) -> bytes:
    return build_frames(
        op=Op.ALLREDUCE_MAX,
        group_id=1,
        rank=0,
        layer_id=5,
        total_chunks=9,
        chunk_ids=3,
        seq_nums=np.array([77], np.uint32),
        tags=0xCAFE,
        payload_len=12,
        payload=payload,
    )[0].tobytes()


def test_dissects_and_builds_what_the_endpoint_sends() -> None:
    payload = np.arange(-32, 32, dtype=np.int32)[None]
    packet = Ether(frame(payload))
    assert packet[CAIS].lanes == payload[0].tolist()
    assert (packet[CAIS].op_type, packet[CAIS].seq_num, packet[CAIS].reserved) == (3, 77, 0xCAFE)
    assert bytes(packet) == frame(payload)
    rebuilt = Ether(dst="03:ca:15:00:00:01", src="02:ca:15:01:00:00") / CAIS(
        op_type="allreduce-max",
        group_id=1,
        layer_id=5,
        chunk_id=3,
        total_chunks=9,
        seq_num=77,
        payload_len=12,
        reserved=0xCAFE,
        lanes=payload[0].tolist(),
    )
    assert bytes(rebuilt) == frame(payload)


def test_header_only_keeps_padding_apart() -> None:
    packet = Ether(frame(None) + bytes(26))
    assert packet[CAIS].payload_len == 0
    assert packet[CAIS].lanes is None
    assert len(packet.lastlayer().load) == 26


def test_vlan() -> None:
    packet = Ether() / Dot1Q(vlan=5) / CAIS(payload_len=4, lanes=[-1])
    assert Ether(bytes(packet))[CAIS].lanes == [-1]


def test_answers() -> None:
    contribution, result = CAIS(group_id=1, seq_num=5), CAIS(group_id=1, seq_num=5)
    assert result.answers(contribution)
    assert result.hashret() == contribution.hashret()
    assert not CAIS(group_id=1, seq_num=6).answers(contribution)
    assert not CAIS().answers(Raw())


def test_payload_len_follows_from_the_lanes() -> None:
    assert Ether(bytes(Ether() / CAIS(lanes=[1, -2])))[CAIS].payload_len == 8
    assert Ether(bytes(Ether() / CAIS()))[CAIS].payload_len == 0


def test_a_short_frame_is_padded_and_payload_len_tells_where() -> None:
    packet = Ether(bytes(Ether() / CAIS(lanes=[1, -2])) + bytes(18))
    assert packet[CAIS].lanes == [1, -2]
    assert packet.lastlayer().load == bytes(18)


def test_a_long_frame_has_all_lanes_of_the_program() -> None:
    packet = Ether(bytes(Ether() / CAIS(payload_len=8, lanes=[1, -2, *[0] * 30])))
    assert packet[CAIS].lanes == [1, -2, *[0] * 30]


@pytest.mark.parametrize("cooked", [CookedLinux, CookedLinuxV2])
def test_tags_in_tags_and_cooked_captures(cooked: type[Packet]) -> None:
    inner = Dot1AD(vlan=3) / Dot1Q(vlan=5) / CAIS(lanes=[7])
    assert Ether(bytes(Ether() / inner))[CAIS].lanes == [7]
    assert cooked(bytes(cooked() / CAIS(lanes=[7])))[CAIS].lanes == [7]


def test_only_the_switch_answers() -> None:
    rank, result = Ether(src="02:ca:15:01:00:00") / CAIS(seq_num=5), Ether(src=SWITCH_MAC) / CAIS(seq_num=5)
    assert result.answers(rank)
    assert not rank.answers(rank)


@given(st.binary(max_size=80))
def test_any_bytes_are_dissected(data: bytes) -> None:
    packet = Ether(bytes(12) + ETHERTYPE_CAIS.to_bytes(2, "big") + data)
    assert (CAIS in packet) == (len(data) >= HEADER_BYTES)
    assert bytes(packet)[14:] == data


def test_it_is_loaded_with_one_line() -> None:
    line = "from cais_tools.wire.scapy import CAIS; from scapy.layers.l2 import Ether; print(Ether().type, CAIS().name)"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split()[-1] == "CAIS"
