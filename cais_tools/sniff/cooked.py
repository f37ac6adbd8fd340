"""What Linux cooked captures say of their own about each packet: which way it went, and by which interface."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.batch import Batch, CaptureInterface, Direction, LinkType
from cais_tools.sniff.decode import gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cooked"]

_OUTGOING = 4  # packet type: sent by this machine
_HEADER = {LinkType.LINUX_SLL: 16, LinkType.LINUX_SLL2: 20}
_INDEX_AT = 4


class Cooked:
    """Fills in the columns of cooked batches; the interfaces of SLL2 captures (`-i any`) are added as `if3`, ..."""

    def __init__(self, interfaces: list[CaptureInterface]) -> None:
        self._interfaces = interfaces
        self._known: dict[int, int] = {}

    def complete(self, batch: Batch) -> Batch:
        """Return the batch with what its headers say; batches of other link types as they are."""
        if batch.link_type not in _HEADER:
            return batch
        whole = np.flatnonzero(batch.captured >= _HEADER[LinkType(batch.link_type)])
        start = batch.offset[whole]
        direction = batch.direction.copy()
        if batch.link_type == LinkType.LINUX_SLL:
            direction[whole] = _way(gather(batch.data, start, np.dtype(">u2")))
            return replace(batch, direction=direction)
        direction[whole] = _way(batch.data[start + 10])
        interface = batch.interface.copy()
        indices = gather(batch.data, start + _INDEX_AT, np.dtype(">u4"))
        for index in np.unique(indices).tolist():
            interface[whole[indices == index]] = self._number(index)
        return replace(batch, direction=direction, interface=interface)

    def _number(self, index: int) -> int:
        if index not in self._known:
            if len(self._interfaces) > np.iinfo(np.int16).max:
                return 0
            self._known[index] = len(self._interfaces)
            self._interfaces.append(CaptureInterface(f"if{index}", LinkType.LINUX_SLL2))
        return self._known[index]


def _way(packet_type: NDArray[np.uint16] | NDArray[np.uint8]) -> NDArray[np.int8]:
    return np.where(packet_type == _OUTGOING, np.int8(Direction.OUT), np.int8(Direction.IN))
