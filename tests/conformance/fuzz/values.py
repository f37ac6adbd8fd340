"""Random values that meet: packets and table entries draw from the same few."""

from __future__ import annotations

import random
import re

__all__ = ["PORTS", "ValuePool"]

PORTS = (1, 2, 3, 4, 5, 6, 7, 8)
_CONSTANTS = 5
_OTHERS = 2
_HEX = re.compile(rb'"0x([0-9a-fA-F]+)"')


class ValuePool:
    """Values of any width: a few that come again and again, the program's own constants among them."""

    def __init__(self, config: bytes, rng: random.Random) -> None:
        self._rng = rng
        self._constants = sorted({int(digits, 16) for digits in _HEX.findall(config)})
        self._shared: dict[int, list[int]] = {}

    def common(self, width: int) -> int:
        """A value that many others have: what keys of table entries should be."""
        return self._rng.choice(self._values(width)) if width > 0 and self._rng.random() < 0.85 else self.pick(width)

    def pick(self, width: int) -> int:
        """A value of `width` bits; 0 for width 0."""
        if width <= 0:
            return 0
        chance = self._rng.random()
        full = (1 << width) - 1
        if chance < 0.5:
            return self._rng.choice(self._values(width))
        if chance < 0.65:
            return min(self._rng.randrange(8), full)
        if chance < 0.7:
            return full - min(self._rng.randrange(3), full)
        return self._rng.getrandbits(width)

    def _values(self, width: int) -> list[int]:
        if width not in self._shared:
            fitting = [value for value in self._constants if value.bit_length() <= width]
            chosen = self._rng.sample(fitting, min(_CONSTANTS, len(fitting)))
            self._shared[width] = [*chosen, *(self._rng.getrandbits(width) for _ in range(_OTHERS))]
        return self._shared[width]
