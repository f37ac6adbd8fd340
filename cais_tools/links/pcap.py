"""Classic pcap files of Ethernet frames (draft-ietf-opsawg-pcap), and links that write down what passes."""

from __future__ import annotations

import contextlib
import logging
import struct
import threading
import time
from typing import TYPE_CHECKING, Self

from cais_tools.errors import Refused, UsageError
from cais_tools.links.forwarding import ForwardingLink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from cais_tools.links.link import Link

__all__ = ["PcapWriter", "RecordingLink", "read_pcap"]

_LOG = logging.getLogger(__name__)

_MAGIC_MICROSECONDS, _MAGIC_NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
_LINKTYPE_ETHERNET = 1
_SNAP_LENGTH = 262_144
_FILE_HEADER, _RECORD_HEADER = "IHHiIII", "IIII"


class PcapWriter:
    """A pcap file with nanosecond timestamps; several threads may write to it.

    Raises UsageError where the file cannot be written. A `write` that fails (disk full) raises OSError and closes it.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._file = path.open("wb")
            self._append(
                struct.pack("!" + _FILE_HEADER, _MAGIC_NANOSECONDS, 2, 4, 0, 0, _SNAP_LENGTH, _LINKTYPE_ETHERNET)
            )
        except OSError as err:
            raise UsageError(f"cannot write {path}: {err.strerror}") from err

    def write(self, frames: Iterable[bytes], timestamp_ns: int | None = None) -> None:
        """Append frames that passed at `timestamp_ns` (since 1970; default: now)."""
        seconds, rest = divmod(time.time_ns() if timestamp_ns is None else timestamp_ns, 1_000_000_000)
        parts: list[bytes] = []
        for frame in frames:
            parts += (struct.pack("!" + _RECORD_HEADER, seconds, rest, len(frame), len(frame)), frame)
        with self._lock:
            if not self._file.closed:
                self._append(b"".join(parts))

    def _append(self, data: bytes) -> None:
        try:
            self._file.write(data)
            # For whoever looks into the file while it is written.
            self._file.flush()
        except OSError:
            # What is still buffered would fail again, at `close`.
            with contextlib.suppress(OSError):
                self._file.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def read_pcap(path: Path) -> Iterator[tuple[int, bytes]]:
    """(timestamp in nanoseconds, frame) for each record of a pcap file, either byte order, us or ns.

    Raises UsageError when the file cannot be read, Refused when it is no pcap file of Ethernet frames or ends early.
    """
    try:
        data = path.read_bytes()
    except OSError as err:
        raise UsageError(f"cannot read {path}: {err.strerror}") from err
    order, unit = _byte_order_and_unit(path, data)
    position = struct.calcsize("!" + _FILE_HEADER)
    record_size = struct.calcsize("!" + _RECORD_HEADER)
    while position < len(data):
        start = position + record_size
        if start > len(data):
            raise Refused(f"{path} ends in the middle of a record")
        seconds, rest, captured, _ = struct.unpack_from(order + _RECORD_HEADER, data, position)
        position = start + captured
        if position > len(data):
            raise Refused(f"{path} ends in the middle of a frame")
        yield seconds * 1_000_000_000 + rest * unit, data[start:position]


def _byte_order_and_unit(path: Path, data: bytes) -> tuple[str, int]:
    if len(data) >= struct.calcsize("!" + _FILE_HEADER):
        for order in "<>":
            magic, *_, link_type = struct.unpack_from(order + _FILE_HEADER, data)
            unit = {_MAGIC_MICROSECONDS: 1000, _MAGIC_NANOSECONDS: 1}.get(magic)
            if unit and link_type & 0xFFFF == _LINKTYPE_ETHERNET:
                return order, unit
    raise Refused(f"{path} is no pcap file of Ethernet frames", hint="pcapng: convert it with editcap -F pcap")


class RecordingLink(ForwardingLink):
    """A link that writes the frames it sends and receives into a pcap file (which stays open when it is closed).

    Where the file takes no more (disk full), the recording ends, with a warning in the log, and the frames pass on.
    """

    def __init__(self, link: Link, writer: PcapWriter) -> None:
        super().__init__(link)
        self._writer = writer

    def _sent(self, frames: Sequence[bytes] | NDArray[np.uint8]) -> None:
        self._record(bytes(frame) for frame in frames)

    def _received(self, frames: list[bytes]) -> None:
        self._record(frames)

    def _record(self, frames: Iterable[bytes]) -> None:
        try:
            self._writer.write(frames)
        except OSError as err:
            _LOG.warning("the recording of %s ends here: %s", self.name, err.strerror)
