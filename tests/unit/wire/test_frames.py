from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.wire.frames import Frames, build_frames, parse_frames
from cais_tools.wire.header import ETHERNET_BYTES, Op, frame_bytes

LANES = 64


def window(count: int, payload: np.ndarray | None) -> Frames:
    seq = np.arange(2**32 - 2, 2**32 - 2 + count, dtype=np.uint64).astype(np.uint32)
    return build_frames(
        op=Op.ALLREDUCE_MIN,
        group_id=9,
        rank=2,
        layer_id=5,
        total_chunks=count,
        chunk_ids=np.arange(count),
        seq_nums=seq,
        tags=seq ^ np.uint32(0xFFFF),
        payload_len=LANES * 4,
        payload=payload,
    )


def test_round_trip() -> None:
    payload = np.random.default_rng(0).integers(-(2**31), 2**31, (5, LANES)).astype(np.int32)
    frames = window(5, payload)
    assert frames.shape == (5, frame_bytes(LANES))
    parsed = parse_frames([row.tobytes() for row in frames], LANES)
    assert (parsed.payload == payload).all()
    assert parsed.headers["seq_num"].tolist() == [2**32 - 2, 2**32 - 1, 0, 1, 2]
    assert parsed.headers["chunk_id"].tolist() == [0, 1, 2, 3, 4]
    assert set(parsed.headers["op_type"].tolist()) == {4}
    assert parsed.skipped == 0


def test_lanes_are_big_endian_twos_complement() -> None:
    payload = np.zeros((1, LANES), np.int32)
    payload[0, :2] = (-2, 1)
    assert window(1, payload)[0, 34:42].tobytes() == bytes.fromhex("fffffffe00000001")


def test_header_only_frames_and_vlan_tags_mix_with_others() -> None:
    payload = np.ones((2, LANES), np.int32)
    plain = [row.tobytes() for row in window(2, payload)]
    tagged = [frame[:12] + bytes.fromhex("81000005") + frame[12:] for frame in plain]
    short = [row.tobytes() + bytes(26) for row in window(2, None)]
    parsed = parse_frames(plain + tagged + short, LANES)
    assert len(parsed) == 6
    assert sorted(parsed.payload.sum(axis=1).tolist()) == [0, 0, LANES, LANES, LANES, LANES]


def test_what_is_cut_or_foreign_is_skipped() -> None:
    frame = window(1, np.ones((1, LANES), np.int32))[0].tobytes()
    pieces = [frame[:length] for length in range(len(frame))]
    foreign = frame[:12] + b"\x08\x00" + frame[14:]
    parsed = parse_frames([*pieces, foreign, frame], LANES)
    assert len(parsed) == 1
    assert parsed.skipped == len(frame) + 1


@given(st.lists(st.binary(max_size=80).map(lambda tail: bytes(12) + b"\x88\xb5" + tail), max_size=20))
def test_no_bytes_make_the_parser_fail(frames: list[bytes]) -> None:
    parsed = parse_frames(frames, 4)
    assert len(parsed) + parsed.skipped == len(frames)
    assert all(len(frame) >= ETHERNET_BYTES for frame in frames)
