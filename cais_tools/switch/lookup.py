"""Finding the entry that matches a key: one dictionary for each combination of masks, then ranges within it."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from cais_tools.switch.intervals import MAX_ENTRIES, Intervals
from cais_tools.switch.matches import Exact, Lpm, Match, MatchKind, Range, Ternary
from cais_tools.switch.program import KeyField
from cais_tools.switch.refusals import Invalid

__all__ = ["Lookup", "normalise"]

T = TypeVar("T")

_FORMS: dict[MatchKind, tuple[type[Match], ...]] = {
    MatchKind.EXACT: (Exact,),
    MatchKind.VALID: (Exact,),
    MatchKind.LPM: (Lpm, Exact),
    MatchKind.TERNARY: (Ternary, Exact),
    MatchKind.OPTIONAL: (Exact, Ternary),
    MatchKind.RANGE: (Range, Exact),
}


def normalise(key: KeyField, match: Match) -> Match:
    """The one form that equal matches have, bits outside the mask cleared. Raises Invalid where it does not fit.

    A mask of the key itself is applied to values only, as bmv2 does: two matches may become one.
    """
    normal = _normal(key, match)
    if key.mask is None:
        return normal
    if isinstance(normal, Range):
        return Range(normal.low & key.mask, normal.high)
    return replace(normal, value=normal.value & key.mask)


def _normal(key: KeyField, match: Match) -> Match:
    if not isinstance(match, _FORMS[key.kind]):
        raise Invalid(f"{type(match).__name__.lower()} match for the {key.kind.value} key {key.name}")
    full = (1 << key.width) - 1
    for value in _values(match):
        if not 0 <= value <= full:
            raise Invalid(f"{value} does not fit into key {key.name} ({key.width} bits)")
    if isinstance(match, Range):
        if match.low > match.high:
            raise Invalid(f"range of key {key.name} ends ({match.high}) before it starts ({match.low})")
        return match
    if isinstance(match, Lpm):
        if not 0 <= match.prefix_len <= key.width:
            raise Invalid(f"prefix of {match.prefix_len} bits for key {key.name} ({key.width} bits)")
        mask = full ^ (full >> match.prefix_len)
        return Lpm(match.value & mask, match.prefix_len)
    if isinstance(match, Ternary):
        if key.kind is MatchKind.OPTIONAL and match.mask not in (0, full):
            raise Invalid(f"optional key {key.name} is either there or not")
        return Ternary(match.value & match.mask, match.mask)
    return _expand(key, match, full)


def _values(match: Match) -> tuple[int, ...]:
    if isinstance(match, Range):
        return match.low, match.high
    if isinstance(match, Ternary):
        return match.value, match.mask
    return (match.value,)


def _expand(key: KeyField, match: Exact, full: int) -> Match:
    """An exact value for a key that can do more."""
    if key.kind is MatchKind.LPM:
        return Lpm(match.value, key.width)
    if key.kind is MatchKind.RANGE:
        return Range(match.value, match.value)
    if key.kind in (MatchKind.TERNARY, MatchKind.OPTIONAL):
        return Ternary(match.value, full)
    return match


_Rank = tuple[int, int, int]
_Ranges = tuple[tuple[int, int, int], ...]
"""(place of the key, low, high)."""


def _descending(placed: tuple[_Rank, _Ranges, object]) -> _Rank:
    priority, prefix, order = placed[0]
    return -priority, -prefix, -order


class Lookup(Generic[T]):
    """Entries by what they match. The winner has the highest priority, then the longest prefix, then is the oldest."""

    def __init__(self, keys: Sequence[KeyField]) -> None:
        self._keys = keys
        self._is_line = len(keys) == 1 and keys[0].kind in (MatchKind.LPM, MatchKind.RANGE)
        self._intervals: Intervals[T] | None = None  # made anew at the first search after a change
        self._size = 0
        self._exact = all(key.kind in (MatchKind.EXACT, MatchKind.VALID) for key in keys)
        self._by_value: dict[tuple[int, ...], T] = {}
        self._by_mask: dict[tuple[int, ...], dict[tuple[int, ...], list[tuple[_Rank, _Ranges, T]]]] = {}

    def clear(self) -> None:
        self._by_value.clear()
        self._by_mask.clear()
        self._intervals = None
        self._size = 0

    def add(self, match: tuple[Match, ...], entry: T, rank: tuple[int, int]) -> None:
        """`match` is normalised; `rank` is (priority, minus the order of insertion)."""
        masks, values, ranges, prefix = self._place(match)
        self._intervals = None
        self._size += 1
        if self._exact:
            self._by_value[values] = entry
            return
        bucket = self._by_mask.setdefault(masks, {}).setdefault(values, [])
        insort(bucket, ((rank[0], prefix, rank[1]), ranges, entry), key=_descending)

    def remove(self, match: tuple[Match, ...], entry: T) -> None:
        masks, values, _, _ = self._place(match)
        self._intervals = None
        self._size -= 1
        if self._exact:
            del self._by_value[values]
            return
        group = self._by_mask[masks]
        bucket = group[values]
        del bucket[next(place for place, each in enumerate(bucket) if each[2] is entry)]
        if not bucket:
            del group[values]
        if not group:
            del self._by_mask[masks]

    def find(self, key: tuple[int, ...]) -> T | None:
        if self._exact:
            return self._by_value.get(key)
        if self._is_line and self._size <= MAX_ENTRIES:
            if self._intervals is None:
                self._intervals = self._cut()
            return self._intervals.find(key[0])
        best: tuple[_Rank, T] | None = None
        for masks, group in self._by_mask.items():
            masked = tuple(value & mask for value, mask in zip(key, masks, strict=True))
            for rank, ranges, entry in group.get(masked, ()):
                if best is not None and rank <= best[0]:
                    break
                if all(low <= key[place] <= high for place, low, high in ranges):
                    best = rank, entry
                    break
        return None if best is None else best[1]

    def _cut(self) -> Intervals[T]:
        """The entries of a table with one prefix or range as intervals."""
        full = (1 << self._keys[0].width) - 1
        pieces: list[tuple[_Rank, int, int, T]] = []
        for (mask,), group in self._by_mask.items():
            for (value,), bucket in group.items():
                for rank, ranges, entry in bucket:
                    low, high = ranges[0][1:] if ranges else (value, value | (full ^ mask))
                    pieces.append((rank, low, high, entry))
        pieces.sort(key=lambda piece: piece[0], reverse=True)
        return Intervals(piece[1:] for piece in pieces)

    def _place(self, match: tuple[Match, ...]) -> tuple[tuple[int, ...], tuple[int, ...], _Ranges, int]:
        masks: list[int] = []
        values: list[int] = []
        ranges: list[tuple[int, int, int]] = []
        prefix = 0
        for place, (key, each) in enumerate(zip(self._keys, match, strict=True)):
            full = (1 << key.width) - 1
            if isinstance(each, Range):
                ranges.append((place, each.low, each.high))
                masks.append(0)
                values.append(0)
                continue
            mask = full
            if isinstance(each, Ternary):
                mask = each.mask
            elif isinstance(each, Lpm):
                mask = full ^ (full >> each.prefix_len)
                prefix = each.prefix_len
            masks.append(mask)
            values.append(each.value)
        return tuple(masks), tuple(values), tuple(ranges), prefix
