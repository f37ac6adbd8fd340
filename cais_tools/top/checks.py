"""Values of a file, checked: what is not of its kind must not come so far as to be counted with. Sans I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, cast

__all__ = ["LATEST", "flag", "moment", "number", "text", "whole", "wholes"]

LATEST: Final = 2.0**37
"""The last moment, in seconds since 1970, in the year 6325: calendars end in 9999."""

_TOP: Final = 1 << 128  # election ids have so many bits, counters 64


def whole(value: Any) -> int:
    """A number from 0 on, without a fraction. Raises TypeError, as all of these do."""
    if type(value) is not int or not 0 <= value < _TOP:
        raise TypeError(f"{_short(value)} is no whole number")
    return value


def wholes(values: Any) -> Sequence[int]:
    """A list of them; there are thousands of these in a file, so that they are looked at together."""
    if not isinstance(values, list):
        raise TypeError(f"{_short(values)} is no list")
    some = cast("list[int]", values)
    if some and (set(map(type, some)) != {int} or min(some) < 0 or max(some) >= _TOP):
        raise TypeError(f"{_short(some)} are no whole numbers")
    return some


def number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError(f"{_short(value)} is no number")
    return float(value)


def moment(value: Any) -> float:
    """Seconds since 1970."""
    seconds = number(value)
    if not 0.0 <= seconds <= LATEST:
        raise TypeError(f"{_short(value)} is no time")
    return seconds


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_short(value)} is no text")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{_short(value)} is neither true nor false")
    return value


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:39]}…"
