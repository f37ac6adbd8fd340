"""Captured records as columns: what file readers and live captures hand on, thousands at a time."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Batch", "CaptureInterface", "Direction", "LinkType", "Source", "batch_of"]


class LinkType(enum.IntEnum):
    """The link-layer types that are decoded (https://www.tcpdump.org/linktypes.html)."""

    ETHERNET = 1
    LINUX_SLL = 113
    LINUX_SLL2 = 276


class Direction(enum.IntEnum):
    """Which way a frame passed the interface, where the capture says so."""

    UNKNOWN = 0
    IN = 1
    OUT = 2


@dataclass(frozen=True)
class CaptureInterface:
    """Where records come from: an interface of this machine, or one that a file names (or the file itself)."""

    name: str
    link_type: int
    port: int | None = None
    """Port of the switch at the other end of it, where `--ports` says so."""


class Source(Protocol):
    """A capture that is read once, in bounded memory."""

    interfaces: list[CaptureInterface]
    """Grows while the capture is read; `Batch.interface` points into it."""

    def batches(self) -> Iterator[Batch]: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """n records of one link type, in the order of the capture."""

    data: NDArray[np.uint8]
    """One buffer with all captured bytes."""
    offset: NDArray[np.int64]
    """(n,) where record i begins in `data`."""
    captured: NDArray[np.int64]
    """(n,) bytes that there are of it."""
    length: NDArray[np.int64]
    """(n,) bytes on the wire."""
    time_ns: NDArray[np.int64]
    """(n,) since 1970, UTC."""
    interface: NDArray[np.int16]
    """(n,) index into `Source.interfaces`."""
    direction: NDArray[np.int8]
    """(n,) a `Direction`."""
    number: NDArray[np.int64]
    """(n,) number of the record in the capture, from 1; ascending, with gaps where a filter has taken records out."""
    link_type: int

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def first(self) -> int:
        """Number of the first record in the capture, from 1."""
        return int(self.number[0]) if len(self.number) else 1

    def frame(self, i: int) -> bytes:
        """The captured bytes of record i."""
        start = int(self.offset[i])
        return self.data[start : start + int(self.captured[i])].tobytes()

    def select(self, keep: NDArray[Any] | slice, link_type: int | None = None) -> Batch:
        """The records that a boolean mask, an array of indices or a slice picks; the buffer is shared."""
        columns = {name: getattr(self, name)[keep] for name in _COLUMNS}
        return Batch(data=self.data, link_type=self.link_type if link_type is None else link_type, **columns)


_COLUMNS = tuple(field.name for field in fields(Batch) if field.name not in ("data", "link_type"))


def batch_of(
    frames: Sequence[bytes],
    *,
    time_ns: Sequence[int] | None = None,
    length: Sequence[int] | None = None,
    interface: Sequence[int] | int = 0,
    direction: Sequence[int] | int = Direction.UNKNOWN,
    link_type: int = LinkType.ETHERNET,
    first: int = 1,
) -> Batch:
    """Make a batch of frames that are at hand one by one; without `length` nothing of them is cut off."""
    count = len(frames)
    captured = np.array([len(frame) for frame in frames], np.int64)
    return Batch(
        data=np.frombuffer(b"".join(frames), np.uint8),
        offset=np.cumsum(captured) - captured,
        captured=captured,
        length=captured if length is None else np.array(length, np.int64),
        time_ns=np.zeros(count, np.int64) if time_ns is None else np.array(time_ns, np.int64),
        interface=np.broadcast_to(np.array(interface, np.int16), count),
        direction=np.broadcast_to(np.array(direction, np.int8), count),
        number=np.arange(first, first + count, dtype=np.int64),
        link_type=link_type,
    )
