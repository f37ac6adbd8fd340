"""Records that stand one behind the other, each saying how long it is: where do they begin?

Every record's place depends on the length of the one before, which is no work for NumPy. But most captures hold long
runs of records of one size, and whether the next thousand are of that size is one comparison of a strided view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Chain", "follow"]

_PROBE = 16  # records that must be alike before a longer comparison is worth it
_SHORTEST_WALK, _LONGEST_WALK = 64, 4096


@dataclass(frozen=True)
class Chain:
    """How records of a format follow each other."""

    key: np.dtype[Any]
    """What stands at `key_at` in a record, and is equal in records of one size."""
    key_at: int
    size: Callable[[int], int]
    """Position of a record -> its size in bytes; 0 where none stands there that may be followed (yet)."""

    def walk(self, start: int, end: int, most: int) -> tuple[list[int], int]:
        """Go from record to record: the positions of `most` whole ones before `end`, and where the last one ends.

        This is the slow part of reading a capture; a format may have a quicker one that does the same.
        """
        positions: list[int] = []
        while len(positions) < most and (size := self.size(start)) and start + size <= end:
            positions.append(start)
            start += size
        return positions, start


def follow(chain: Chain, data: NDArray[np.uint8], start: int, end: int) -> tuple[NDArray[np.int64], int]:
    """Positions of the whole records in data[start:end], and where the last of them ends."""
    pieces: list[NDArray[np.int64]] = []
    walk = _SHORTEST_WALK
    while size := chain.size(start):
        if start + size > end:
            break
        run = _run(chain, data, start, end, size)
        if run >= _PROBE:
            pieces.append(start + size * np.arange(run, dtype=np.int64))
            start += size * run
            walk = _SHORTEST_WALK
            continue
        singles, start = chain.walk(start, end, walk)
        pieces.append(np.array(singles, np.int64))
        walk = min(2 * walk, _LONGEST_WALK)
    return (np.concatenate(pieces) if pieces else np.zeros(0, np.int64)), start


def _run(chain: Chain, data: NDArray[np.uint8], start: int, end: int, size: int) -> int:
    """How many records of the size of the first one follow, itself included."""
    count = (end - start) // size
    keys = np.ndarray((count,), chain.key, data, offset=start + chain.key_at, strides=(size,))
    if (keys[:_PROBE] != keys[0]).any():
        return 1
    different = np.flatnonzero(keys != keys[0])
    return int(different[0]) if len(different) else count
