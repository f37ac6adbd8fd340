"""From a source to the packets that somebody wants to see, and counts of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.sniff.batch import Batch, Direction
from cais_tools.sniff.decode import Decoded, decode
from cais_tools.sniff.filters import FieldFilter

if TYPE_CHECKING:
    from collections.abc import Generator

    from cais_tools.sniff.batch import Source
    from cais_tools.sniff.bpf import Expression

__all__ = ["Counts", "Passed", "Sieve"]


@dataclass
class Counts:
    """What passed direction and expression: `captured`; and of that the packets of each kind."""

    captured: int = 0
    cais: int = 0
    malformed: int = 0
    """With CAIS's EtherType, but fewer than 20 bytes of header."""
    passed: int = 0
    """CAIS packets that passed the filters by field."""

    @property
    def other(self) -> int:
        return self.captured - self.cais - self.malformed


@dataclass(frozen=True)
class Passed:
    """`batch` has the records to be written, `decoded` the CAIS packets among them."""

    batch: Batch
    decoded: Decoded


@dataclass
class Sieve:
    """Reads a source to its end, or until `limit` packets have passed.

    The limit counts CAIS packets, or with `all_records` whatever passes (what `-w` writes). `ports` maps names of
    interfaces, or of files, to the switch's ports.
    """

    source: Source
    expression: Expression | None = None
    fields: FieldFilter = field(default_factory=FieldFilter)
    direction: Direction | None = None
    snaplen: int | None = None
    limit: int | None = None
    all_records: bool = False
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    counts: Counts = field(default_factory=Counts)
    _named: int = 0

    def passed(self) -> Generator[Passed]:
        left = self.limit
        for raw in self.source.batches():
            self._name_ports()
            passed = self._filtered(self._cut(raw), left)
            if left is not None:
                left -= len(passed.batch) if self.all_records else len(passed.decoded)
            if len(passed.batch) or len(passed.decoded.malformed):
                yield passed
            if left == 0:
                return

    def _filtered(self, batch: Batch, left: int | None) -> Passed:
        if self.direction is not None:
            batch = self._one_way(batch, self.direction)
        if self.expression is not None:
            batch = batch.select(self.expression.matches(batch))
        decoded = decode(batch)
        keep = self.fields.mask(decoded, self.source.interfaces)
        end = self._end(decoded, keep, left)
        if end < len(batch):
            batch = batch.select(slice(0, end))
            decoded = decode(batch)
            keep = keep[: len(decoded)]
        self.counts.captured += len(batch)
        self.counts.cais += len(decoded)
        self.counts.malformed += len(decoded.malformed)
        self.counts.passed += int(keep.sum())
        if not self.fields:
            return Passed(batch, decoded)
        chosen = decoded.select(keep)
        written = batch.select(chosen.index)
        return Passed(written, decode(written))

    def _one_way(self, batch: Batch, direction: Direction) -> Batch:
        if (batch.direction == Direction.UNKNOWN).any():
            name = self.source.interfaces[int(batch.interface[0])].name
            raise UsageError(f"-Q: {name} does not say which way its packets went")
        return batch.select(batch.direction == direction)

    def _end(self, decoded: Decoded, keep: np.ndarray[tuple[int], np.dtype[np.bool_]], left: int | None) -> int:
        """How many records to look at until the limit is reached."""
        count = len(decoded.batch)
        if left is None:
            return count
        if self.all_records and not self.fields:
            return min(count, left)
        chosen = decoded.index[keep]
        return int(chosen[left - 1]) + 1 if len(chosen) >= left else count

    def _cut(self, batch: Batch) -> Batch:
        return batch if self.snaplen is None else replace(batch, captured=np.minimum(batch.captured, self.snaplen))

    def _name_ports(self) -> None:
        interfaces = self.source.interfaces
        for i in range(self._named, len(interfaces)):
            interfaces[i] = replace(interfaces[i], port=self.ports.get(interfaces[i].name))
        self._named = len(interfaces)
