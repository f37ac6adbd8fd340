"""Random packets for a program: valid ones, damaged ones, noise."""

from __future__ import annotations

import random

from tests.conformance.fuzz.subjects import SHORTEST, Subject
from tests.conformance.fuzz.values import PORTS, ValuePool
from tests.conformance.fuzz.walk import walk

__all__ = ["PacketSource", "damaged"]

_MOST_BYTES = 512


class PacketSource:
    """Endless (port, frame); frames have 1 (or what the subject needs) to 512 bytes."""

    def __init__(self, subject: Subject, pool: ValuePool, rng: random.Random) -> None:
        self._parser = subject.program.parser
        self._samples = subject.samples
        self._shortest = SHORTEST.get(subject.name, 1)
        self._pool = pool
        self._rng = rng

    def next(self) -> tuple[int, bytes]:
        port = self._rng.choice(PORTS)
        frame = self._frame()[:_MOST_BYTES]
        return port, frame.ljust(self._shortest, b"\0")

    def _frame(self) -> bytes:
        chance = self._rng.random()
        if chance < 0.5:
            return self._valid()
        if chance < 0.65:
            return damaged(self._valid(), self._rng)
        if chance < 0.75:
            whole = self._valid()
            return whole[: self._rng.randrange(len(whole) + 1)]
        if chance < 0.9 and self._samples:
            sample = self._rng.choice(self._samples)[1]
            return damaged(sample, self._rng) if self._rng.random() < 0.8 else sample
        return self._rng.randbytes(self._rng.randrange(1, 160))

    def _valid(self) -> bytes:
        payload = self._rng.choice((0, 0, 1, 20, 46, 64))
        return walk(self._parser, self._pool, self._rng) + self._rng.randbytes(payload)


def damaged(frame: bytes, rng: random.Random) -> bytes:
    """One to four changes: bytes, bits, a cut, something more in the middle."""
    result = bytearray(frame)
    for _ in range(rng.randrange(1, 5)):
        place = rng.randrange(len(result) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del result[place:]
        elif kind == 1:
            result[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif place < len(result) and kind == 2:
            result[place] ^= 1 << rng.randrange(8)
        elif place < len(result):
            result[place] = rng.choice((0, 1, 2, 4, 5, 6, 8, 0x45, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(result)
