"""What a table entry matches on, one value for each key field (P4Runtime section 9.1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Exact", "Lpm", "Match", "MatchKind", "Range", "Ternary"]


class MatchKind(Enum):
    """The match kind of a key field, as bmv2's JSON spells it."""

    EXACT = "exact"
    LPM = "lpm"
    TERNARY = "ternary"
    RANGE = "range"
    OPTIONAL = "optional"
    VALID = "valid"


@dataclass(frozen=True, slots=True)
class Exact:
    """Equal to `value`. The only form for exact and valid keys; also an optional key that is present."""

    value: int


@dataclass(frozen=True, slots=True)
class Lpm:
    """The `prefix_len` uppermost bits are those of `value`; 0 matches everything."""

    value: int
    prefix_len: int


@dataclass(frozen=True, slots=True)
class Ternary:
    """The bits set in `mask` are those of `value`; mask 0 matches everything (also: an optional key left out)."""

    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included."""

    low: int
    high: int


Match = Exact | Lpm | Ternary | Range
