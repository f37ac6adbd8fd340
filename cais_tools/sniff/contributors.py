"""Who contributes: source addresses (or interfaces, where a capture has no addresses) as small numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.senders import sender_of
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import SWITCH_MAC, mac_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["Contributors", "addresses"]

_MOST = 65_536
_NO_ADDRESS = np.uint64(1 << 48)
_SWITCH = int.from_bytes(mac_bytes(SWITCH_MAC), "big")
_RANK_PREFIX = int.from_bytes(mac_bytes(source_mac(0)), "big")


def addresses(decoded: Decoded) -> NDArray[np.uint64]:
    """(m,) source address as a number; above 2^48 the interface of a packet whose address is unknown."""
    words = np.zeros((len(decoded), 8), np.uint8)
    words[:, 2:] = decoded.source_mac
    address = words.view(">u8").reshape(-1).astype(np.uint64)
    interface = decoded.batch.interface[decoded.index].astype(np.uint64)
    return np.where(address == 0, _NO_ADDRESS + interface, address)


class Contributors:
    """Numbers from 0 on, in the order of first packets. Beyond 65,536 of them the last one stands for the rest."""

    def __init__(self, interfaces: Sequence[CaptureInterface]) -> None:
        self._interfaces = interfaces
        self._addresses: list[int] = []
        self._seen_at: list[int] = []
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def numbers(self, decoded: Decoded) -> NDArray[np.int32]:
        """(m,) who sent each packet."""
        unique, first, inverse = np.unique(addresses(decoded), return_index=True, return_inverse=True)
        interface = decoded.batch.interface[decoded.index]
        known = np.empty(len(unique), np.int32)
        for at in np.argsort(first):
            known[at] = self._number(int(unique[at]), int(interface[first[at]]))
        return known[inverse.reshape(-1)]

    def _number(self, address: int, interface: int) -> int:
        number = self._numbers.get(address)
        if number is None:
            number = min(len(self._addresses), _MOST - 1)
            if number == len(self._addresses):
                self._addresses.append(address)
                self._seen_at.append(interface)
                self._numbers[address] = number
        return number

    def rank(self, number: int) -> int | None:
        """The rank that an address of ours names."""
        rank = self._addresses[number] - _RANK_PREFIX
        return rank if 0 <= rank < 256 else None

    def port(self, number: int) -> int | None:
        """The switch port of the interface where the first packet was seen, where `--ports` says it."""
        at = self._seen_at[number]
        return self._interfaces[at].port if at < len(self._interfaces) else None

    def is_switch(self, number: int) -> bool:
        return self._addresses[number] == _SWITCH

    def name(self, number: int, *, port: bool = True) -> str:
        """`rank 2`, `rank 2 (port 3)`, an address, or an interface."""
        address = self._addresses[number]
        if address >= _NO_ADDRESS:
            name = self._interfaces[address - int(_NO_ADDRESS)].name
        else:
            name = sender_of(address.to_bytes(6, "big")).name
        at = self.port(number) if port else None
        return name if at is None else f"{name} (port {at})"
