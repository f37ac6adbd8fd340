"""Rules that are for the same packets with the same priority: which of them a switch takes is anybody's guess.

Sans I/O. Rules of one group, operation and priority are rectangles of layers and chunks; a line that sweeps over the
layers meets those that can overlap, so that ten thousand rules need no fifty million comparisons.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

from cais_tools.session.cais.wanted import WantedRule

__all__ = ["overlaps"]


def overlaps(rules: Iterable[WantedRule]) -> Iterator[tuple[WantedRule, WantedRule]]:
    """Pairs of rules with equal priority and a packet in common; the one that stands first comes first."""
    by_key: dict[tuple[int, int, int], list[tuple[int, WantedRule]]] = {}
    for place, rule in enumerate(rules):
        by_key.setdefault((rule.group_id, rule.op, rule.priority), []).append((place, rule))
    for some in by_key.values():
        if len(some) > 1:
            yield from _sweep(some)


def _sweep(rules: Sequence[tuple[int, WantedRule]]) -> Iterator[tuple[WantedRule, WantedRule]]:
    longest = max(rule.chunk.high - rule.chunk.low for _, rule in rules)
    active: list[tuple[int, int]] = []  # (first chunk, place) of the rules that the line crosses
    ends: list[tuple[int, int, int]] = []  # (last layer, first chunk, place)
    by_place = dict(rules)
    beyond = max(by_place) + 1
    for place, rule in sorted(rules, key=lambda each: (each[1].layer.low, each[0])):
        while ends and ends[0][0] < rule.layer.low:
            _, low, gone = heapq.heappop(ends)
            del active[bisect_right(active, (low, gone)) - 1]
        at = bisect_right(active, (rule.chunk.high, beyond))
        while at and active[at - 1][0] >= rule.chunk.low - longest:
            at -= 1
            other = by_place[active[at][1]]
            if other.chunk.high >= rule.chunk.low:
                yield (other, rule) if active[at][1] < place else (rule, other)
        insort(active, (rule.chunk.low, place))
        heapq.heappush(ends, (rule.layer.high, rule.chunk.low, place))
