"""Frames from an interface through memory that is shared with the kernel: AF_PACKET with TPACKET_V3.

The kernel fills blocks with frames one behind the other (Documentation/networking/packet_mmap.rst) and hands each over
when it is full or `RETIRE_MS` old; a block is copied, handed back, and becomes a batch without a look at its frames.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cais_tools.sniff.batch import Batch, Direction, LinkType
from cais_tools.sniff.chains import Chain, follow
from cais_tools.sniff.decode import gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RETIRE_MS", "Ring", "Statistics"]

RETIRE_MS = 40
"""A frame waits at most so long in a block that does not fill up."""

_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_ADD_MEMBERSHIP, _RX_RING, _STATISTICS, _VERSION, _RESERVE = 1, 5, 6, 10, 12
_MR_PROMISC = 1
_SO_ATTACH_FILTER = 26
_TPACKET_V3 = 2
_VLAN_BYTES, _ADDRESSES = 4, 12
_BLOCK = 1 << 18  # a frame must fit into a block
_FRAME = 2048  # says nothing in version 3, but must divide the block
_STATUS_AT, _COUNT_AT, _FIRST_AT, _LENGTH_AT = 8, 12, 16, 20
_OF_USER = 1
_VLAN_VALID, _TPID_VALID = 1 << 4, 1 << 6
_OUTGOING = 4
_RETURN_NOTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # the BPF program "ret #0"

_HEADER = np.dtype(
    {
        "names": [
            "next",
            "seconds",
            "nanoseconds",
            "captured",
            "length",
            "status",
            "mac",
            "tci",
            "tpid",
            "type",
        ],
        "formats": ["u4", "u4", "u4", "u4", "u4", "u4", "u2", "u4", "u2", "u1"],
        "offsets": [0, 4, 8, 12, 16, 20, 24, 32, 36, 58],
        "itemsize": 68,
    }
)
"""struct tpacket3_hdr, and the packet type in the struct sockaddr_ll behind it."""


class Statistics(NamedTuple):
    received: int
    """Frames that passed the filter, those dropped included."""
    dropped: int
    """Frames for which there was no room."""


class Ring:
    """What passes one interface in either direction, from the moment on that this is made.

    Raises OSError. VLAN tags that the kernel took off are put back, with their own TPID.
    """

    def __init__(self, index: int, name: str, size: int, program: bytes | None = None) -> None:
        # Protocol 0: nothing arrives before the filter and the ring are in place.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._current = 0
        self._blocks = max(2, -(-size // _BLOCK))
        try:
            self._map = self._configure(index, name, program)
        except BaseException:
            self._socket.close()
            raise
        self._memory = np.frombuffer(self._map, np.uint8)
        self._words = self._memory.view(np.uint32).reshape(self._blocks, _BLOCK // 4)

    def _configure(self, index: int, name: str, program: bytes | None) -> mmap.mmap:
        sock = self._socket
        sock.setblocking(False)
        sock.setsockopt(_SOL_PACKET, _VERSION, _TPACKET_V3)
        sock.setsockopt(_SOL_PACKET, _RESERVE, _VLAN_BYTES)
        total = self._blocks * _BLOCK
        request = struct.pack("7I", _BLOCK, self._blocks, _FRAME, total // _FRAME, RETIRE_MS, 0, 0)
        sock.setsockopt(_SOL_PACKET, _RX_RING, request)
        if program is not None:
            self._attach(program)
        sock.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, struct.pack("iHH8s", index, _MR_PROMISC, 0, b""))
        memory = mmap.mmap(sock.fileno(), total)
        sock.bind((name, _ETH_P_ALL))
        return memory

    def _attach(self, program: bytes) -> None:
        instructions = ctypes.create_string_buffer(program, len(program))
        described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)

    def fileno(self) -> int:
        return self._socket.fileno()

    def error(self) -> int:
        """The errno that waits at the socket (ENETDOWN when the interface went down), taken from it; 0 for none."""
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def deafen(self) -> None:
        """Take no more frames; those that are in the ring stay there to be read."""
        self._attach(_RETURN_NOTHING)

    def statistics(self) -> Statistics:
        """Counts since the last call."""
        return Statistics(*struct.unpack_from("II", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 12)))

    def read(self, interface: int) -> Batch | None:
        """The frames of the next block that is handed over, numbered from 1; None where none is."""
        words = self._words[self._current]
        if not words[_STATUS_AT // 4] & _OF_USER:
            return None
        count, first, length = (int(words[at // 4]) for at in (_COUNT_AT, _FIRST_AT, _LENGTH_AT))
        start = self._current * _BLOCK
        data = self._memory[start : start + max(length, first)].copy()
        words[_STATUS_AT // 4] = 0
        self._current = (self._current + 1) % self._blocks
        return _batch(data, _positions(data, first), interface) if count else None

    def close(self) -> None:
        del self._words, self._memory
        self._map.close()
        self._socket.close()


def _positions(data: NDArray[np.uint8], first: int) -> NDArray[np.int64]:
    """Where the frames' headers begin; the last one says that 0 bytes follow."""
    unpack, view = struct.Struct("I").unpack_from, data.data
    chain = Chain(np.dtype("u4"), 0, lambda position: unpack(view, position)[0])
    at, last = follow(chain, data, first, len(data) - _HEADER.itemsize)
    return np.append(at, last)


def _batch(data: NDArray[np.uint8], at: NDArray[np.int64], interface: int) -> Batch:
    headers = gather(data, at, _HEADER)
    offset = at + headers["mac"]
    captured, length = headers["captured"].astype(np.int64), headers["length"].astype(np.int64)
    tagged = np.flatnonzero((headers["status"] & _VLAN_VALID != 0) & (captured >= _ADDRESSES))
    if len(tagged):
        _restore_tags(data, offset, tagged, headers)
        for column, change in ((offset, -_VLAN_BYTES), (captured, _VLAN_BYTES), (length, _VLAN_BYTES)):
            column[tagged] += change
    return Batch(
        data=data,
        offset=offset,
        captured=captured,
        length=length,
        time_ns=headers["seconds"].astype(np.int64) * 1_000_000_000 + headers["nanoseconds"],
        interface=np.full(len(at), interface, np.int16),
        direction=np.where(headers["type"] == _OUTGOING, np.int8(Direction.OUT), np.int8(Direction.IN)),
        number=np.arange(1, len(at) + 1, dtype=np.int64),
        link_type=LinkType.ETHERNET,
    )


def _restore_tags(
    data: NDArray[np.uint8], offset: NDArray[np.int64], tagged: NDArray[np.int64], headers: NDArray[np.void]
) -> None:
    """Move both addresses forward, into the bytes that PACKET_RESERVE keeps free, and write the tag behind them."""
    start = offset[tagged]
    reach = np.arange(_ADDRESSES)
    data[(start - _VLAN_BYTES)[:, None] + reach] = data[start[:, None] + reach]
    has_tpid = headers["status"][tagged] & _TPID_VALID != 0
    tag = np.empty((len(tagged), 2), ">u2")
    tag[:, 0] = np.where(has_tpid, headers["tpid"][tagged], np.uint16(0x8100))
    tag[:, 1] = headers["tci"][tagged]
    behind = start + _ADDRESSES - _VLAN_BYTES
    data[behind[:, None] + np.arange(_VLAN_BYTES)] = tag.view(np.uint8)
