"""P4Runtime's bytestring encoding of unsigned values: sans I/O, no messages (P4Runtime 1.4, section 8.4)."""

from __future__ import annotations

__all__ = ["decode", "encode"]


def encode(value: int, width: int) -> bytes:
    """The canonical bytestring of `value`: big-endian, the fewest bytes, at least one.

    `width` is in bits; 0 stands for a value without a fixed width (`@p4runtime_translation` to a string).
    Raises ValueError when the value is negative or does not fit.
    """
    if value < 0:
        raise ValueError(f"{value} is negative")
    if width > 0 and value >> width:
        raise ValueError(f"{value} does not fit into {width} bits (at most {(1 << width) - 1})")
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def decode(data: bytes) -> int:
    """The value of a bytestring, canonical or not (servers may send leading zeros; an empty one is 0)."""
    return int.from_bytes(data, "big")
