"""Two-level switches: what was raised at one level is released only at a lower one. Pure; a NaN changes nothing."""

from __future__ import annotations

from typing import Final

__all__ = ["BAND", "RAISE", "RAISE_ABOVE", "RELEASE", "Latch", "stays_on"]

BAND: Final = 0.05
"""How far an operation's score must fall below the threshold until it leaves the switch."""
RAISE: Final = 0.2
"""What a crowded switch adds to the threshold: the original's cure for an overloaded one, from 0.2 to 0.4."""
RAISE_ABOVE: Final = 0.8
"""The share of the slots in use over which a switch is crowded."""
RELEASE: Final = 7 / 8
"""Released at this part of the level that raised: 0.7 for a level of 0.8."""


class Latch:
    """Set while a value is over a level, and then until it is at or below `RELEASE` of it."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False

    def update(self, value: float, level: float) -> bool:
        """Whether it is set now. The level may be another each time."""
        if value > level:
            self.is_set = True
        elif value <= level * RELEASE:
            self.is_set = False
        return self.is_set


def stays_on(was_on: bool, score: float, threshold: float) -> bool:
    """Whether an operation is worth the switch: it enters over the threshold, and leaves below threshold - BAND."""
    return score >= threshold - BAND if was_on else score > threshold
