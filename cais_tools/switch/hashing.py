"""Hash and checksum algorithms over bytes: all that bmv2's simple_switch registers, by the names of its JSON.

Nothing in P4Runtime sets their parameters, so they are bmv2's defaults: the polynomials of the `_custom` CRCs, the key
of `toeplitz` (all zeros, so that it is 0 for any input).
"""

from __future__ import annotations

import zlib
from binascii import crc_hqx
from collections.abc import Callable

__all__ = ["ALGORITHMS", "Hash", "RoundRobin", "internet_checksum"]

Hash = Callable[[bytes], int]

_KNOWN_INPUTS = 1 << 20
"""Inputs that one `round_robin_consistent` remembers: traffic must not fill the memory."""


def internet_checksum(number: int) -> int:
    """The Internet checksum (RFC 1071) of 16-bit words that stand side by side in a number."""
    # A sum of 16-bit words with end-around carry is the number modulo 2^16 - 1, where 0 has two forms.
    total = number % 0xFFFF
    if total == 0 and number:
        total = 0xFFFF
    return total ^ 0xFFFF


def _csum16(data: bytes) -> int:
    return internet_checksum(int.from_bytes(data + b"\0" if len(data) % 2 else data, "big"))


# --- CRCs; the names of parameters are those of the usual catalogues ---


def _reflected_crc(polynomial: int) -> Hash:
    """A CRC with refin and refout, init and xorout 0. `polynomial` is written least significant bit first."""
    table = [_reflected_remainder(byte, polynomial) for byte in range(256)]

    def crc(data: bytes) -> int:
        value = 0
        for byte in data:
            value = value >> 8 ^ table[(value ^ byte) & 0xFF]
        return value

    return crc


def _reflected_remainder(byte: int, polynomial: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
    return byte


def _crc8_table() -> tuple[int, ...]:
    """Polynomial 0x07, most significant bit first."""
    table: list[int] = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value << 1 ^ (0x07 if value & 0x80 else 0)) & 0xFF
        table.append(value)
    return tuple(table)


_CRC8 = _crc8_table()


def _crc8(data: bytes) -> int:
    """CRC-8/SMBUS: polynomial 0x07, initially 0."""
    value = 0
    for byte in data:
        value = _CRC8[value ^ byte]
    return value


_crc16 = _reflected_crc(0xA001)
"""CRC-16/ARC: polynomial 0x8005."""
_crc64 = _reflected_crc(0xD800_0000_0000_0000)
"""Polynomial 0x1b, as CRC-64/GO-ISO, but initially 0 and without a final exclusive or."""


def _crc_ccitt(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, initially 0xFFFF."""
    return crc_hqx(data, 0xFFFF)


# --- others ---


def _xor(size: int) -> Hash:
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


def _toeplitz(_: bytes) -> int:
    return 0


def _hash_ex(data: bytes) -> int:
    """FNV-1a with a final mix. simple_switch's bytes are C's `char`: those from 0x80 on are negative."""
    value = 2166136261
    for byte in data:
        value = ((value ^ (byte | 0xFFFFFF00 if byte & 0x80 else byte)) * 16777619) & 0xFFFFFFFF
    value = (value + (value << 13)) & 0xFFFFFFFF
    value ^= value >> 7
    value = (value + (value << 3)) & 0xFFFFFFFF
    value ^= value >> 17
    return (value + (value << 5)) & 0xFFFFFFFF


def _xxh64() -> Hash:
    import xxhash  # only for programs that want it

    return xxhash.xxh64_intdigest


class RoundRobin:
    """No hash: 0, 1, 2, .. one after the other; `consistent`: an input that was there before gets its number again."""

    def __init__(self, *, consistent: bool) -> None:
        self._consistent = consistent
        self._known: dict[bytes, int] = {}
        self._next = 0

    def __call__(self, data: bytes) -> int:
        if self._consistent:
            known = self._known.get(data)
            if known is not None:
                return known
            if len(self._known) >= _KNOWN_INPUTS:
                self._known.clear()
            self._known[data] = self._next
        self._next += 1
        return self._next - 1

    def reset(self) -> None:
        self._known.clear()
        self._next = 0


def _same(function: Hash) -> Callable[[], Hash]:
    """For algorithms without state: all calculations share the function."""
    return lambda: function


ALGORITHMS: dict[str, Callable[[], Hash]] = {
    "bmv2_hash": _xxh64,
    "cksum16": _same(_csum16),
    "crc16": _same(_crc16),
    "crc16_custom": _same(_crc16),
    "crc32": _same(zlib.crc32),
    "crc32_custom": _same(zlib.crc32),
    "crc64_custom": _same(_crc64),
    "crc8_custom": _same(_crc8),
    "crcCCITT": _same(_crc_ccitt),
    "csum16": _same(_csum16),
    "hash_ex": _same(_hash_ex),
    "identity": _same(_identity),
    "round_robin": lambda: RoundRobin(consistent=False),
    "round_robin_consistent": lambda: RoundRobin(consistent=True),
    "toeplitz": _same(_toeplitz),
    "xor16": _same(_xor(2)),
    "xor32": _same(_xor(4)),
    "xxh64": _xxh64,
}
"""What makes the function of one calculation: some have state, which each calculation has for itself."""
