"""The CAIS header: the one definition from which dtype, Scapy layer and dissector follow.

A frame is Ethernet II, perhaps one VLAN tag, EtherType 0x88B5, the 20-byte header below in network byte order, and a
payload of a fixed number of 32-bit lanes (none at all in a header-only frame).
"""

from __future__ import annotations

import enum
import struct
from typing import Final, NamedTuple

ETHERTYPE_CAIS: Final = 0x88B5
"""IEEE 802 local experimental EtherType 1."""
ETHERTYPE_VLAN: Final = 0x8100
ETHERNET_BYTES: Final = 14
VLAN_BYTES: Final = 4
LEAST_ETHERNET_PAYLOAD: Final = 46
"""Bytes behind the EtherType that an Ethernet frame has at least; what is shorter is padded."""

DEFAULT_LANES: Final = 64
"""32-bit words in a payload, as the shipped P4 program is built."""
LANE_BYTES: Final = 4
MAX_MEMBERS: Final = 32
"""Ranks of a group behind one switch: the width of the slot's contribution bitmap."""

SWITCH_MAC: Final = "02:ca:15:00:00:00"
"""Source address of every result."""


class Op(enum.IntEnum):
    """`op_type`. The first three add; AllGather and Broadcast add the owner's payload to nothing."""

    ALLREDUCE = 0
    ALLGATHER = 1
    BROADCAST = 2
    ALLREDUCE_MAX = 3
    ALLREDUCE_MIN = 4
    ALLREDUCE_PRODUCT = 5

    @property
    def label(self) -> str:
        """The name on the command line: `allreduce`, `allreduce-max`, ..."""
        return self.name.lower().replace("_", "-")

    @property
    def is_linear(self) -> bool:
        """Whether lanes are added up, so that the integrity tag covers their values too."""
        return self in (Op.ALLREDUCE, Op.ALLGATHER, Op.BROADCAST)


class Field(NamedTuple):
    name: str
    bits: int


HEADER_FIELDS: Final = (
    Field("op_type", 8),
    Field("group_id", 8),
    Field("layer_id", 16),
    Field("chunk_id", 16),
    Field("total_chunks", 16),
    Field("seq_num", 32),
    Field("payload_len", 32),
    Field("reserved", 32),
)
HEADER_BYTES: Final = sum(field.bits for field in HEADER_FIELDS) // 8

_STRUCT = struct.Struct(">" + "".join({8: "B", 16: "H", 32: "I"}[field.bits] for field in HEADER_FIELDS))


class Header(NamedTuple):
    """One CAIS header as numbers, in the order of the wire."""

    op_type: int
    group_id: int
    layer_id: int
    chunk_id: int
    total_chunks: int
    seq_num: int
    payload_len: int
    reserved: int

    def pack(self) -> bytes:
        """Return the 20 bytes; struct.error where a value is too wide for its field."""
        return _STRUCT.pack(*self)

    @classmethod
    def unpack(cls, data: bytes | memoryview, offset: int = 0) -> Header:
        """Read 20 bytes at `offset`; struct.error where there are fewer."""
        return cls._make(_STRUCT.unpack_from(data, offset))


def group_mac(group_id: int) -> str:
    """Destination of a group's contributions: a locally administered multicast address."""
    return f"03:ca:15:00:00:{group_id:02x}"


def mac_bytes(address: str) -> bytes:
    return bytes.fromhex(address.replace(":", ""))


def payload_bytes(lanes: int) -> int:
    return lanes * LANE_BYTES


def lanes_in(payload_len: int, body_bytes: int) -> int:
    """Return how many lanes stand in the `body_bytes` bytes behind a header.

    A program has one number of lanes, all of them are in a frame with payload, and `payload_len` tells how many bytes
    of them are valid. Only a frame so short that Ethernet may have padded it has no more than the valid ones.
    """
    if payload_len == 0:
        return 0
    lanes = body_bytes // LANE_BYTES
    if HEADER_BYTES + body_bytes > LEAST_ETHERNET_PAYLOAD:
        return lanes
    return min(lanes, -(-payload_len // LANE_BYTES))


def frame_bytes(lanes: int) -> int:
    """Length of an untagged frame with a payload of `lanes` words, without FCS."""
    return ETHERNET_BYTES + HEADER_BYTES + payload_bytes(lanes)
