"""Bytes from a file, a FIFO or standard input, gzip or not, as windows that batches can keep."""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["CHUNK", "ByteStream", "StoppedError", "Window", "open_stream"]

CHUNK = 1 << 20
"""Bytes that are read and decoded at a time: few enough to stay in the cache from one step to the next."""

_GZIP_MAGIC = b"\x1f\x8b"
_PATIENCE = 0.2  # seconds between two looks at whether somebody wants us to stop


class StoppedError(Exception):
    """Nobody wants the rest of a stream any more."""


class ByteStream(Protocol):
    """Where a capture file's bytes come from."""

    def read(self, count: int, /) -> bytes:
        """At most `count` bytes, as soon as there are any; none at the end. Raises OSError, EOFError, zlib.error."""
        ...


class _Raw:
    """A descriptor, with the bytes that were already read from it to see what it is."""

    def __init__(self, fd: int, stopped: Callable[[], bool]) -> None:
        self._fd = fd
        self._stopped = stopped
        self._head = b""
        self._waits = not stat.S_ISREG(os.fstat(fd).st_mode)

    def peek(self, count: int) -> bytes:
        while len(self._head) < count and (more := self._read(count - len(self._head))):
            self._head += more
        return self._head

    def read(self, count: int, /) -> bytes:
        if self._head:
            part, self._head = self._head[:count], self._head[count:]
            return part
        return self._read(count)

    def _read(self, count: int) -> bytes:
        while self._waits and not select.select([self._fd], [], [], _PATIENCE)[0]:
            if self._stopped():
                raise StoppedError
        return os.read(self._fd, count)

    def close(self) -> None:
        if self._fd != 0:
            os.close(self._fd)


class _Gzip:
    def __init__(self, raw: _Raw) -> None:
        self._file = gzip.GzipFile(fileobj=cast("io.BufferedIOBase", raw))

    def read(self, count: int, /) -> bytes:
        return self._file.read1(count)


def open_stream(path: str, stopped: Callable[[], bool] = lambda: False) -> tuple[ByteStream, Callable[[], None]]:
    """Open a file, or standard input for `-`; return the stream, unpacked where it is gzip, and what closes it.

    Waits for the writer of a FIFO. `stopped` is asked now and then while nothing comes from a pipe, and ends the wait
    with StoppedError.
    Raises UsageError where there is nothing that can be read.
    """
    raw = _Raw(_open(path), stopped)
    try:
        packed = raw.peek(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    except OSError as err:
        raw.close()
        raise UsageError(f"cannot read {path}: {err.strerror}") from err
    return (_Gzip(raw) if packed else raw), raw.close


def _open(path: str) -> int:
    if path == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("standard input is closed", hint="-r - reads a capture from a pipe")
        if os.isatty(0):
            raise UsageError("standard input is a terminal", hint="for example tcpdump -w - | cais sniff -r -")
        return 0
    if Path(path).is_dir():
        raise UsageError(f"{path} is a directory", hint=f"its captures: -r {path.rstrip('/')}/*.pcap")
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as err:
        raise UsageError(f"cannot read {path}: {getattr(err, 'strerror', None) or err}") from err


class Window:
    """The bytes of a stream from a moving position on: `data[start:end]`.

    `more` puts them into a new buffer, so that arrays that look into the old one stay valid.
    """

    def __init__(self, stream: ByteStream) -> None:
        self.view: bytes = b""
        """The same bytes as `data`, for struct."""
        self.data: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.start = 0
        self.broken: str | None = None
        """Why the stream ended before its end, where it did."""
        self._stream = stream

    @property
    def end(self) -> int:
        return len(self.data)

    @property
    def left(self) -> int:
        return len(self.data) - self.start

    def more(self) -> bool:
        """Add bytes, up to a chunk of them; False at the end of the stream."""
        try:
            new = self._stream.read(CHUNK)
        except EOFError:
            self.broken = "the gzip stream is cut off"
            return False
        except (OSError, zlib.error) as err:
            self.broken = f"{getattr(err, 'strerror', None) or err}"
            return False
        if not new:
            return False
        self.view = self.view[self.start :] + new
        self.data = np.frombuffer(self.view, np.uint8)
        self.start = 0
        return True

    def at_least(self, count: int) -> bool:
        """Make sure that `count` bytes are there; False where the stream ends before."""
        while self.left < count:
            if not self.more():
                return False
        return True

    def peek(self, count: int) -> bytes:
        """The next bytes, at most `count`."""
        return self.view[self.start : self.start + count]
