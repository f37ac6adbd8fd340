"""The blocks of pcapng that describe packets, as structs; interface descriptions as values."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cais_tools.sniff.batch import CaptureInterface

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "ENHANCED_PACKET",
    "INTERFACE_DESCRIPTION",
    "OLD_PACKET",
    "PACKET_BLOCKS",
    "SECTION_HEADER",
    "SIMPLE_PACKET",
    "Interface",
    "Layout",
    "interface_of",
    "options",
]

SECTION_HEADER, INTERFACE_DESCRIPTION = 0x0A0D0D0A, 1
OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 2, 3, 6
PACKET_BLOCKS = frozenset({OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET})

_IF_NAME, _IF_TSRESOL, _IF_TSOFFSET = 2, 9, 14
_MICROSECONDS = 6


class Layout:
    """How numbers are written in a section."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.prefix = struct.Struct(order + "II")
        self.word = struct.Struct(order + "I")
        self.option = struct.Struct(order + "HH")

    @cached_property
    def u2(self) -> np.dtype[Any]:
        return np.dtype(self.order + "u2")

    @cached_property
    def u4(self) -> np.dtype[Any]:
        return np.dtype(self.order + "u4")

    @cached_property
    def packet(self) -> np.dtype[Any]:
        """The enhanced packet block; the old one differs in `interface` alone, of which it has the first half."""
        names = ("kind", "total", "interface", "high", "low", "captured", "length")
        return np.dtype([(name, self.u4) for name in names])

    @cached_property
    def simple(self) -> np.dtype[Any]:
        return np.dtype([(name, self.u4) for name in ("kind", "total", "length")])


@dataclass(frozen=True)
class Interface:
    """An interface of a section: where its packets come from, and how its clock counts."""

    described: CaptureInterface
    number: int
    """Index into the capture's interfaces."""
    snaplen: int
    resolution: int
    """if_tsresol: exponent of ten, or with the highest bit set of two, of the ticks in a second."""
    offset_s: int
    """if_tsoffset, in seconds."""

    def nanoseconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Times since 1970. What 64 bits of nanoseconds cannot hold wraps."""
        exponent = self.resolution & 0x7F
        if self.resolution & 0x80:
            time = _from_powers_of_two(ticks, exponent)
        elif exponent <= 9:
            time = ticks * np.uint64(10 ** (9 - exponent))
        else:
            time = ticks // np.uint64(10 ** (exponent - 9)) if exponent < 28 else np.zeros_like(ticks)
        return time.astype(np.int64) + np.int64((self.offset_s * 10**9 + 2**63) % 2**64 - 2**63)


def _from_powers_of_two(ticks: NDArray[np.uint64], exponent: int) -> NDArray[np.uint64]:
    if exponent >= 64:
        return np.zeros_like(ticks)
    seconds = ticks >> np.uint64(exponent)
    fraction = ticks - (seconds << np.uint64(exponent))
    # A fraction of more bits than these would not fit once it is multiplied by 10^9, and 2^-34 s is less than 1 ns.
    surplus = max(0, exponent - 34)
    fraction = (fraction >> np.uint64(surplus)) * np.uint64(10**9) >> np.uint64(exponent - surplus)
    return seconds * np.uint64(10**9) + fraction


def interface_of(block: bytes, layout: Layout, number: int, file_name: str) -> Interface:
    """Read an interface description block of at least 20 bytes."""
    link_type, _, snaplen = struct.unpack_from(layout.order + "HHI", block, 8)
    name, resolution, offset = "", _MICROSECONDS, 0
    for code, value in options(block[16:-4], layout):
        if code == _IF_NAME:
            name = value.decode("utf-8", "replace").rstrip("\0")
        elif code == _IF_TSRESOL and value:
            resolution = value[0]
        elif code == _IF_TSOFFSET and len(value) == 8:
            offset = struct.unpack(layout.order + "q", value)[0]
    fallback = file_name if number == 0 else f"{file_name}#{number}"
    return Interface(CaptureInterface(name or fallback, link_type), number, snaplen, resolution, offset)


def options(data: bytes, layout: Layout) -> Iterator[tuple[int, bytes]]:
    """(code, value) of each option, up to the end mark or the first one that does not fit."""
    position = 0
    while position + 4 <= len(data):
        code, length = layout.option.unpack_from(data, position)
        position += 4
        if code == 0 or position + length > len(data):
            return
        yield code, data[position : position + length]
        position += (length + 3) // 4 * 4
