"""Several captures as one, in the order of time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.batch import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["joined", "merged"]


class _Stream:
    """What is left of a capture: the rest of its current batch, and those that follow."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self.head: Batch | None = None
        self.advance()

    def advance(self) -> None:
        self.head = next((batch for batch in self._batches if len(batch)), None)

    def last(self) -> int:
        """Time up to which the current batch is complete, for all that is known."""
        assert self.head is not None
        return int(self.head.time_ns.max())

    def take(self, until: int) -> Batch | None:
        """The records from the current one on that are not later than `until`, up to the first that is."""
        batch = self.head
        assert batch is not None
        late = batch.time_ns > until
        count = int(np.argmax(late)) if late.any() else len(batch)
        if count == len(batch):
            self.advance()
        else:
            self.head = batch.select(slice(count, None))
        return batch.select(slice(0, count)) if count else None


def merged(sources: Sequence[Iterator[Batch]]) -> Iterator[Batch]:
    """Merge captures, each of which is in order of time but for small disorder; records are numbered anew."""
    streams: list[_Stream] = [stream for stream in map(_Stream, sources) if stream.head is not None]
    number = 1
    while streams:
        until = min(stream.last() for stream in streams)
        parts = [part for stream in streams if (part := stream.take(until)) is not None]
        streams = [stream for stream in streams if stream.head is not None]
        for batch in joined(parts):
            count = len(batch)
            yield replace(batch, number=np.arange(number, number + count, dtype=np.int64))
            number += count


def joined(parts: Sequence[Batch]) -> Iterator[Batch]:
    """Batches in the order of time; where link types differ, one for each run of the same type."""
    if len(parts) == 1:
        yield parts[0]
        return
    data = np.concatenate([part.data for part in parts])
    shift = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
    time = np.concatenate([part.time_ns for part in parts])
    order = np.argsort(time, kind="stable")
    both = Batch(
        data=data,
        offset=np.concatenate([part.offset + by for part, by in zip(parts, shift, strict=True)])[order],
        captured=np.concatenate([part.captured for part in parts])[order],
        length=np.concatenate([part.length for part in parts])[order],
        time_ns=time[order],
        interface=np.concatenate([part.interface for part in parts])[order],
        direction=np.concatenate([part.direction for part in parts])[order],
        number=np.concatenate([part.number for part in parts])[order],
        link_type=parts[0].link_type,
    )
    types = np.concatenate([np.full(len(part), part.link_type) for part in parts])[order]
    starts = np.flatnonzero(np.diff(types, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(types)], strict=True):
        yield both.select(slice(start, end), int(types[start]))
