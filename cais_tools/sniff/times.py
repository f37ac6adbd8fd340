"""Times of packets as text, always with the zone's offset."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

__all__ = ["clock", "rfc3339"]

_SECOND = 1_000_000_000


@lru_cache(maxsize=4096)
def _parts(second: int, utc: bool) -> tuple[str, str, str]:
    """Date, time and offset of a second since 1970."""
    moment = datetime.fromtimestamp(second, UTC)
    if not utc:
        moment = moment.astimezone()
    text = moment.isoformat()
    return text[:10], text[11:19], text[19:]


def clock(time_ns: int, *, utc: bool) -> str:
    """Return `14:03:59.123456+01:00`."""
    second, rest = divmod(time_ns, _SECOND)
    _, time, offset = _parts(second, utc)
    return f"{time}.{rest // 1000:06d}{offset}"


def rfc3339(time_ns: int, *, utc: bool) -> str:
    """Return `2026-11-30T14:03:59.123456789+01:00`."""
    second, rest = divmod(time_ns, _SECOND)
    date, time, offset = _parts(second, utc)
    return f"{date}T{time}.{rest:09d}{offset}"
