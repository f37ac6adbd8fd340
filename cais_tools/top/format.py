"""Numbers, times and curves as people read them. Sans I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

__all__ = [
    "MISSING",
    "bar",
    "clock",
    "count",
    "curve",
    "duration",
    "latency",
    "percent",
    "rate",
    "size",
]

MISSING = "-"
_BLOCKS = " ▁▂▃▄▅▆▇█"
_PARTS = ("", *"▏▎▍▌▋▊▉")


def count(value: float | None, width: int = 6) -> str:
    """Return `12`, `99,999`, `123k`, `4.56M`: the whole number where it fits into `width`, else three digits."""
    if value is None or math.isnan(value):
        return MISSING
    whole = f"{value:,.0f}"
    if len(whole) <= max(5, width):
        return whole
    for unit in "kMGT":
        value /= 1000
        if abs(value) < 999.5:
            return f"{value:.{2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0}f}{unit}"
    return f"{value:.0f}T"


def rate(value: float | None) -> str:
    """As `count`, with a digit behind the point below a hundred."""
    if value is None or math.isnan(value):
        return MISSING
    return f"{value:.1f}" if 0 < value < 99.95 else count(value)


def size(value: float | None) -> str:
    """Bytes: `12B`, `3.4MB`; powers of ten, as links are measured."""
    text = count(value)
    return text if text == MISSING else f"{text}B"


def percent(value: float | None) -> str:
    return MISSING if value is None or math.isnan(value) else f"{100 * value:.1f}%"


def latency(microseconds: float | None) -> str:
    """Return `12.3us`, `4.5ms`, `1.2s`."""
    if microseconds is None or math.isnan(microseconds):
        return MISSING
    if microseconds < 999.95:
        return f"{microseconds:.1f}us"
    if microseconds < 999_950:
        return f"{microseconds / 1000:.1f}ms"
    return duration(microseconds / 1e6)


def duration(seconds: float | None) -> str:
    """Return `5.2s`, `1m05s`, `2h03m`, `4d11h`."""
    if seconds is None or math.isnan(seconds):
        return MISSING
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole // 60 % 60:02}m"
    return f"{whole // 86_400}d{whole // 3600 % 24:02}h"


def clock(time: float) -> str:
    """The time of day here."""
    return datetime.fromtimestamp(time).astimezone().strftime("%H:%M:%S")


def bar(share: float | None, width: int) -> str:
    """`share` (0 to 1) of `width` filled; a share of more than nothing is never an empty bar."""
    if share is None or math.isnan(share) or share <= 0 or not width:
        return "░" * width
    eighths = max(1, round(min(1.0, share) * width * 8))
    full, part = divmod(eighths, 8)
    return "█" * full + _PARTS[part] + "░" * (width - full - (part > 0))


def curve(values: Sequence[float], width: int, height: int, top: float) -> list[str]:
    """The newest values as columns `height` lines high, the newest on the right; `top` is the full height.

    Zero is the lowest mark, so that it can be told from a gap, which is blank.
    """
    steps = len(_BLOCKS) - 1
    shown = values[-width:] if width > 0 else ()
    levels = [_level(value, top, steps * height) for value in shown]
    lines: list[str] = []
    for low in range((height - 1) * steps, -1, -steps):
        text = "".join(_BLOCKS[min(steps, max(0, level - low))] for level in levels)
        lines.append(text.rjust(width))
    return lines


def _level(value: float, top: float, steps: int) -> int:
    if math.isnan(value):
        return 0
    if top <= 0:
        return 1
    return max(1, min(steps, math.ceil(value / top * steps)))
