"""The host side of the forwarding benchmarks: frames in through one link, out through another, every one compared."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cais_tools.links import Link

__all__ = ["Forwarded", "forward"]

STALL = 2.0
"""Seconds without any frame after which the switch is taken to have lost some."""


@dataclass(frozen=True)
class Forwarded:
    frames: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.frames / self.seconds


def forward(
    source: Link, sink: Link, frames: Sequence[bytes], expected: Sequence[tuple[int, bytes]], *, window: int
) -> Forwarded:
    """Send all frames, `window` of them under way; AssertionError where one is lost, late or wrong.

    `expected` are (number of the frame in, frame out); the last frame must be let through.
    """
    matrix = np.frombuffer(b"".join(frames), np.uint8).reshape(len(frames), -1)
    poller = select.poll()
    poller.register(sink.fileno(), select.POLLIN)
    received: list[bytes] = []
    sent = done = 0
    start = time.perf_counter()
    while done < len(frames):
        end = min(len(frames), done + window)
        if end > sent:
            sent += source.send_matrix(matrix[sent:end])
        assert poller.poll(STALL * 1000), f"nothing comes after {len(received)} of {len(expected)} frames"
        while some := sink.recv():
            received += some
        done = expected[len(received) - 1][0] + 1 if received else 0
    seconds = time.perf_counter() - start
    assert received == [frame for _, frame in expected], "frames are wrong, or out of order"
    return Forwarded(len(frames), seconds)
