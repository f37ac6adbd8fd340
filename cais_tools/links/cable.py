"""Virtual cables: Ethernet frames over UDP on 127.0.0.1, many of them in one datagram; no privilege needed.

The price of I/O is the system call, not the byte (notes/switch-engine.md), so up to 64 frames travel together, each
with its length before it as an unsigned 16-bit big-endian number.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["MAX_BUNDLE_BYTES", "MAX_BUNDLE_FRAMES", "Cable"]

MAX_BUNDLE_BYTES = 60_000
MAX_BUNDLE_FRAMES = 64

_LOOPBACK = "127.0.0.1"
_SOCKET_BUFFER = 8 << 20
_DATAGRAMS_A_BATCH = 4
_FULL = frozenset({errno.EAGAIN, errno.ENOBUFS, errno.EINTR})
# Python's socket module does not name these (asm-generic/socket.h).
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33


class Cable:
    """One end of a cable between two UDP ports of this machine.

    `local` 0 lets the kernel choose (see `local_port`); `peer` 0 leaves the other end unplugged until `connect`.
    `lost` counts the frames known to have gone into an unplugged cable, `damaged` the datagrams that were no bundle.
    """

    def __init__(self, local: int = 0, peer: int = 0) -> None:
        self.lost = 0
        self.damaged = 0
        self._peer = 0
        self._last_count = 0  # frames in the datagram sent last: what a refusal is about
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        _enlarge_buffers(self._socket)
        try:
            self._socket.bind((_LOOPBACK, local))
        except OSError as err:
            self._socket.close()
            raise Refused(
                f"cannot use UDP port {local} for a cable: {err.strerror}", hint="take another port, or 0 for any"
            ) from err
        self.local_port: int = self._socket.getsockname()[1]
        if peer:
            self.connect(peer)

    @property
    def name(self) -> str:
        return f"cable:{self.local_port}:{self._peer}"

    def connect(self, peer: int) -> None:
        """Plug the other end in: from now on only what comes from UDP port `peer` is heard."""
        self._socket.connect((_LOOPBACK, peer))
        self._peer = peer

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        taken = 0
        for bundle, count in _bundles(frames):
            if not self._send_bundle(bundle, count):
                break
            taken += count
        return taken

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        count, length = frames.shape
        if length == 0 or length + 2 > MAX_BUNDLE_BYTES:
            self.lost += count
            return count
        bundled = np.empty((count, length + 2), np.uint8)
        bundled[:, 0], bundled[:, 1] = length >> 8, length & 0xFF
        bundled[:, 2:] = frames
        step = min(MAX_BUNDLE_FRAMES, MAX_BUNDLE_BYTES // (length + 2))
        for start in range(0, count, step):
            part = bundled[start : start + step]
            if not self._send_bundle(part.data, len(part)):
                return start
        return count

    def _send_bundle(self, bundle: bytes | memoryview, count: int) -> bool:
        """Whether the bundle is off our hands: sent, or lost because nothing is plugged in at the other end."""
        if not self._peer or not bundle:
            self.lost += count
            return True
        try:
            self._try_to_send(bundle)
        except OSError as err:
            if err.errno in _FULL:
                return False
            self.lost += count
        else:
            self._last_count = count
        return True

    def _try_to_send(self, bundle: bytes | memoryview) -> None:
        try:
            self._socket.send(bundle)
        except ConnectionRefusedError:
            # The kernel's answer to the datagram before: this one has not been tried yet.
            self._count_refusal()
            self._socket.send(bundle)

    def _count_refusal(self) -> None:
        self.lost += self._last_count
        self._last_count = 0

    def recv(self) -> list[bytes]:
        frames: list[bytes] = []
        for _ in range(_DATAGRAMS_A_BATCH):
            try:
                bundle = self._socket.recv(1 << 16)
            except ConnectionRefusedError:
                self._count_refusal()
                continue
            except OSError:
                break
            unbundled = _unbundle(bundle)
            if unbundled is None:
                self.damaged += 1
            else:
                frames += unbundled
        return frames

    def close(self) -> None:
        self._socket.close()


def _bundles(frames: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    """Frames packed into datagrams, with how many frames each carries. A frame that fits in none is left out."""
    parts: list[bytes] = []
    size = count = 0
    for frame in frames:
        length = len(frame)
        if size + length + 2 > MAX_BUNDLE_BYTES or count == MAX_BUNDLE_FRAMES:
            if count:
                yield b"".join(parts), count
            parts, size, count = [], 0, 0
        count += 1
        if 0 < length <= MAX_BUNDLE_BYTES - 2:
            parts += (length.to_bytes(2, "big"), frame)
            size += length + 2
    if count:
        yield b"".join(parts), count


def _unbundle(bundle: bytes) -> list[bytes] | None:
    """The frames of a datagram; None when the lengths do not add up, for then no boundary can be trusted."""
    frames: list[bytes] = []
    position, end = 0, len(bundle)
    while position + 2 <= end:
        start = position + 2
        position = start + (bundle[position] << 8 | bundle[position + 1])
        frames.append(bundle[start:position])
    damaged = position != end or not frames or not all(frames) or len(frames) > MAX_BUNDLE_FRAMES
    return None if damaged else frames


def _enlarge_buffers(sock: socket.socket) -> None:
    """Room for whole windows of every rank; beyond the system's limit where we are root, up to it otherwise."""
    for force, plain in ((_SO_RCVBUFFORCE, socket.SO_RCVBUF), (_SO_SNDBUFFORCE, socket.SO_SNDBUF)):
        try:
            sock.setsockopt(socket.SOL_SOCKET, force, _SOCKET_BUFFER)
        except OSError:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, plain, _SOCKET_BUFFER)
