"""Packets against what they should be: `group=0,layer=5,chunk=0-127,op=allreduce,ports=1-4`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.sniff.filters import Ranges, parse_ops, parse_ranges, ports_of
from cais_tools.sniff.printing import op_name
from cais_tools.sniff.senders import sender_of
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import HEADER_FIELDS, mac_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["Difference", "DifferenceCount", "Expect", "ExpectReport", "Expectation"]

_BITS = {field.name: field.bits for field in HEADER_FIELDS}
_NAMES = {
    "group": "group_id",
    "layer": "layer_id",
    "chunk": "chunk_id",
    "op": "op_type",
    "seq": "seq_num",
    "total": "total_chunks",
    "len": "payload_len",
    **{name: name for name in _BITS if name != "reserved"},
}
_PORTS = ("port", "ports")
_EXAMPLE = "for example group=0,layer=5,chunk=0-127,op=allreduce,ports=1-4"
_MOST_PORT = 510
_MOST_COUNTS = 10_000
_RANK_PREFIX = np.frombuffer(mac_bytes(source_mac(0)), np.uint8)[:5]


@dataclass(frozen=True)
class Expectation:
    fields: Mapping[str, Ranges]
    """By the field's name in the header."""
    ports: tuple[int, ...] = ()
    """Of the group's members, in the order of ranks."""

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """From what users write; a comma goes on with the list (`ports=1,2,chunk=0-3,9`). Raises UsageError."""
        wanted: dict[str, list[str]] = {}
        name = ""
        for item in text.split(","):
            if "=" in item:
                name, item = (part.strip() for part in item.split("=", 1))
                if name not in _NAMES and name not in _PORTS:
                    raise UsageError(f"--expect: no field {name!r}", hint=", ".join([*_NAMES, "ports"]))
            if not name or not item.strip():
                raise UsageError(f"--expect: {text!r} is no FIELD=VALUES", hint=_EXAMPLE)
            wanted.setdefault("ports" if name in _PORTS else _NAMES[name], []).append(item)
        fields = {name: _values(name, ",".join(items)) for name, items in wanted.items() if name != "ports"}
        return cls(fields, _ports(",".join(wanted["ports"])) if "ports" in wanted else ())


def _values(name: str, text: str) -> Ranges:
    option = f"--expect: {name}"
    return (
        parse_ops(text, option=option)
        if name == "op_type"
        else parse_ranges(text, option=option, most=2 ** _BITS[name] - 1)
    )


def _ports(text: str) -> tuple[int, ...]:
    ranges = parse_ranges(text, option="--expect: ports", most=_MOST_PORT)
    if 0 in ranges:
        raise UsageError(
            "--expect: port 0 does not exist", hint="ports are the switch's own numbers and start at 1: counted from 0?"
        )
    return tuple(port for first, last in ranges.parts for port in range(first, last + 1))


@dataclass(frozen=True)
class Difference:
    field: str
    value: str
    expected: str
    cause: str | None


@dataclass(frozen=True)
class DifferenceCount:
    difference: Difference
    packets: int
    first: int
    """Number of the first of them in the capture."""


@dataclass(frozen=True)
class ExpectReport:
    packets: int
    differing: int
    malformed: int
    """With our EtherType, but too short for a header."""
    counts: Sequence[DifferenceCount]
    """The commonest first."""
    silent: Sequence[str]
    """Ports (or ranks) that should have contributed, and have not."""
    cause: str | None
    """What all of it together looks like."""

    @property
    def passed(self) -> bool:
        return self.packets > 0 and not (self.differing or self.malformed or self.silent)


class Expect:
    """Feed it decoded batches; it says which packets differ, and counts."""

    def __init__(self, expectation: Expectation, interfaces: Sequence[CaptureInterface]) -> None:
        self._expectation = expectation
        self._interfaces = interfaces
        self._packets = self._differing = self._malformed = 0
        self._counts: dict[Difference, list[int]] = {}
        self._ports: set[int] = set()
        self._ranks: set[int] = set()

    def feed(self, decoded: Decoded) -> NDArray[np.bool_]:
        """(m,) which packets differ."""
        self._malformed += len(decoded.malformed)
        differs = np.zeros(len(decoded), np.bool_)
        for name, ranges in self._expectation.fields.items():
            differs |= ~ranges.mask(decoded.header[name])
        if self._expectation.ports:
            differs |= self._wrong_port(decoded)
        self._packets += len(decoded)
        self._differing += int(np.count_nonzero(differs))
        self._count(decoded, differs)
        return differs

    def _wrong_port(self, decoded: Decoded) -> NDArray[np.bool_]:
        """Judge by the port where a packet was captured; of a contribution captured elsewhere, by the sender's rank."""
        expected = np.array(self._expectation.ports, np.int64)
        ports, ranks = ports_of(decoded, self._interfaces), _ranks(decoded)
        self._ports.update(np.unique(ports[(ports > 0) & ~decoded.from_switch]).tolist())
        self._ranks.update(np.unique(ranks[ranks >= 0]).tolist())
        by_port = (ports > 0) & ~np.isin(ports, expected)
        return by_port | ((ports == 0) & (ranks >= len(expected)))

    def _count(self, decoded: Decoded, differs: NDArray[np.bool_]) -> None:
        """Count by field, value and cause; of packets with the same header fields only one is looked at."""
        which = np.flatnonzero(differs)
        if not len(which):
            return
        names = list(self._expectation.fields)
        columns = [decoded.header[name][which].astype(np.int64) for name in names]
        if self._expectation.ports:
            columns += [ports_of(decoded, self._interfaces)[which], _ranks(decoded)[which]]
        # What the cause is told from
        columns += [decoded.header[name][which].astype(np.int64) for name in ("group_id", "op_type", "layer_id")]
        _, first, count = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_counts=True)
        for at, times in zip(which[first].tolist(), count.tolist(), strict=True):
            number = int(decoded.batch.number[decoded.index[at]])
            for difference in self.differences(decoded, at):
                if difference in self._counts:
                    self._counts[difference][0] += times
                    self._counts[difference][1] = min(self._counts[difference][1], number)
                elif len(self._counts) < _MOST_COUNTS:
                    self._counts[difference] = [times, number]

    def differences(self, decoded: Decoded, i: int) -> list[Difference]:
        """Return what is different in packet i."""
        found = [
            Difference(name, _text(name, value), _expected(name, ranges), self._cause(decoded, i, name, value))
            for name, ranges in self._expectation.fields.items()
            if (value := int(decoded.header[name][i])) not in ranges
        ]
        if self._expectation.ports:
            found += self._port_difference(decoded, i)
        return found

    def _port_difference(self, decoded: Decoded, i: int) -> list[Difference]:
        ports = self._expectation.ports
        interface = self._interfaces[int(decoded.batch.interface[decoded.index[i]])]
        expected = _range_text([(port, port) for port in ports])
        if interface.port is not None:
            if interface.port in ports:
                return []
            cause = "ports are counted from 0?" if interface.port - 1 in ports else None
            return [Difference("port", str(interface.port), expected, cause)]
        sender = sender_of(decoded.source_mac[i].tobytes()).name
        if not sender.startswith("rank ") or int(sender[5:]) < len(ports):
            return []
        rank = int(sender[5:])
        cause = "ranks are counted from 1?" if rank == len(ports) else None
        return [Difference("sender", sender, f"ranks 0-{len(ports) - 1} at ports {expected}", cause)]

    def _cause(self, decoded: Decoded, i: int, name: str, value: int) -> str | None:
        fields, header = self._expectation.fields, decoded.header[i]
        width = _BITS[name] // 8
        swapped = int.from_bytes(value.to_bytes(width, "little"), "big")
        if width > 1 and swapped != value and swapped in fields[name]:
            return f"byte order? {swapped} with its bytes swapped"
        if name in ("group_id", "op_type"):
            other = "op_type" if name == "group_id" else "group_id"
            wrong_too = other in fields and int(header[other]) not in fields[other]
            if wrong_too and int(header[other]) in fields[name] and value in fields[other]:
                return "byte order? op_type and group_id are exchanged"
        for other, ranges in fields.items():
            crossed = other != name and value in ranges and int(header[other]) in fields[name]
            if crossed and int(header[other]) not in ranges:
                return f"{name} and {other} are mixed up"
        others_fit = all(int(header[other]) in ranges for other, ranges in fields.items() if other != name)
        if name == "group_id" and others_fit:
            return "group mixed up"
        return None

    def report(self) -> ExpectReport:
        counts = [DifferenceCount(each, packets, first) for each, (packets, first) in self._counts.items()]
        counts.sort(key=lambda each: (-each.packets, each.first))
        silent, cause = self._silent()
        return ExpectReport(self._packets, self._differing, self._malformed, counts, silent, cause)

    def _silent(self) -> tuple[list[str], str | None]:
        ports = self._expectation.ports
        if not ports:
            return [], None
        if any(interface.port is not None for interface in self._interfaces):
            silent = [f"port {port}" for port in ports if port not in self._ports]
            shifted = self._ports and self._ports == {port + 1 for port in ports}
            return silent, "ports are counted from 0: each is one more than expected" if shifted else None
        if not self._ranks:
            return [], None
        silent = [f"rank {rank} (port {port})" for rank, port in enumerate(ports) if rank not in self._ranks]
        shifted = self._ranks == set(range(1, len(ports) + 1))
        return silent, "ranks are counted from 1: each is one more than expected" if shifted else None


def _ranks(decoded: Decoded) -> NDArray[np.int64]:
    """(m,) rank that the source address names, or -1."""
    ours = (decoded.source_mac[:, :5] == _RANK_PREFIX).all(axis=1)
    return np.where(ours, decoded.source_mac[:, 5].astype(np.int64), -1)


def _text(name: str, value: int) -> str:
    return op_name(value) if name == "op_type" else str(value)


def _expected(name: str, ranges: Ranges) -> str:
    if name != "op_type":
        return _range_text(ranges.parts)
    return ",".join(op_name(op) for first, last in ranges.parts for op in range(first, last + 1))


def _range_text(parts: Sequence[tuple[int, int]]) -> str:
    merged: list[tuple[int, int]] = []
    for first, last in parts:
        if merged and merged[-1][1] + 1 == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in merged)
