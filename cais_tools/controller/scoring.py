"""What an operation gains by the switch: design, section 7. Pure functions of plain values; no clock, no I/O.

    endpoint_time = size / bandwidth
    switch_time   = size / processing_rate + queue_delay
    score         = (endpoint_time - switch_time) / endpoint_time * (1 - 1/n)

Divided out, with B the bandwidth, R the processing rate, q the queue delay and s the size:

    score(s) = (1 - B/R - q*B/s) * (1 - 1/n)

Only q*B/s depends on the size, and it falls with it: the score grows with the size, for every kind of operation alike.
So there is one size, the break-even, from which on the score is over the threshold; or, where (1 - B/R) * (1 - 1/n) is
not over it, none. `score` computes this form, in which the rounding of floats cannot break the order.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

__all__ = ["LARGEST", "Kind", "Link", "OperationClass", "Path", "Terms", "break_even", "score", "terms"]

LARGEST: Final = 1 << 62
"""Bytes; no tensor is larger."""


class Path(IntEnum):
    """Where operations go; numbered as in controller.proto."""

    AUTO = 0
    SWITCH = 1
    ENDPOINT = 2


class Kind(IntEnum):
    """What an operation does; numbered as in controller.proto."""

    UNSPECIFIED = 0
    ALL_REDUCE = 1
    ALL_REDUCE_MAX = 2
    ALL_REDUCE_MIN = 3
    ALL_REDUCE_PRODUCT = 4
    REDUCE_SCATTER = 5
    ALL_GATHER = 6
    BROADCAST = 7


@dataclass(frozen=True, slots=True)
class OperationClass:
    """Operations that are decided alike. `dtype` is NumPy's name, or bfloat16; `bytes` is the size of the tensor."""

    kind: Kind
    dtype: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between `ranks` ranks and their sum: bytes/s of a rank's link, bytes/s that the switch adds up, and
    the seconds that a packet waits in it.
    """

    ranks: int
    bandwidth: float
    processing_rate: float
    queue_delay: float


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds on endpoints and on the switch, and the score; NaN where there is none."""

    endpoint_time: float
    switch_time: float
    score: float


def score(size: int, link: Link) -> float:
    """Of an operation of `size` >= 1 bytes over a link whose numbers are known; -inf for an endless queue."""
    lost = link.bandwidth / link.processing_rate
    waited = link.queue_delay * link.bandwidth / size
    return (1 - lost - waited) * (1 - 1 / link.ranks)


def terms(size: int, link: Link) -> Terms:
    """All terms, as far as the inputs allow; NaN for the rest."""
    has_bandwidth = math.isfinite(link.bandwidth) and link.bandwidth > 0
    has_switch = link.processing_rate > 0 and link.queue_delay >= 0
    endpoint_time = size / link.bandwidth if has_bandwidth else math.nan
    switch_time = size / link.processing_rate + link.queue_delay if has_switch else math.nan
    known = has_bandwidth and has_switch and size > 0 and link.ranks > 0
    return Terms(endpoint_time, switch_time, score(size, link) if known else math.nan)


def break_even(link: Link, threshold: float) -> int | None:
    """The least number of bytes whose score is over `threshold`; None where no size's is."""
    sizes = range(1, LARGEST)
    place = bisect.bisect_left(sizes, True, key=lambda size: score(size, link) > threshold)
    return sizes[place] if place < len(sizes) else None
