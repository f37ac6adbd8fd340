"""Capture files written byte by byte, so that the readers meet what they were not made from."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from cais_tools.sniff.batch import Batch
from cais_tools.sniff.files import FileSource, open_files
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import Header, group_mac, mac_bytes

ETHERNET = mac_bytes(group_mac(1)) + mac_bytes(source_mac(1))
CAIS = b"\x88\xb5"
START = 1_700_000_000  # seconds since 1970


def header(seq: int = 9, **fields: int) -> bytes:
    values = {"op_type": 0, "group_id": 1, "layer_id": 5, "chunk_id": 7, "total_chunks": 8, "payload_len": 8}
    return Header(**{**values, "seq_num": seq, "reserved": 77, **fields}).pack()


def frame(seq: int = 9, tags: bytes = b"", lanes: Sequence[int] = (1, -2), **fields: int) -> bytes:
    """A contribution of rank 1 to group 1; `tags` stands between the addresses and the EtherType."""
    payload = struct.pack(f">{len(lanes)}i", *lanes)
    return ETHERNET + tags + CAIS + header(seq, payload_len=4 * len(lanes), **fields) + payload


def pcap(
    frames: Sequence[bytes],
    *,
    order: str = "<",
    nanoseconds: bool = False,
    link_type: int = 1,
    cut: int | None = None,
    snaplen: int = 262_144,
    start: int = START,
) -> bytes:
    """Frame i was seen i milliseconds after `start`; `cut` is how many bytes of each were captured."""
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link_type)]
    for i, each in enumerate(frames):
        held = each[:cut]
        second, rest = divmod(i * 1_000_000, 10**9)
        parts += [struct.pack(order + "IIII", start + second, rest // unit, len(held), len(each)), held]
    return b"".join(parts)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    total = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + total + body + total


def options(pairs: Sequence[tuple[int, bytes]], order: str = "<") -> bytes:
    parts = [struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4) for code, value in pairs]
    return b"".join(parts) + (bytes(4) if pairs else b"")


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(
    order: str = "<", link_type: int = 1, snaplen: int = 0, described: Sequence[tuple[int, bytes]] = ()
) -> bytes:
    return block(1, struct.pack(order + "HHI", link_type, 0, snaplen) + options(described, order), order)


def packet(
    data: bytes,
    ticks: int = START * 1_000_000,
    *,
    order: str = "<",
    interface: int = 0,
    length: int | None = None,
    described: Sequence[tuple[int, bytes]] = (),
) -> bytes:
    length = len(data) if length is None else length
    body = struct.pack(order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length)
    return block(6, body + data + bytes(-len(data) % 4) + options(described, order), order)


def read(path: Path, content: bytes) -> tuple[FileSource, list[Batch], list[str]]:
    """The source, its batches, and what was said about the file."""
    path.write_bytes(content)
    said: list[str] = []
    source = open_files([str(path)], said.append)
    assert isinstance(source, FileSource)
    return source, list(source.batches()), said


def frames_of(batches: Sequence[Batch]) -> list[bytes]:
    return [batch.frame(i) for batch in batches for i in range(len(batch))]


def times_of(batches: Sequence[Batch]) -> list[int]:
    return [time for batch in batches for time in batch.time_ns.tolist()]
