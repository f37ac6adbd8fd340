"""The frames behind a wrong result, in a pcap file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cais_tools.errors import CaisError
from cais_tools.links.pcap import PcapWriter
from cais_tools.smoke.trace import TraceLink
from cais_tools.wire import Op
from cais_tools.wire.header import ETHERNET_BYTES, ETHERTYPE_CAIS, ETHERTYPE_VLAN, VLAN_BYTES, Header

__all__ = ["Capture", "Chunk", "save_chunk"]

Wanted = Callable[[Header], bool]


@dataclass(frozen=True)
class Chunk:
    """Which packet of an operation a frame must belong to."""

    group_id: int
    op: Op
    layer_id: int
    chunk_id: int

    def is_of(self, header: Header) -> bool:
        key = (header.group_id, header.op_type, header.layer_id, header.chunk_id)
        return key == (self.group_id, self.op, self.layer_id, self.chunk_id)


@dataclass(frozen=True)
class Capture:
    """`path` is None where nothing could be saved; `result` is the header of the last result that arrived."""

    path: Path | None
    result: Header | None


def save_chunk(folder: Path, name: str, links: Sequence[TraceLink], rank: int, chunk: Chunk) -> Capture:
    """Save what all ranks sent for a chunk, and then what `rank` received for it.

    Another group's result of the same chunk_id counts only where `rank` has received none of its own.
    """
    sent = [frame for link in links for frame, _ in _of(link.sent(), chunk.is_of)]
    received = list(_of(links[rank].received(), chunk.is_of))
    if not received:
        received = list(_of(links[rank].received(), lambda header: header.chunk_id == chunk.chunk_id))
    path: Path | None = folder / f"cais-smoke-{name}.pcap"
    try:
        with PcapWriter(path) as writer:
            writer.write([*sent, *(frame for frame, _ in received)])
    except (CaisError, OSError):
        path = None
    return Capture(path, received[-1][1] if received else None)


def _of(frames: Iterable[bytes], wanted: Wanted) -> Iterator[tuple[bytes, Header]]:
    for frame in frames:
        header = _header(frame)
        if header is not None and wanted(header):
            yield frame, header


def _header(frame: bytes) -> Header | None:
    start = ETHERNET_BYTES
    if frame[start - 2 : start] == ETHERTYPE_VLAN.to_bytes(2, "big"):
        start += VLAN_BYTES
    if frame[start - 2 : start] != ETHERTYPE_CAIS.to_bytes(2, "big"):
        return None
    try:
        return Header.unpack(frame, start)
    except struct.error:
        return None
