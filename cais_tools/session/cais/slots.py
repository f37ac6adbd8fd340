"""Which slots of the switch a group gets. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cais_tools.errors import Refused, UsageError

__all__ = ["DEFAULT_SLOTS", "allocate_slots", "place_groups"]

DEFAULT_SLOTS = 256
"""A window of 128 packets, half of the slots, for every rank."""
_FEWEST = 2  # half of them is a window of one packet


def allocate_slots(pool: int, taken: Iterable[tuple[int, int]], slots: int) -> int:
    """The first slot of the first free block of `slots`, aligned to its size so that blocks fit together.

    `taken` has (base, slots) of every group. Raises UsageError when `slots` is no power of two, Refused when there
    is no room.
    """
    if slots < _FEWEST or slots & (slots - 1):
        raise UsageError(f"{slots} slots: the number must be a power of two, {_FEWEST} at least")
    used = sorted(taken)
    base = 0
    for start, size in used:
        if base + slots <= start:
            break
        base = max(base, -(-(start + size) // slots) * slots)
    if base + slots <= pool:
        return base
    count = sum(size for _, size in used)
    raise Refused(
        f"slots used up: {slots} wanted, {count} of {pool} are taken by {len(used)} groups",
        hint="remove a group, or ask for fewer slots",
    )


def place_groups(
    pool: int, taken: Iterable[tuple[int, int]], slots: Mapping[int, int]
) -> tuple[dict[int, int], list[int]]:
    """The first slot of each group of `slots` (group to number), and the groups for which there is no room.

    The largest first: then blocks of powers of two leave no holes.
    """
    used = list(taken)
    bases: dict[int, int] = {}
    homeless: list[int] = []
    for group_id in sorted(slots, key=lambda each: (-slots[each], each)):
        try:
            bases[group_id] = allocate_slots(pool, used, slots[group_id])
        except Refused:
            homeless.append(group_id)
        else:
            used.append((bases[group_id], slots[group_id]))
    return bases, homeless
