"""The frames of the operation that runs: kept until the next one, to be saved when its result is wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cais_tools.links import Link
from cais_tools.links.forwarding import ForwardingLink

__all__ = ["TraceLink"]

_MOST_BYTES = 4 << 20


class TraceLink(ForwardingLink):
    """A link that remembers what went through it, the newest 4 MiB of each direction at most."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._out, self._in = _Memory(), _Memory()

    def forget(self) -> None:
        """Start anew, for the next operation."""
        self._out, self._in = _Memory(), _Memory()

    def sent(self) -> Iterator[bytes]:
        """The frames that went out, oldest first."""
        return self._out.frames()

    def received(self) -> Iterator[bytes]:
        return self._in.frames()

    def _sent(self, frames: Sequence[bytes] | NDArray[np.uint8]) -> None:
        # Endpoints build new frames for every batch, so that no copy is needed.
        self._out.keep(frames)

    def _received(self, frames: list[bytes]) -> None:
        self._in.keep(frames)


class _Memory:
    """Batches of frames; the oldest ones make room for new ones."""

    def __init__(self) -> None:
        self._batches: deque[tuple[Sequence[bytes] | NDArray[np.uint8], int]] = deque()
        self._bytes = 0

    def keep(self, frames: Sequence[bytes] | NDArray[np.uint8]) -> None:
        size = frames.nbytes if isinstance(frames, np.ndarray) else sum(map(len, frames))
        self._batches.append((frames, size))
        self._bytes += size
        while self._bytes > _MOST_BYTES and len(self._batches) > 1:
            self._bytes -= self._batches.popleft()[1]

    def frames(self) -> Iterator[bytes]:
        for batch, _ in self._batches:
            yield from (bytes(frame) for frame in batch)
