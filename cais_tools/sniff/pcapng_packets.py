"""From packet blocks of pcapng to batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cais_tools.sniff.batch import Batch, Direction
from cais_tools.sniff.decode import gather
from cais_tools.sniff.pcapng_blocks import OLD_PACKET, SIMPLE_PACKET, options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from cais_tools.sniff.pcapng_blocks import Interface, Layout

__all__ = ["Packets", "batches_of"]

_HEADER, _SIMPLE_HEADER, _CLOSING = 28, 12, 4
_EPB_FLAGS = 2
_UNLIMITED = 1 << 32


@dataclass(frozen=True)
class Packets:
    batches: list[Batch]
    problem: str | None
    """What is wrong with the block after the last packet, where something is."""


def batches_of(
    data: NDArray[np.uint8], at: NDArray[np.int64], layout: Layout, interfaces: Sequence[Interface], count: int
) -> Packets:
    """The packets of the blocks at `at`, of which the first is the capture's number `count` + 1."""
    kind = gather(data, at, layout.u4)
    total = gather(data, at + 4, layout.u4).astype(np.int64)
    is_simple = kind == SIMPLE_PACKET
    header = np.where(is_simple, _SIMPLE_HEADER, _HEADER)
    sound = (total >= header + _CLOSING) & (gather(data, at + total - _CLOSING, layout.u4) == total)
    good = _leading(sound)
    problem = None if good == len(at) else "a packet block whose lengths make no sense"
    columns = _columns(data, at[:good], total[:good], kind[:good], layout, interfaces)
    room = total[:good] - header[:good] - _CLOSING
    known = _leading((columns.interface < len(interfaces)) & (columns.captured <= room))
    if known < good:
        problem = "a packet of an interface that nobody described, or longer than its block"
    batch = _batch(data, at[:known] + header[:known], columns, interfaces, count)
    batch = _with_direction(batch, at[:known], total[:known], is_simple[:known], layout)
    return Packets(list(_by_link_type(batch, columns.interface[:known], interfaces)), problem)


def _leading(good: NDArray[np.bool_]) -> int:
    """How many from the first on are good."""
    return len(good) if good.all() else int(np.argmin(good))


@dataclass(frozen=True)
class _Columns:
    interface: NDArray[np.int64]
    ticks: NDArray[np.uint64]
    captured: NDArray[np.int64]
    length: NDArray[np.int64]


def _columns(
    data: NDArray[np.uint8],
    at: NDArray[np.int64],
    total: NDArray[np.int64],
    kind: NDArray[Any],
    layout: Layout,
    interfaces: Sequence[Interface],
) -> _Columns:
    n = len(at)
    columns = _Columns(np.zeros(n, np.int64), np.zeros(n, np.uint64), np.zeros(n, np.int64), np.zeros(n, np.int64))
    simple = kind == SIMPLE_PACKET
    blocks = gather(data, at[~simple], layout.packet)
    interface = blocks["interface"].astype(np.int64)
    old = kind[~simple] == OLD_PACKET
    interface[old] = gather(data, at[~simple][old] + 8, layout.u2)
    columns.interface[~simple] = interface
    columns.ticks[~simple] = blocks["high"].astype(np.uint64) << np.uint64(32) | blocks["low"].astype(np.uint64)
    columns.captured[~simple] = blocks["captured"]
    columns.length[~simple] = blocks["length"]
    # A simple block does not say how much of the packet it holds: the interface's snaplen does.
    length = gather(data, at[simple], layout.simple)["length"].astype(np.int64)
    snaplen = (interfaces[0].snaplen or _UNLIMITED) if interfaces else _UNLIMITED
    columns.length[simple] = length
    columns.captured[simple] = np.minimum(np.minimum(length, snaplen), total[simple] - _SIMPLE_HEADER - _CLOSING)
    return columns


def _batch(
    data: NDArray[np.uint8],
    offset: NDArray[np.int64],
    columns: _Columns,
    interfaces: Sequence[Interface],
    count: int,
) -> Batch:
    n = len(offset)
    local = columns.interface[:n]
    time = np.zeros(n, np.int64)
    number = np.zeros(n, np.int16)
    for i in np.flatnonzero(np.bincount(local, minlength=len(interfaces))).tolist():
        interface: Interface = interfaces[int(i)]
        mine = local == i
        time[mine] = interface.nanoseconds(columns.ticks[:n][mine])
        number[mine] = interface.number
    return Batch(
        data=data,
        offset=offset,
        captured=columns.captured[:n],
        length=np.maximum(columns.length[:n], columns.captured[:n]),
        time_ns=time,
        interface=number,
        direction=np.full(n, Direction.UNKNOWN, np.int8),
        number=np.arange(count + 1, count + n + 1, dtype=np.int64),
        link_type=0,
    )


def _with_direction(
    batch: Batch, at: NDArray[np.int64], total: NDArray[np.int64], simple: NDArray[np.bool_], layout: Layout
) -> Batch:
    """Read epb_flags, which says whether a packet came in or went out."""
    options_at = batch.offset + (batch.captured + 3) // 4 * 4
    end = at + total - _CLOSING
    direct = ~simple & (options_at + 8 <= end)
    rows = np.flatnonzero(direct)
    codes = gather(batch.data, options_at[rows], layout.u2)
    first = rows[codes == _EPB_FLAGS]
    flags = gather(batch.data, options_at[first] + 4, layout.u4)
    batch.direction[first] = _direction(flags)
    for i in rows[(codes != _EPB_FLAGS) & (codes != 0)].tolist():
        found = dict(options(batch.data[options_at[i] : end[i]].tobytes(), layout))
        if len(value := found.get(_EPB_FLAGS, b"")) == 4:
            batch.direction[i] = _direction(np.array([layout.word.unpack(value)[0]], np.uint32))[0]
    return batch


def _direction(flags: NDArray[Any]) -> NDArray[np.int8]:
    way = (flags & 3).astype(np.int8)
    return np.where(way == 3, np.int8(Direction.UNKNOWN), way)


def _by_link_type(batch: Batch, local: NDArray[np.int64], interfaces: Sequence[Interface]) -> Iterator[Batch]:
    """Cut the batch where the link type changes."""
    if not len(batch):
        return
    types = np.array([interface.described.link_type for interface in interfaces])[local]
    starts = np.flatnonzero(np.diff(types, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(batch)], strict=True):
        yield batch.select(slice(start, end), int(types[start]))
