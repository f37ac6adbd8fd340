# pyright: basic, reportAttributeAccessIssue=false
from __future__ import annotations

import numpy as np
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from cais_tools.wire.frames import build_frames
from cais_tools.wire.header import Op
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
