"""Network interfaces as links: AF_PACKET raw sockets, for veth and real NICs (packet(7))."""

from __future__ import annotations

import errno
import socket
import struct
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import NotPermitted, Refused, UsageError
from cais_tools.links.mmsg import BATCH, Receiver, send_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Interface"]

_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_PACKET_ADD_MEMBERSHIP, _PACKET_AUXDATA, _PACKET_IGNORE_OUTGOING = 1, 8, 23
_PACKET_MR_PROMISC = 1
_SO_RCVBUFFORCE = 33
_RECEIVE_BUFFER = 16 << 20
_AFTER_ADDRESSES = 12
# The interface is down, has gone, or was never there: the frame is lost, as on a cable that is pulled out.
_GONE = frozenset({errno.ENETDOWN, errno.ENXIO, errno.ENODEV, errno.EBADF})
_FULL = frozenset({errno.EAGAIN, errno.ENOBUFS, errno.EINTR})


class Interface:
    """A network interface of this machine, heard promiscuously, without the frames that we send ourselves.

    `up` turns False when the kernel says that the interface is down or gone, and True when a frame passes again.
    `lost` counts frames that the kernel refused: interface down, longer than the MTU, shorter than a header.
    Raises UsageError when there is no such interface and NotPermitted without the privilege.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.up = True
        self.lost = 0
        self._receiver = Receiver()
        self._socket = _open_socket(name)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        if not frames:
            return 0
        lengths = np.array([len(frame) for frame in frames], np.intp)
        data = np.frombuffer(b"".join(frames) or b"\0", np.uint8)
        return self._send(data, np.cumsum(lengths) - lengths, lengths)

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        lengths = np.array([frames.shape[1]] * len(frames), np.intp)
        return self._send(np.ascontiguousarray(frames), np.cumsum(lengths) - lengths, lengths)

    def _send(self, data: NDArray[np.uint8], offsets: NDArray[np.intp], lengths: NDArray[np.intp]) -> int:
        done, count = 0, len(offsets)
        while done < count:
            batch = slice(done, done + BATCH)
            try:
                done += send_batch(self.fileno(), data, offsets[batch], lengths[batch])
                self.up = True
            except OSError as err:
                if err.errno in _FULL:
                    return done
                # The first frame of the batch is what the kernel refused; those after it have a chance of their own,
                # unless the whole interface is gone.
                refused = count - done if err.errno in _GONE else 1
                self.up = self.up and err.errno not in _GONE
                self.lost += refused
                done += refused
        return done

    def recv(self) -> list[bytes]:
        try:
            frames, tpids, tcis = self._receiver.receive(self.fileno())
        except OSError as err:
            if err.errno in _GONE:
                self.up = False
            return []
        self.up = True
        if tpids.any():
            for i in np.flatnonzero(tpids):
                frames[i] = _restore_tag(frames[i], int(tpids[i]), int(tcis[i]))
        return frames

    def close(self) -> None:
        self._socket.close()


def _restore_tag(frame: bytes, tpid: int, tci: int) -> bytes:
    return frame[:_AFTER_ADDRESSES] + struct.pack("!HH", tpid, tci) + frame[_AFTER_ADDRESSES:]


def _open_socket(name: str) -> socket.socket:
    try:
        index = socket.if_nametoindex(name)
    except OSError as err:
        known = ", ".join(interface for _, interface in socket.if_nameindex())
        raise UsageError(f"there is no interface {name!r}", hint=f"this machine has: {known}") from err
    try:
        # Protocol 0: nothing arrives before bind, so no frame of another interface ever stands in the queue.
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError as err:
        raise NotPermitted(
            f"not permitted to open interface {name!r}: raw sockets need CAP_NET_RAW",
            hint='run with sudo, or: sudo setcap cap_net_raw+ep "$(readlink -f "$(command -v python3)")"; '
            "cables (cable:LOCAL:PEER) need no privilege",
        ) from err
    try:
        _configure(sock, name, index)
    except OSError as err:
        sock.close()
        raise Refused(f"cannot use interface {name!r}: {err.strerror}") from err
    return sock


def _configure(sock: socket.socket, name: str, index: int) -> None:
    sock.setblocking(False)
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    sock.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
    sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    promiscuous = struct.pack("iHH8s", index, _PACKET_MR_PROMISC, 0, b"")
    sock.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, promiscuous)
    sock.bind((name, _ETH_P_ALL))
