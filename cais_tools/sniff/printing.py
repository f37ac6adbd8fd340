"""Packets as text: one line each, as tcpdump has them; with more of them the header, the lanes and the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.batch import Direction, LinkType
from cais_tools.sniff.senders import mac_text, sender_of
from cais_tools.sniff.times import clock
from cais_tools.wire.header import HEADER_BYTES, Header, Op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["Style", "hex_dump", "lines_of", "op_name"]

_COLOURS = {"red": "\033[31m", "green": "\033[32m", "yellow": "\033[33m", "cyan": "\033[36m"}
_RESET = "\033[0m"
_WAYS: dict[int, str] = {Direction.UNKNOWN: "", Direction.IN: " In", Direction.OUT: " Out"}
_OPS = len(Op)
_LANES_A_LINE, _BYTES_A_LINE = 8, 16
_TAG_NAMES = {0x8100: "802.1Q", 0x88A8: "802.1ad", 0x9100: "QinQ"}


@dataclass(frozen=True)
class Style:
    """What tcpdump's letters ask for."""

    utc: bool = False
    numeric: bool = False
    """-n: addresses and numbers instead of names."""
    link: bool = False
    """-e: addresses, tags and EtherType."""
    verbose: bool = False
    """-v: every field of the header, and the lanes."""
    hex: int = 0
    """-x: 1 without, 2 with the link-level header."""
    colour: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}{_RESET}" if self.colour else text


def op_name(value: int, *, numeric: bool = False) -> str:
    """Return `allreduce-max`, or `op 9` for what is none (or `numeric`)."""
    if numeric or value >= _OPS:
        return f"op {value}"
    return Op(value).label


def lines_of(
    decoded: Decoded,
    interfaces: Sequence[CaptureInterface],
    style: Style,
    marks: Sequence[str] | None = None,
) -> Iterator[str]:
    """Text of each CAIS packet of a batch, and of what is too short to be one, in the order of the capture.

    `marks` has, for each packet, what is put behind it because it is not as expected; empty where it is.
    """
    lines = _Lines(decoded, interfaces, style)
    short = iter(decoded.malformed.tolist())
    next_short = next(short, None)
    for i, record in enumerate(decoded.index.tolist()):
        while next_short is not None and next_short < record:
            yield lines.too_short(next_short)
            next_short = next(short, None)
        yield lines.packet(i, record, marks[i] if marks is not None else "")
    while next_short is not None:
        yield lines.too_short(next_short)
        next_short = next(short, None)


class _Lines:
    """A batch's columns as lists, which are several times faster to look into one by one."""

    def __init__(self, decoded: Decoded, interfaces: Sequence[CaptureInterface], style: Style) -> None:
        batch = decoded.batch
        self._decoded = decoded
        self._style = style
        self._headers: list[tuple[int, ...]] = decoded.header.tolist()
        self._sources = np.ascontiguousarray(decoded.source_mac).tobytes()
        self._vlans, self._tags = decoded.vlan.tolist(), decoded.tags.tolist()
        self._there, self._truncated = decoded.body_bytes.tolist(), decoded.truncated.tolist()
        self._times, self._interface, self._direction = (
            column.tolist() for column in (batch.time_ns, batch.interface, batch.direction)
        )
        self._known: dict[tuple[bytes, int], str] = {}
        self._names = [f" {each.name}" for each in interfaces] if len(interfaces) > 1 else [""] * len(interfaces)

    def packet(self, i: int, record: int, mark: str) -> str:
        style = self._style
        op, group, layer, chunk, total, seq, length, _ = self._headers[i]
        link = ""
        if style.link:
            link = _link(self._decoded, i, record) + ": "
        elif self._vlans[i] >= 0:
            link = f"vlan {self._vlans[i]} " + (f"({self._tags[i]} tags) " if self._tags[i] > 1 else "")
        line = (
            f"{self._prefix(record)} {link}{self._who(self._sources[6 * i : 6 * i + 6], op)} group {group} "
            f"layer {layer} chunk {chunk}/{total} seq {seq} len {length}"
        )
        if op >= _OPS or self._truncated[i] or length > self._there[i]:
            line += self._problems(i, op, length)
        if mark:
            line += style.paint(mark, "red")
        if style.verbose:
            line = "\n".join([line, *_details(self._decoded, i, Header._make(self._headers[i]))])
        if style.hex:
            line = "\n".join([line, *_hex(self._decoded, i, record, style)])
        return line

    def _who(self, source: bytes, op: int) -> str:
        """Sender and operation, of which there are few in a batch."""
        text = self._known.get((source, op))
        if text is None:
            sender = sender_of(source, numeric=self._style.numeric)
            colour = "yellow" if op >= _OPS else "green" if sender.is_switch else "cyan"
            name = op_name(op, numeric=self._style.numeric)
            text = self._known[source, op] = self._style.paint(f"{sender.name} {name}", colour)
        return text

    def _prefix(self, record: int) -> str:
        time = clock(self._times[record], utc=self._style.utc)
        return f"{time}{self._names[self._interface[record]]}{_WAYS[self._direction[record]]}"

    def _problems(self, i: int, op: int, length: int) -> str:
        there = self._there[i]
        found: list[str] = []
        if op >= _OPS:
            found.append("unknown operation")
        if self._truncated[i]:
            found.append(f"cut off by the capture: {there} bytes of payload")
        elif length > there:
            found.append(f"payload_len is {length}, but {there} bytes follow")
        return "".join(" " + self._style.paint(f"[{problem}]", "yellow") for problem in found)

    def too_short(self, record: int) -> str:
        """Text of a record that has our EtherType, but not the whole header."""
        batch = self._decoded.batch
        captured, length = int(batch.captured[record]), int(batch.length[record])
        reason = f"the capture holds {captured} of {length} bytes" if captured < length else f"{length} bytes in all"
        mark = self._style.paint(f"[too short for a CAIS header: {reason}]", "yellow")
        line = f"{self._prefix(record)} {mark}"
        return "\n".join([line, *hex_dump(batch.frame(record))]) if self._style.hex else line


def _link(decoded: Decoded, i: int, record: int) -> str:
    """Addresses, tags from the outside in, EtherType, and length on the wire."""
    batch = decoded.batch
    tags: list[str] = []
    at = int(decoded.body[i]) - int(batch.offset[record]) - HEADER_BYTES - 2 - 4 * int(decoded.tags[i])
    frame = batch.frame(record)
    if decoded.tags[i] and batch.link_type != LinkType.ETHERNET:
        tags.append(f"vlan {decoded.vlan[i]}")
    elif decoded.tags[i]:
        for tag in range(int(decoded.tags[i])):
            kind, word = (int.from_bytes(frame[at + 4 * tag + k : at + 4 * tag + k + 2], "big") for k in (0, 2))
            tags.append(f"{_TAG_NAMES.get(kind, hex(kind))} vlan {word & 0xFFF} p {word >> 13}")
    addresses = mac_text(decoded.source_mac[i].tobytes())
    if batch.link_type == LinkType.ETHERNET:  # a cooked capture has no target
        addresses += f" > {mac_text(decoded.target_mac[i].tobytes())}"
    return ", ".join([addresses, *tags, "ethertype 0x88b5", f"length {batch.length[record]}"])


def _details(decoded: Decoded, i: int, header: Header) -> Iterator[str]:
    named = {"op_type": f"{header.op_type} ({op_name(header.op_type)})", "reserved": f"0x{header.reserved:08x} (tag)"}
    values = [f"{name} {named.get(name, value)}" for name, value in header._asdict().items()]
    yield "    " + ", ".join(values[:5])
    yield "    " + ", ".join(values[5:])
    lanes = decoded.lanes(i).tolist()
    width = max((len(str(lane)) for lane in lanes), default=0)
    for start in range(0, len(lanes), _LANES_A_LINE):
        row = " ".join(str(lane).rjust(width) for lane in lanes[start : start + _LANES_A_LINE])
        yield f"    lane {start:>3}: {row}"


def _hex(decoded: Decoded, i: int, record: int, style: Style) -> list[str]:
    frame = decoded.batch.frame(record)
    if style.hex > 1:
        return hex_dump(frame)
    start = int(decoded.body[i]) - int(decoded.batch.offset[record]) - HEADER_BYTES
    return hex_dump(frame[start:])


def hex_dump(data: bytes) -> list[str]:
    """Return tcpdump's lines: offset, then pairs of bytes."""
    return [
        f"\t0x{start:04x}:  {data[start : start + _BYTES_A_LINE].hex(' ', -2)}"
        for start in range(0, len(data), _BYTES_A_LINE)
    ]
