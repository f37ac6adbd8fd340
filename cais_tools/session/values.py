"""What a user writes for a value, a match or a span of numbers, turned into integers. Sans I/O, no messages."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from cais_tools.errors import UsageError
from cais_tools.p4rt import values as p4values

__all__ = ["Lpm", "MatchValue", "Range", "Ternary", "Value", "encode_value", "to_int"]

Value = int | str | bytes
"""An integer; `0x1f`, `3`, a MAC, IPv4 or IPv6 address as text; or big-endian bytes."""

_MAC = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")


@dataclass(frozen=True, slots=True)
class Lpm:
    """A longest-prefix match: the leading `prefix_len` bits of `value`."""

    value: Value
    prefix_len: int


@dataclass(frozen=True, slots=True)
class Ternary:
    """The bits of `value` where `mask` has ones; the others do not count."""

    value: Value
    mask: Value


@dataclass(frozen=True, slots=True)
class Range:
    """All values from `low` to `high`, both included."""

    low: Value
    high: Value


MatchValue = Value | Lpm | Ternary | Range | None
"""How one key matches; None is "don't care". A plain value is an exact match whatever the kind of the key."""


def to_int(value: Value, width: int, name: str) -> int:
    """The integer that `value` stands for, checked against `width` bits; `name` says whose value it is.

    Raises UsageError when it is none, is negative or does not fit.
    """
    number = _parse(value, name) if isinstance(value, str) else _plain(value)
    try:
        p4values.encode(number, width)
    except ValueError:
        most = f"0 to {(1 << width) - 1}" if width <= 64 else f"{width} bits"
        raise UsageError(
            f"value {value!r} does not fit into the {width} bits of {name}", hint=f"allowed: {most}"
        ) from None
    return number


def encode_value(value: Value, width: int, name: str) -> bytes:
    """The canonical bytestring of `value` (P4Runtime 1.4, section 8.4)."""
    return p4values.encode(to_int(value, width, name), width)


def _plain(value: int | bytes) -> int:
    return int(value) if isinstance(value, int) else int.from_bytes(value, "big")


def _parse(text: str, name: str) -> int:
    if _MAC.fullmatch(text):
        return int(re.sub("[:-]", "", text), 16)
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return int(ipaddress.ip_address(text))
    except ValueError:
        raise UsageError(
            f"{text!r} is no value for {name}",
            hint="write a number (10, 0x0a), a MAC address, an IPv4 or an IPv6 address",
        ) from None
