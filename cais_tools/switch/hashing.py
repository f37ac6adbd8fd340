"""Hash and checksum algorithms over bytes, by the names of bmv2's JSON."""

from __future__ import annotations

import zlib
from binascii import crc_hqx
from collections.abc import Callable

__all__ = ["ALGORITHMS", "internet_checksum"]


def _csum16(data: bytes) -> int:
    return internet_checksum(int.from_bytes(data + b"\0" if len(data) % 2 else data, "big"))


def internet_checksum(number: int) -> int:
    """The Internet checksum (RFC 1071) of 16-bit words that stand side by side in a number."""
    # A sum of 16-bit words with end-around carry is the number modulo 2^16 - 1, where 0 has two forms.
    total = number % 0xFFFF
    if total == 0 and number:
        total = 0xFFFF
    return total ^ 0xFFFF


def _crc16_table() -> tuple[int, ...]:
    table: list[int] = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_CRC16 = _crc16_table()


def _crc16(data: bytes) -> int:
    """CRC-16/ARC: polynomial 0x8005, reflected, initially 0."""
    value = 0
    for byte in data:
        value = value >> 8 ^ _CRC16[(value ^ byte) & 0xFF]
    return value


def _crc_ccitt(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, initially 0xFFFF."""
    return crc_hqx(data, 0xFFFF)


def _xor(size: int) -> Callable[[bytes], int]:
    def xor(data: bytes) -> int:
        """The words of the data combined by exclusive or; the last one is padded with zeros."""
        result = 0
        for start in range(0, len(data), size):
            result ^= int.from_bytes(data[start : start + size].ljust(size, b"\0"), "big")
        return result

    return xor


def _identity(data: bytes) -> int:
    """The first eight bytes as a number."""
    return int.from_bytes(data[:8], "big")


ALGORITHMS: dict[str, Callable[[bytes], int]] = {
    "cksum16": _csum16,
    "crc16": _crc16,
    "crc32": zlib.crc32,
    "crcCCITT": _crc_ccitt,
    "csum16": _csum16,
    "identity": _identity,
    "xor16": _xor(2),
    "xor32": _xor(4),
}
