"""pcapng files (draft-ietf-opsawg-pcapng): sections of either byte order, several interfaces, any unit of time."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.sniff.chains import Chain, follow
from cais_tools.sniff.pcapng_blocks import (
    INTERFACE_DESCRIPTION,
    PACKET_BLOCKS,
    SECTION_HEADER,
    Interface,
    Layout,
    interface_of,
)
from cais_tools.sniff.pcapng_packets import batches_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cais_tools.sniff.batch import Batch, CaptureInterface
    from cais_tools.sniff.damage import Damage
    from cais_tools.sniff.stream import Window

__all__ = ["MAGIC", "PcapngReader"]

MAGIC = struct.pack(">I", SECTION_HEADER)

_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_SHORTEST, _LARGEST = 12, 16 << 20  # a block; the latter as libpcap has it
_SHORTEST_SECTION, _SHORTEST_DESCRIPTION = 28, 20
_MOST_INTERFACES = np.iinfo(np.int16).max
_PREFIX = 8


class PcapngReader:
    """Reads a file that begins with a section header block."""

    def __init__(self, window: Window, name: str, damage: Damage) -> None:
        self.interfaces: list[CaptureInterface] = []
        self._name = name
        self._window = window
        self._damage = damage
        self._layout = Layout("<")
        self._section: list[Interface] = []  # interfaces of this section
        self._count = 0
        if not window.at_least(_SHORTEST_SECTION) or not self._begin_section():
            raise UsageError(f"{name} is no pcapng file: its section header makes no sense")
        while self._whole_block() and self._type() not in PACKET_BLOCKS:  # so that the first interfaces are known
            if not self._skip_block():
                break

    def batches(self) -> Iterator[Batch]:
        """Packets of consecutive packet blocks; the blocks between them are looked at one by one."""
        while not self._damage.found:
            if not self._whole_block():
                break
            if self._type() in PACKET_BLOCKS:
                yield from self._packets()
            elif not self._skip_block():
                return
        if not self._damage.found:
            self._damage.end_of(self._window, self._count)

    def _whole_block(self) -> bool:
        """Whether a whole block stands at the beginning of the window; damage is reported."""
        window = self._window
        if not window.at_least(_SHORTEST):
            return False
        if self._type() == SECTION_HEADER and not self._begin_section():
            return self._broken("a section header without a byte order")
        length = self._length()
        if length < _SHORTEST or length % 4 or length > _LARGEST:
            return self._broken(f"a block says that it has {length:,} bytes")
        return window.at_least(length)

    def _broken(self, what: str) -> bool:
        self._damage.report(f"{what}, after record {self._count:,}")
        return False

    def _type(self) -> int:
        return self._layout.prefix.unpack_from(self._window.view, self._window.start)[0]

    def _length(self) -> int:
        return self._layout.prefix.unpack_from(self._window.view, self._window.start)[1]

    def _begin_section(self) -> bool:
        magic = self._window.peek(12)[8:]
        for order in "<>":
            if magic == struct.pack(order + "I", _BYTE_ORDER_MAGIC):
                self._layout = Layout(order)
                self._section = []
                return True
        return False

    def _skip_block(self) -> bool:
        """Go past a block that holds no packet; False where it is damaged."""
        window, kind, length = self._window, self._type(), self._length()
        block = window.peek(length)
        if self._layout.word.unpack_from(block, length - 4)[0] != length:
            return self._broken("the two lengths of a block differ")
        if kind == INTERFACE_DESCRIPTION:
            if length < _SHORTEST_DESCRIPTION or len(self.interfaces) == _MOST_INTERFACES:
                return self._broken("an interface description that makes no sense")
            found = interface_of(block, self._layout, len(self.interfaces), self._name)
            self._section.append(found)
            self.interfaces.append(found.described)
        window.start += length
        return True

    def _packets(self) -> Iterator[Batch]:
        window, layout = self._window, self._layout
        view, unpack = window.view, layout.prefix.unpack_from

        def size(position: int) -> int:
            if position + _PREFIX > len(view):
                return 0
            kind, length = unpack(view, position)
            return length if kind in PACKET_BLOCKS and _SHORTEST <= length <= _LARGEST and length % 4 == 0 else 0

        at, window.start = follow(Chain(np.dtype("u8"), 0, size), window.data, window.start, window.end)
        yield from self._valid(at)

    def _valid(self, at: NDArray[np.int64]) -> Iterator[Batch]:
        packets = batches_of(self._window.data, at, self._layout, self._section, self._count)
        for batch in packets.batches:
            self._count += len(batch)
            yield batch
        if packets.problem is not None:
            self._broken(packets.problem)
