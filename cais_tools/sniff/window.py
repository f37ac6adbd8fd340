"""Packets gathered into aggregates, whichever way they are mixed, in bounded memory.

An aggregate is what one slot adds up: its packets have the same group, number, operation, layer and chunk. They are
kept until nothing more is to be expected: the capture has gone on for many packets since, or, with live traffic, for
some time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cais_tools.sniff.contributors import Contributors
from cais_tools.sniff.decode import gather
from cais_tools.wire.header import HEADER_BYTES, LANE_BYTES, LEAST_ETHERNET_PAYLOAD, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["ROW", "Aggregates", "Rows", "Window"]

_KEY = ("group_id", "seq_num", "op_type", "layer_id", "chunk_id")
ROW = np.dtype(
    [
        ("group_id", np.uint8),
        ("op_type", np.uint8),
        ("layer_id", np.uint16),
        ("chunk_id", np.uint16),
        ("total_chunks", np.uint16),
        ("seq_num", np.uint32),
        ("payload_len", np.uint32),
        ("reserved", np.uint32),
        ("sender", np.int32),
        ("interface", np.int16),
        ("result", np.bool_),
        ("cut", np.bool_),
        ("lanes", np.int32),
        ("time_ns", np.int64),
        ("number", np.int64),
    ]
)
Rows: TypeAlias = "NDArray[np.void]"
"""Packets as columns, shape (n,), of `ROW`. `cut`: the capture lacks a part of the payload."""

MOST_LANES = 256
_MOST_ROWS = 131_072
_MOST_BYTES = 64 << 20
_SECOND = 1_000_000_000
QUIET_NS = _SECOND
"""Live: how long nothing more has come for an aggregate that has its result, ..."""
PATIENCE_NS = 5 * _SECOND
"""... and for one that has none."""


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Settled aggregates: their packets side by side, in the order of the capture within each."""

    rows: Rows
    payload: NDArray[np.int32]
    """(n, width) zero where a packet has fewer lanes; width 0 where payloads are not kept."""
    start: NDArray[np.int64]
    """(a,) first packet of each aggregate."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def owner(self) -> NDArray[np.int64]:
        """(n,) the aggregate of each packet."""
        return np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(self.rows))))


class Window:
    """The packets of the aggregates that are still going on."""

    def __init__(self, interfaces: Sequence[CaptureInterface], *, payload: bool, live: bool) -> None:
        self.contributors = Contributors(interfaces)
        self.bad = 0
        """Packets that the switch must drop: unknown operation, payload_len over the payload."""
        self._keep_payload = payload
        self._live = live
        self._rows: list[Rows] = []
        self._payload: list[NDArray[np.int32]] = []
        self._count = self._width = 0

    def add(self, decoded: Decoded) -> Aggregates | None:
        """Take a batch in; return what has settled, if it is worth a look."""
        if len(decoded):
            rows, sound = self._to_rows(decoded)
            self.bad += int(np.count_nonzero(~sound))
            self._rows.append(rows[sound])
            self._payload.append(self._lanes(decoded, rows)[sound])
            self._count += int(np.count_nonzero(sound))
            self._width = max(self._width, self._payload[-1].shape[1])
        most = min(_MOST_ROWS, _MOST_BYTES // max(1, self._width * LANE_BYTES))
        return self._settle(keep=most // 2) if self._count > most else None

    def tick(self, now_ns: int) -> Aggregates | None:
        """Return what has been quiet for long; for live captures."""
        return self._settle(now_ns=now_ns) if self._live and self._count else None

    def finish(self) -> Aggregates | None:
        """Return all that is left."""
        return self._settle() if self._count else None

    def _to_rows(self, decoded: Decoded) -> tuple[Rows, NDArray[np.bool_]]:
        """Packets as rows, and which of them the switch may have taken in (or have sent)."""
        rows = np.zeros(len(decoded), ROW)
        for name in (*_KEY, "total_chunks", "payload_len", "reserved"):
            rows[name] = decoded.header[name]
        rows["sender"] = self.contributors.numbers(decoded)
        rows["result"] = decoded.from_switch
        for name in ("interface", "time_ns", "number"):
            rows[name] = getattr(decoded.batch, name)[decoded.index]
        there = decoded.body_bytes // LANE_BYTES
        valid = -(-rows["payload_len"].astype(np.int64) // LANE_BYTES)
        may_be_padded = decoded.body_bytes + HEADER_BYTES <= LEAST_ETHERNET_PAYLOAD
        rows["lanes"] = np.where(rows["payload_len"] == 0, 0, np.where(may_be_padded, np.minimum(there, valid), there))
        rows["cut"] = (decoded.truncated & (rows["payload_len"] > 0)) | (rows["lanes"] > MOST_LANES)
        sound = (rows["op_type"] < len(Op)) & (rows["cut"] | (rows["payload_len"] <= decoded.body_bytes))
        return rows, sound

    def _lanes(self, decoded: Decoded, rows: Rows) -> NDArray[np.int32]:
        """(m, width) lanes of each packet."""
        count = np.minimum(rows["lanes"], MOST_LANES) if self._keep_payload else np.zeros(len(rows), np.int32)
        payload = np.zeros((len(rows), int(count.max(initial=0))), np.int32)
        for lanes in np.unique(count):
            if lanes:
                which = np.flatnonzero(count == lanes)
                words = gather(decoded.batch.data, decoded.body[which], np.dtype((">i4", (int(lanes),))))
                payload[which, :lanes] = words.reshape(len(which), lanes)
        return payload

    def _merged(self) -> Aggregates:
        rows = np.concatenate(self._rows)
        payload = np.zeros((len(rows), self._width), np.int32)
        at = 0
        for part in self._payload:
            payload[at : at + len(part), : part.shape[1]] = part
            at += len(part)
        return _grouped(rows, payload)

    def _settle(self, *, keep: int | None = None, now_ns: int | None = None) -> Aggregates | None:
        """Take out all aggregates; or those without one of the last `keep` packets; or those quiet at `now_ns`."""
        found = self._merged()
        if keep is None and now_ns is None:
            self._hold(found, np.zeros(len(found.rows), np.bool_))
            return found
        if keep is not None:
            # Packet numbers order what was seen, also where several interfaces are merged.
            recent = np.partition(found.rows["number"], len(found.rows) - keep)[len(found.rows) - keep]
            stays = np.maximum.reduceat(found.rows["number"], found.start) >= recent
        else:
            answered = np.logical_or.reduceat(found.rows["result"], found.start)
            waited = (now_ns or 0) - np.maximum.reduceat(found.rows["time_ns"], found.start)
            stays = waited < np.where(answered, QUIET_NS, PATIENCE_NS)
        held = stays[found.owner]
        if keep is not None and np.count_nonzero(held) > keep + keep // 2:  # few aggregates of endless repetitions
            held[:] = False
        if held.all():
            return None
        self._hold(found, held)
        return _grouped(found.rows[~held], found.payload[~held])

    def _hold(self, found: Aggregates, held: NDArray[Any]) -> None:
        self._rows, self._payload = [found.rows[held]], [found.payload[held]]
        self._count = len(self._rows[0])
        self._width = self._width if self._count else 0


def _grouped(rows: Rows, payload: NDArray[np.int32]) -> Aggregates:
    """Put the packets of each aggregate side by side."""
    high = rows["group_id"].astype(np.uint64) << np.uint64(32) | rows["seq_num"]
    low = (
        rows["op_type"].astype(np.uint64) << np.uint64(32)
        | rows["layer_id"].astype(np.uint64) << np.uint64(16)
        | rows["chunk_id"]
    )
    order = np.lexsort((low, high))  # stable
    high, low = high[order], low[order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return Aggregates(rows[order], payload[order], np.flatnonzero(new))
