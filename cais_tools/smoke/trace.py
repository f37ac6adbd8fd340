"""The frames of the operation that runs: kept until the next one, to be saved when its result is wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cais_tools.links import Link

__all__ = ["TraceLink"]

_MOST_BYTES = 4 << 20


class TraceLink:
    """A link that remembers what went through it, the newest 4 MiB of each direction at most."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sent: deque[Sequence[bytes] | NDArray[np.uint8]] = deque()
        self._received: deque[list[bytes]] = deque()
        self._sent_bytes = self._received_bytes = 0

    def forget(self) -> None:
        """Start anew, for the next operation."""
        self._sent.clear()
        self._received.clear()
        self._sent_bytes = self._received_bytes = 0

    def sent(self) -> Iterator[bytes]:
        """The frames that went out, oldest first."""
        for batch in self._sent:
            yield from (bytes(frame) for frame in batch)

    def received(self) -> Iterator[bytes]:
        for batch in self._received:
            yield from batch

    @property
    def name(self) -> str:
        return self._link.name

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        taken = self._link.send(frames)
        self._keep_sent(frames[:taken], sum(map(len, frames[:taken])))
        return taken

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        taken = self._link.send_matrix(frames)
        self._keep_sent(frames[:taken], frames[:taken].nbytes)
        return taken

    def recv(self) -> list[bytes]:
        frames = self._link.recv()
        if frames:
            self._received.append(frames)
            self._received_bytes += sum(map(len, frames))
            while self._received_bytes > _MOST_BYTES and len(self._received) > 1:
                self._received_bytes -= sum(map(len, self._received.popleft()))
        return frames

    def close(self) -> None:
        self._link.close()

    def _keep_sent(self, frames: Sequence[bytes] | NDArray[np.uint8], size: int) -> None:
        # Endpoints build new frames for every batch, so that no copy is needed.
        self._sent.append(frames)
        self._sent_bytes += size
        while self._sent_bytes > _MOST_BYTES and len(self._sent) > 1:
            self._sent_bytes -= sum(map(len, self._sent.popleft()))
