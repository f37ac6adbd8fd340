"""Ranks that do not call the same operation: which ones, and what each calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cais_tools.training.messages import Began

__all__ = ["describe", "minority", "named"]


def minority(calls: Mapping[int, Began]) -> tuple[int, ...]:
    """The ranks that call something else than most do."""
    by_fingerprint: dict[int, list[int]] = {}
    for rank, began in sorted(calls.items()):
        by_fingerprint.setdefault(began.fingerprint, []).append(rank)
    most = max(by_fingerprint.values(), key=len)
    return tuple(rank for ranks in by_fingerprint.values() if ranks is not most for rank in ranks)


def describe(number: int, calls: Mapping[int, Began]) -> str:
    """What the ranks call operation `number`."""

    def callers() -> Iterator[str]:
        for fingerprint in dict.fromkeys(each.fingerprint for each in calls.values()):
            ranks = tuple(rank for rank, each in sorted(calls.items()) if each.fingerprint == fingerprint)
            yield f"{named(ranks)} {'calls' if len(ranks) == 1 else 'call'} {calls[ranks[0]].operation}"

    return f"operation {number} is not the same on all ranks: {'; '.join(callers())}"


def named(ranks: Sequence[int]) -> str:
    """`rank 2`, or `ranks 0, 3`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
