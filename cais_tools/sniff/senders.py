"""Who sent a packet, from its source address."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import SWITCH_MAC, mac_bytes

__all__ = ["Sender", "mac_text", "sender_of"]

_SWITCH = mac_bytes(SWITCH_MAC)
_RANKS = mac_bytes(source_mac(0))[:-1]
_UNKNOWN = bytes(6)


class Sender(NamedTuple):
    name: str
    """`switch`, `rank 3`, or the address where it is none of ours."""
    is_switch: bool


def mac_text(address: bytes) -> str:
    return address.hex(":")


@lru_cache(maxsize=1024)
def sender_of(address: bytes, *, numeric: bool = False) -> Sender:
    """Return who has this source address; `numeric` leaves the address as it is."""
    is_switch = address == _SWITCH
    if numeric:
        return Sender(mac_text(address), is_switch)
    if is_switch:
        return Sender("switch", True)
    if address.startswith(_RANKS):
        return Sender(f"rank {address[-1]}", False)
    return Sender("unknown sender" if address == _UNKNOWN else mac_text(address), False)
