"""How sums of each floating-point type travel, whole tensors at a time.

The steps are those of `blocks`, or of `halves` where two numbers share a word. They are done in pieces that stay in a
core's cache: what comes between the tensor and the packets is never as large as the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cais_tools.worker import blocks, halves
from cais_tools.worker.blocks import Codewords
from cais_tools.worker.transfer import Rows

__all__ = ["FORMATS", "Format"]

Numbers: TypeAlias = NDArray[Any]
"""Blocks of the tensor's own type, shape (blocks, lanes x per_word)."""
Floats: TypeAlias = NDArray[Any]
"""The same as float32 or float64, which hold them exactly."""

_PIECE = 1 << 15  # numbers


@dataclass(frozen=True)
class Format:
    """One type: how many numbers are in a word, what they are in terms of NumPy's floats, and how they are added up."""

    per_word: int
    widen: Callable[[Numbers], Floats]
    narrow: Callable[[Floats], Numbers]
    _quantise: Callable[[Floats, Codewords, int], Rows]
    _restore: Callable[[Rows, Codewords, int], Floats]
    _count_non_finite: Callable[[Floats], Rows]
    _with_non_finite: Callable[[Floats, Rows], Floats]

    def codewords(self, rows: Numbers) -> Codewords:
        """What this rank says about its blocks in round 1."""
        words = np.empty((len(rows), 2), np.int32)
        for part in _pieces(rows):
            words[part] = blocks.codewords(rows[part], self.widen)
        return words

    def quantise(self, rows: Numbers, agreed: Codewords, ranks: int) -> Rows:
        """The words to be added up in round 2."""
        words = np.empty((len(rows), rows.shape[1] // self.per_word), np.int32)
        for part in _pieces(rows):
            words[part] = self._quantise(self.widen(rows[part]), agreed[part], ranks)
        return words

    def restore(self, sums: Rows, agreed: Codewords, ranks: int, dtype: np.dtype[Any]) -> Numbers:
        """The numbers that the sums of round 2 are, rounded once to the tensor's type (`dtype` in NumPy's terms)."""
        rows = np.empty((len(sums), sums.shape[1] * self.per_word), dtype)
        with np.errstate(over="ignore", under="ignore"):
            for part in _pieces(rows):
                rows[part] = self.narrow(self._restore(sums[part], agreed[part], ranks))
        return rows

    def count_non_finite(self, rows: Numbers) -> Rows:
        """What is to be added up in round 3."""
        return self._count_non_finite(self.widen(rows))

    def with_non_finite(self, sums: Numbers, counts: Rows) -> Numbers:
        return self.narrow(self._with_non_finite(self.widen(sums), counts))


def _pieces(rows: Numbers) -> Iterator[slice]:
    step = max(1, _PIECE // rows.shape[1])
    return (slice(start, start + step) for start in range(0, len(rows), step))


def _same(values: Floats) -> Floats:
    return values


def _to_float32(values: Floats) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(np.float32, copy=False)


_BLOCKS = (blocks.quantise, blocks.restore, blocks.count_non_finite, blocks.with_non_finite)
_HALVES = (halves.quantise, halves.restore, halves.count_non_finite, halves.with_non_finite)

FORMATS: Final = {
    "float32": Format(1, _same, _to_float32, *_BLOCKS),
    "float64": Format(1, _same, _same, *_BLOCKS),
    "float16": Format(2, halves.from_float16, halves.to_float16, *_HALVES),
    "bfloat16": Format(2, halves.from_bfloat16, halves.to_bfloat16, *_HALVES),
}
"""By the type's name."""
