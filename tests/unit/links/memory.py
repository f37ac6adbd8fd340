"""A link in memory, for tests of what wraps links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class MemoryLink:
    """Keeps what is sent in `sent`; hands out what is put into `arriving`, at most 64 frames a call."""

    name = "memory"

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.arriving: list[bytes] = []
        self.closed = False

    def fileno(self) -> int:
        return -1

    def send(self, frames: Sequence[bytes]) -> int:
        self.sent += frames
        return len(frames)

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        return self.send([row.tobytes() for row in frames])

    def recv(self) -> list[bytes]:
        batch, self.arriving = self.arriving[:64], self.arriving[64:]
        return batch

    def close(self) -> None:
        self.closed = True
