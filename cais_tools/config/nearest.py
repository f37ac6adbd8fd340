"""What somebody may have meant who wrote a name that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint for an unknown name: the known ones that look like it, or all of them where they are few."""
    names = list(known)
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), by_lower, n=3)
    if near:
        return f"did you mean {' or '.join(by_lower[each] for each in near)}?"
    return f"there is {', '.join(names)}" if 0 < len(names) <= 12 else None
