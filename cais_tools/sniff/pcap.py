"""Classic capture files (draft-ietf-opsawg-pcap): microseconds or nanoseconds, either byte order."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.sniff.batch import Batch, CaptureInterface, Direction
from cais_tools.sniff.chains import Chain, follow
from cais_tools.sniff.decode import gather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cais_tools.sniff.damage import Damage
    from cais_tools.sniff.stream import Window

__all__ = ["MAGICS", "PcapReader"]

MAGICS = {
    struct.pack(order + "I", magic): (order, unit)
    for order in "<>"
    for magic, unit in ((0xA1B2C3D4, 1000), (0xA1B23C4D, 1))
}
"""First four bytes of a file -> its byte order and the nanoseconds in its unit of time."""

_FILE_HEADER, _RECORD_HEADER = struct.Struct("<IHHiIII"), 16
_CAPTURED_AT = 8
_MAX_SNAPLEN = 262_144  # libpcap's; files may say that theirs is larger
_HARD_LIMIT = 16 << 20
_LINK_TYPE_MASK = 0xFFFF  # above it: length of the frame check sequence


@dataclass(frozen=True)
class _Records(Chain):
    word: struct.Struct
    view: bytes
    limit: int

    def walk(self, start: int, end: int, most: int) -> tuple[list[int], int]:
        positions: list[int] = []
        unpack, view, limit = self.word.unpack_from, self.view, self.limit
        last = end - _RECORD_HEADER
        for _ in range(most):
            if start > last:
                break
            captured = unpack(view, start + _CAPTURED_AT)[0]
            behind = start + _RECORD_HEADER + captured
            if captured > limit or behind > end:
                break
            positions.append(start)
            start = behind
        return positions, start


class PcapReader:
    """Reads a file whose first four bytes are one of `MAGICS`."""

    def __init__(self, window: Window, name: str, damage: Damage) -> None:
        order, self._unit = MAGICS[window.peek(4)]
        if not window.at_least(_FILE_HEADER.size):
            raise UsageError(f"{name} ends within its file header: no capture")
        fields = struct.Struct(order + _FILE_HEADER.format[1:])
        *_, snaplen, link_type = fields.unpack(window.peek(fields.size))
        window.start += fields.size
        self._limit = min(max(snaplen, _MAX_SNAPLEN), _HARD_LIMIT)
        self._link_type = link_type & _LINK_TYPE_MASK
        self._window = window
        self._damage = damage
        self._word = struct.Struct(order + "I")
        self._record = np.dtype([(field, order + "u4") for field in ("seconds", "rest", "captured", "length")])
        self._count = 0
        self.interfaces = [CaptureInterface(name, self._link_type)]

    def batches(self) -> Iterator[Batch]:
        window = self._window
        while True:
            chain = _Records(self._record["captured"], _CAPTURED_AT, self._size, self._word, window.view, self._limit)
            at, window.start = follow(chain, window.data, window.start, window.end)
            if len(at):
                yield self._batch(at)
            if self._is_damaged():
                return
            if not window.more():
                break
        self._damage.end_of(window, self._count)

    def _size(self, position: int) -> int:
        view = self._window.view
        if position + _RECORD_HEADER > len(view):
            return 0
        captured: int = self._word.unpack_from(view, position + _CAPTURED_AT)[0]
        return _RECORD_HEADER + captured if captured <= self._limit else 0

    def _is_damaged(self) -> bool:
        window = self._window
        if window.left < _RECORD_HEADER:
            return False
        captured: int = self._word.unpack_from(window.view, window.start + _CAPTURED_AT)[0]
        if captured <= self._limit:
            return False
        self._damage.report(f"record {self._count + 1} says that it holds {captured:,} bytes")
        return True

    def _batch(self, at: NDArray[np.int64]) -> Batch:
        records = gather(self._window.data, at, self._record)
        captured = records["captured"].astype(np.int64)
        count, self._count = self._count, self._count + len(at)
        return Batch(
            data=self._window.data,
            offset=at + _RECORD_HEADER,
            captured=captured,
            length=np.maximum(records["length"].astype(np.int64), captured),
            time_ns=records["seconds"].astype(np.int64) * 1_000_000_000 + records["rest"].astype(np.int64) * self._unit,
            interface=np.zeros(len(at), np.int16),
            direction=np.full(len(at), Direction.UNKNOWN, np.int8),
            number=np.arange(count + 1, self._count + 1, dtype=np.int64),
            link_type=self._link_type,
        )
