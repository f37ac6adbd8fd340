"""`sendmmsg` and `recvmmsg`: many frames for one system call, described by NumPy arrays (see sendmmsg(2), recvmmsg(2)).

The arrays below are the kernel's own structs, so a batch is described without touching its frames one by one.
"""

from __future__ import annotations

import ctypes
import os
import socket
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BATCH", "Received", "Receiver", "send_batch"]

BATCH = 64

# Larger than any frame that the kernel hands over, and no multiple of a page: rows do not share cache lines' sets.
_ROW = 65_536 + 64
_SOL_PACKET, _PACKET_AUXDATA = 263, 8

_IOVEC = np.dtype([("base", np.uintp), ("length", np.uintp)], align=True)
_MSGHDR = np.dtype(
    [
        ("name", np.uintp),
        ("name_length", np.uint32),
        ("iov", np.uintp),
        ("iov_count", np.uintp),
        ("control", np.uintp),
        ("control_length", np.uintp),
        ("flags", np.int32),
    ],
    align=True,
)
_MMSGHDR = np.dtype([("header", _MSGHDR), ("length", np.uint32)], align=True)
# One control message with a struct tpacket_auxdata (packet(7)).
_CONTROL = np.dtype(
    [
        ("cmsg_length", np.uintp),
        ("level", np.int32),
        ("type", np.int32),
        ("status", np.uint32),
        ("packet_length", np.uint32),
        ("snap_length", np.uint32),
        ("mac", np.uint16),
        ("net", np.uint16),
        ("vlan_tci", np.uint16),
        ("vlan_tpid", np.uint16),
    ],
    align=True,
)

_libc = ctypes.CDLL(None, use_errno=True)


def send_batch(fd: int, data: NDArray[np.uint8], offsets: NDArray[np.intp], lengths: NDArray[np.intp]) -> int:
    """Send the frames that lie at `offsets` in `data`, without blocking; how many the kernel took, at least one.

    Raises OSError, as the socket module would, when the kernel refuses the first one.
    """
    count = len(offsets)
    vectors = np.empty(count, _IOVEC)
    vectors["base"] = offsets + data.ctypes.data
    vectors["length"] = lengths
    messages = np.zeros(count, _MMSGHDR)
    messages["header"]["iov"] = vectors.ctypes.data + np.arange(count) * _IOVEC.itemsize
    messages["header"]["iov_count"] = 1
    return _checked(_libc.sendmmsg(fd, ctypes.c_void_p(messages.ctypes.data), count, socket.MSG_DONTWAIT))


class Received(NamedTuple):
    """A batch of received frames. `tpids` is 0 where the kernel has taken no VLAN tag off."""

    frames: list[bytes]
    tpids: NDArray[np.uint16]
    tcis: NDArray[np.uint16]


class Receiver:
    """Buffers for batches of up to 64 frames, used again and again."""

    def __init__(self) -> None:
        self._rows = np.empty((BATCH, _ROW), np.uint8)
        self._view = memoryview(self._rows.reshape(-1).data)
        self._control = np.zeros(BATCH, _CONTROL)
        self._vectors = np.zeros(BATCH, _IOVEC)
        self._messages = np.zeros(BATCH, _MMSGHDR)
        index = np.arange(BATCH)
        self._vectors["base"] = self._rows.ctypes.data + index * _ROW
        self._vectors["length"] = _ROW
        header = self._messages["header"]
        header["iov"] = self._vectors.ctypes.data + index * _IOVEC.itemsize
        header["iov_count"] = 1
        header["control"] = self._control.ctypes.data + index * _CONTROL.itemsize

    def receive(self, fd: int) -> Received:
        """What has arrived, at most 64 frames. Raises OSError (BlockingIOError when nothing is there)."""
        self._messages["header"]["control_length"] = _CONTROL.itemsize
        self._control["status"] = 0
        count = _checked(
            _libc.recvmmsg(fd, ctypes.c_void_p(self._messages.ctypes.data), BATCH, socket.MSG_DONTWAIT, None)
        )
        lengths = self._messages["length"][:count].tolist()
        frames = [bytes(self._view[i * _ROW : i * _ROW + length]) for i, length in enumerate(lengths)]
        return Received(frames, *self._vlan_tags(count))

    def _vlan_tags(self, count: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        control = self._control[:count]
        vlan_valid, tpid_valid = 1 << 4, 1 << 6  # TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID
        is_auxdata = (control["level"] == _SOL_PACKET) & (control["type"] == _PACKET_AUXDATA)
        tagged = is_auxdata & (control["status"] & vlan_valid != 0)
        tpids = np.where(control["status"] & tpid_valid != 0, control["vlan_tpid"], np.uint16(0x8100))
        return np.where(tagged, tpids, np.uint16(0)), control["vlan_tci"]


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
