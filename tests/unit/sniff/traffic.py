"""Traffic of a group as it would be captured, with sums worked out by Python's own integers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import reduce

import numpy as np

from cais_tools.sniff.batch import CaptureInterface, LinkType, batch_of
from cais_tools.sniff.decode import Decoded, decode
from cais_tools.wire import tag
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import ETHERTYPE_CAIS, SWITCH_MAC, Header, Op, group_mac, mac_bytes

INTERFACES = (CaptureInterface("test", LinkType.ETHERNET),)
EPOCH, GROUP, RANKS = 3, 1, 3
TENSORS = ((7, -2, 2**31 - 1, -(2**31)), (100, 200, 1, -1), (3, 5, -7, 11))
"""Lanes of each rank; the sum of the third and fourth lanes wraps."""
_COMBINED = {
    Op.ALLREDUCE_MAX: max,
    Op.ALLREDUCE_MIN: min,
    Op.ALLREDUCE_PRODUCT: lambda a, b: a * b,
}


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def term(seq: int, rank: int, op: Op, lanes: Sequence[int]) -> int:
    value = int(tag.term(EPOCH, GROUP, np.array([seq], np.uint32), rank)[0])
    if op.is_linear and lanes:
        value += int(tag.checksum(np.array([lanes], np.int32))[0])
    return value % 2**32


def frame(sender: bytes, header: Header, lanes: Sequence[int]) -> bytes:
    payload = struct.pack(f">{len(lanes)}i", *lanes)
    return mac_bytes(group_mac(header.group_id)) + sender + ETHERTYPE_CAIS.to_bytes(2, "big") + header.pack() + payload


def contribution(seq: int, rank: int, op: Op = Op.ALLREDUCE, lanes: Sequence[int] | None = None) -> bytes:
    lanes = TENSORS[rank] if lanes is None else lanes
    header = Header(op, GROUP, 5, seq % 2**16, 64, seq, 4 * len(lanes), term(seq, rank, op, lanes))
    return frame(mac_bytes(source_mac(rank)), header, lanes)


def result(seq: int, op: Op = Op.ALLREDUCE, ranks: Sequence[int] = range(RANKS), payload: bool = True) -> bytes:
    tensors = [TENSORS[rank] for rank in ranks]
    combine = _COMBINED.get(op, lambda a, b: a + b)
    lanes = [wrap(reduce(combine, column)) for column in zip(*tensors, strict=True)] if payload else []
    reserved = sum(term(seq, rank, op, TENSORS[rank]) for rank in ranks) % 2**32
    return frame(mac_bytes(SWITCH_MAC), Header(op, GROUP, 5, seq % 2**16, 64, seq, 4 * len(lanes), reserved), lanes)


def aggregate(seq: int, op: Op = Op.ALLREDUCE) -> list[bytes]:
    """A contribution of each rank, then the result."""
    return [*(contribution(seq, rank, op) for rank in range(RANKS)), result(seq, op)]


def captured(frames: Sequence[bytes], cut: int | None = None) -> Decoded:
    """Frame i is seen i milliseconds after the first; `cut` is how many bytes of each there are."""
    held = [each[:cut] for each in frames]
    times = [10**6 * i for i in range(len(frames))]
    return decode(batch_of(held, time_ns=times, length=[len(each) for each in frames]))
