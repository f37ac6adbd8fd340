"""Which packet numbers of a stream were seen, and which are missing between them, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sequence"]

_PAGE_BITS = 16
_PAGE = 1 << _PAGE_BITS
_MOST_PAGES = 32


class Sequence:
    """A stream numbers its packets one after the other; a gap of 65,536 or more is the start of another job."""

    def __init__(self) -> None:
        self.packets = 0
        self._pages: dict[int, NDArray[np.bool_]] = {}
        self._distinct = self._lost = 0  # of pages that were let go

    def add(self, seq_nums: NDArray[np.uint32]) -> None:
        self.packets += len(seq_nums)
        pages = seq_nums >> np.uint32(_PAGE_BITS)
        for page in np.unique(pages).tolist():
            if page not in self._pages and len(self._pages) >= _MOST_PAGES:
                self._let_go()
            bits = self._pages.setdefault(page, np.zeros(_PAGE, np.bool_))
            bits[seq_nums[pages == page] & np.uint32(_PAGE - 1)] = True

    @property
    def distinct(self) -> int:
        return self._distinct + sum(int(np.count_nonzero(bits)) for bits in self._pages.values())

    @property
    def repeated(self) -> int:
        return self.packets - self.distinct

    @property
    def lost(self) -> int:
        """Numbers never seen between the first and the last of a job."""
        return self._lost + _gaps(self._pages)

    def _let_go(self) -> None:
        """Count the older half of the pages; what is sent again of them counts as new."""
        old = {page: self._pages.pop(page) for page in list(self._pages)[: _MOST_PAGES // 2]}
        self._distinct += sum(int(np.count_nonzero(bits)) for bits in old.values())
        self._lost += _gaps(old)


def _gaps(pages: dict[int, NDArray[np.bool_]]) -> int:
    seen = [np.flatnonzero(bits) + (page << _PAGE_BITS) for page, bits in sorted(pages.items())]
    gaps = np.diff(np.concatenate(seen)) - 1 if seen else np.zeros(0, np.int64)
    return int(gaps[gaps < _PAGE].sum())
