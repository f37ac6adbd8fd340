"""How much of what: packets, bytes and rates by group, operation and port; what is lost or repeated in the sequence."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.contributors import Contributors
from cais_tools.sniff.printing import op_name
from cais_tools.sniff.sequences import Sequence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["GroupStats", "Line", "PortStats", "Stats", "StatsReport", "Stream"]

_MOST_KINDS = 65_536
_MOST_STREAMS = 1024
_SECOND = 1e9


@dataclass(frozen=True)
class Line:
    """Packets of one kind: contributions to the switch, and results from it. Bytes are those on the wire."""

    contributions: int
    results: int
    contribution_bytes: int
    result_bytes: int

    @property
    def packets(self) -> int:
        return self.contributions + self.results

    @property
    def bytes(self) -> int:
        return self.contribution_bytes + self.result_bytes


@dataclass(frozen=True)
class GroupStats:
    group_id: int
    op: str
    line: Line


@dataclass(frozen=True)
class PortStats:
    interface: str
    port: int | None
    sender: str
    line: Line


@dataclass(frozen=True)
class Stream:
    """Packets of one group from one sender on one interface."""

    group_id: int
    sender: str
    interface: str
    packets: int
    repeated: int
    lost: int


@dataclass(frozen=True)
class StatsReport:
    seconds: float
    """From the first packet to the last."""
    total: Line
    malformed: int
    groups: Several[GroupStats]
    ports: Several[PortStats]
    streams: Several[Stream]
    truncated: int

    def per_second(self, count: int) -> float | None:
        """None where there is no time between the first packet and the last."""
        return count / self.seconds if self.seconds else None


class Stats:
    """Feed it decoded batches."""

    def __init__(self, interfaces: Several[CaptureInterface]) -> None:
        self._interfaces = interfaces
        self._contributors = Contributors(interfaces)
        self._kinds: dict[tuple[int, int, int, int], NDArray[np.int64]] = {}
        self._sequences: dict[tuple[int, int, int], Sequence] = {}
        self._first: int | None = None
        self._last = self._malformed = self._truncated = 0

    def feed(self, decoded: Decoded) -> None:
        self._malformed += len(decoded.malformed)
        if not len(decoded):
            return
        batch, header = decoded.batch, decoded.header
        time = batch.time_ns[decoded.index]
        self._first = int(time.min()) if self._first is None else min(self._first, int(time.min()))
        self._last = max(self._last, int(time.max()))
        self._truncated += int(np.count_nonzero(decoded.truncated))
        sender = self._contributors.numbers(decoded).astype(np.int64)
        interface = batch.interface[decoded.index].astype(np.int64)
        key = ((sender << 15 | interface) << 8 | header["group_id"]) << 8 | header["op_type"]
        kinds, inverse = np.unique(key, return_inverse=True)
        packets = np.bincount(inverse, minlength=len(kinds))
        # float64 is exact up to 2^53 bytes
        size = np.bincount(inverse, weights=batch.length[decoded.index], minlength=len(kinds)).astype(np.int64)
        for k, kind in enumerate(kinds.tolist()):
            which = (kind >> 31, kind >> 16 & 0x7FFF, kind >> 8 & 0xFF, kind & 0xFF)
            if len(self._kinds) < _MOST_KINDS or which in self._kinds:
                counts = self._kinds.setdefault(which, np.zeros(2, np.int64))
                counts += (packets[k], size[k])
        self._add_sequences(key >> 8, header["seq_num"].astype(np.uint32))

    def _add_sequences(self, key: NDArray[np.int64], seq_nums: NDArray[np.uint32]) -> None:
        order = np.argsort(key, kind="stable")
        key = key[order]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        for stream, numbers in zip(key[starts].tolist(), np.split(seq_nums[order], starts[1:]), strict=True):
            which = (stream >> 23, stream >> 8 & 0x7FFF, stream & 0xFF)
            if len(self._sequences) < _MOST_STREAMS or which in self._sequences:
                self._sequences.setdefault(which, Sequence()).add(numbers)

    def report(self) -> StatsReport:
        groups: dict[tuple[int, ...], NDArray[np.int64]] = {}
        ports: dict[tuple[int, ...], NDArray[np.int64]] = {}
        total = np.zeros(4, np.int64)
        for (sender, interface, group, op), counts in self._kinds.items():
            both = np.zeros(4, np.int64)
            both[int(self._contributors.is_switch(sender)) :: 2] = counts
            total += both
            groups.setdefault((group, op), np.zeros(4, np.int64))[:] += both
            ports.setdefault((interface, sender), np.zeros(4, np.int64))[:] += both
        return StatsReport(
            seconds=(self._last - (self._first or 0)) / _SECOND if self._first is not None else 0.0,
            total=_line(total),
            malformed=self._malformed,
            truncated=self._truncated,
            groups=[GroupStats(group, op_name(op), _line(each)) for (group, op), each in sorted(groups.items())],
            ports=[self._port(at, sender, each) for (at, sender), each in sorted(ports.items())],
            streams=[self._stream(*key) for key in sorted(self._sequences, key=lambda each: (each[2], *each))],
        )

    def _port(self, at: int, sender: int, counts: NDArray[np.int64]) -> PortStats:
        interface = self._interfaces[at]
        return PortStats(interface.name, interface.port, self._contributors.name(sender, port=False), _line(counts))

    def _stream(self, sender: int, at: int, group: int) -> Stream:
        sequence = self._sequences[sender, at, group]
        return Stream(
            group_id=group,
            sender=self._contributors.name(sender, port=False),
            interface=self._interfaces[at].name,
            packets=sequence.packets,
            repeated=sequence.repeated,
            lost=sequence.lost,
        )


def _line(counts: NDArray[np.int64]) -> Line:
    return Line(*counts.tolist())
