"""Capture files written: tcpdump's `-w`, with its rotation by size (`-C`), by time (`-G`), and its ring (`-W`)."""

from __future__ import annotations

import struct
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cais_tools.sniff.batch import Batch

__all__ = ["Rotation", "Writer", "parse_size"]

_MAGIC_NANOSECONDS = 0xA1B23C4D
_FILE_HEADER = struct.Struct("<IHHiIII")
_RECORD = np.dtype([(field, "<u4") for field in ("seconds", "rest", "captured", "length")])
_SNAPLEN = 262_144
_SECOND = 1_000_000_000
_UNITS = {"": 10**6, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Rotation:
    size: int | None = None
    """-C: bytes after which the next file is begun."""
    seconds: int | None = None
    """-G"""
    files: int | None = None
    """-W: with a size, how many files there are before the first is written again; with seconds alone, how many
    before the capture ends; with both it changes the names only."""

    @property
    def digits(self) -> int:
        """Digits of a file's number, as tcpdump counts them."""
        return len(str(self.files - 1)) if self.files is not None and self.files > 1 else 0

    def name(self, pattern: str, number: int, now: float) -> str:
        """The file with a number; with `-G` the pattern's strftime(3) marks are filled in."""
        path = time.strftime(pattern, time.localtime(now)) if self.seconds is not None else pattern
        if self.size is None or (number == 0 and self.digits == 0):
            return path
        return f"{path}{number:0{self.digits}d}"


class Writer:
    """Writes the records of batches into pcap files with nanoseconds, `-` being standard output.

    All records of a capture must be of one link type: UsageError where they are not, or where a file cannot be
    written. `full` turns True when the last file that `-G` and `-W` allow is complete.
    """

    def __init__(
        self,
        pattern: str,
        rotation: Rotation,
        link_type: int,
        *,
        unbuffered: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.full = False
        self.count = 0
        self._pattern = pattern
        self._rotation = rotation
        self._link_type = link_type
        self._unbuffered = unbuffered
        self._clock = clock
        self._number = 0
        self._periods = 0
        self._began = clock()
        self._size = 0
        self._file: BinaryIO = self._begin()

    def write(self, batch: Batch) -> None:
        """Append the records; nothing once the writer is full."""
        if self.full:
            return
        if batch.link_type != self._link_type:
            raise UsageError(
                f"packets of link types {self._link_type} and {batch.link_type} do not fit into one file",
                hint="read the interfaces, or files, one by one",
            )
        records = np.empty(len(batch), _RECORD)
        records["seconds"], records["rest"] = np.divmod(batch.time_ns, _SECOND)
        records["captured"], records["length"] = batch.captured, batch.length
        headers, data = records.tobytes(), batch.data.data
        held = [headers[at : at + _RECORD.itemsize] for at in range(0, len(headers), _RECORD.itemsize)]
        bounds = zip(batch.offset.tolist(), (batch.offset + batch.captured).tolist(), strict=True)
        frames = [data[start:end] for start, end in bounds]
        if self._rotation == Rotation():
            self._append([part for pair in zip(held, frames, strict=True) for part in pair])
        else:
            for header, frame in zip(held, frames, strict=True):
                if self._must_rotate() and not self._rotate():
                    return
                self._size += len(header) + len(frame)
                self._append([header, frame])
        if self._unbuffered:
            self._file.flush()

    def _append(self, parts: Sequence[bytes | memoryview]) -> None:
        self._file.write(b"".join(parts))
        self.count += len(parts) // 2

    def _must_rotate(self) -> bool:
        rotation = self._rotation
        if rotation.seconds is not None and self._clock() - self._began >= rotation.seconds:
            return True
        return rotation.size is not None and self._size > rotation.size

    def _rotate(self) -> bool:
        """Begin the next file; False where there may be none."""
        rotation, now = self._rotation, self._clock()
        if rotation.seconds is not None and now - self._began >= rotation.seconds:
            self._began = now
            self._periods += 1
            self._number = 0
            if rotation.size is None and rotation.files is not None and self._periods >= rotation.files:
                self.full = True
                return False
        else:
            self._number += 1
            if rotation.files is not None and rotation.seconds is None and self._number >= rotation.files:
                self._number = 0
        self.close()
        self._file = self._begin()
        return True

    def _begin(self) -> BinaryIO:
        path = self._rotation.name(self._pattern, self._number, self._began)
        try:
            file = sys.stdout.buffer if path == "-" else open(path, "wb")  # noqa: SIM115 - closed by close
        except OSError as err:
            raise UsageError(f"cannot write {path}: {err.strerror}") from err
        header = _FILE_HEADER.pack(_MAGIC_NANOSECONDS, 2, 4, 0, 0, _SNAPLEN, self._link_type)
        self._size = file.write(header)
        file.flush()
        return file

    def close(self) -> None:
        if self._file is sys.stdout.buffer:
            self._file.flush()
        else:
            self._file.close()


def parse_size(text: str) -> int:
    """Parse -C's argument: millions of bytes, or with k, m or g behind it KiB, MiB or GiB, as tcpdump has them."""
    number, unit = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "")
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 10**6) or unit not in _UNITS:
        raise UsageError(f"-C: {text!r} is no size", hint="10 is ten million bytes; 64k, 64m and 1g are KiB, MiB, GiB")
    return int(number) * _UNITS[unit]
