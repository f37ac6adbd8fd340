"""The frames behind a wrong result, in a pcap file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cais_tools.errors import CaisError
from cais_tools.links.pcap import PcapWriter
from cais_tools.smoke.trace import TraceLink
from cais_tools.wire.header import ETHERNET_BYTES, ETHERTYPE_CAIS, ETHERTYPE_VLAN, VLAN_BYTES, Header

__all__ = ["Capture", "save_chunk"]


@dataclass(frozen=True)
class Capture:
    """`path` is None where nothing could be saved; `result` is the header of the last result that arrived."""

    path: Path | None
    result: Header | None


def save_chunk(folder: Path, name: str, links: Sequence[TraceLink], rank: int, chunk: int) -> Capture:
    """Save what all ranks sent for a chunk, and then what `rank` received for it."""
    sent = [frame for link in links for frame, _ in _of_chunk(link.sent(), chunk)]
    received = list(_of_chunk(links[rank].received(), chunk))
    path: Path | None = folder / f"cais-smoke-{name}.pcap"
    try:
        with PcapWriter(path) as writer:
            writer.write([*sent, *(frame for frame, _ in received)])
    except (CaisError, OSError):
        path = None
    return Capture(path, received[-1][1] if received else None)


def _of_chunk(frames: Iterator[bytes], chunk: int) -> Iterator[tuple[bytes, Header]]:
    for frame in frames:
        header = _header(frame)
        if header is not None and header.chunk_id == chunk:
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
