"""What generated code calls where a bare operator would not do."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["SUPPORT"]

_SHIFT_LIMIT = 1 << 14
"""No field is wider: a shift to the left by more leaves nothing in any."""


def clamp(value: int, low: int, high: int) -> int:
    return low if value < low else min(value, high)


def divide(left: int, right: int) -> int:
    """Division by zero and of negative numbers, which bmv2 leaves undefined, gives 0."""
    return left // right if left >= 0 and right > 0 else 0


def modulo(left: int, right: int) -> int:
    return left % right if left >= 0 and right > 0 else 0


def element(values: Sequence[int], index: int) -> int:
    """An element, 0 where the index is out of range."""
    return values[index] if 0 <= index < len(values) else 0


def in_value_set(members: Sequence[tuple[int, int]], key: int, looked_at: int = -1) -> bool:
    """Whether a key matches one of (value, mask) in the bits that are looked at."""
    return any(key & mask & looked_at == value & looked_at for value, mask in members)


def shift_left(value: int, by: int) -> int:
    return value << by if 0 <= by <= _SHIFT_LIMIT else 0


def shift_right(value: int, by: int) -> int:
    return value >> by if by >= 0 else 0


SUPPORT = {each.__name__: each for each in (clamp, divide, element, in_value_set, modulo, shift_left, shift_right)}
