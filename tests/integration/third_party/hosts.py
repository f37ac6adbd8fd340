"""The test's side of `scripts/network.py`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.integration.switch.client import Network

__all__ = ["Hosts"]


class Hosts:
    def __init__(self, network: Network) -> None:
        self._network = network

    def answer(self, name: str, *arguments: object) -> object:
        return getattr(self, f"_{name}")(*arguments)

    def _send(self, port: int, frames: Sequence[str]) -> None:
        self._network.send(port, *(bytes.fromhex(frame) for frame in frames))

    def _receive(self, port: int, count: int) -> list[str]:
        return [frame.hex() for frame in self._network.receive(port, count)]

    def _receive_any(self, ports: Sequence[int], count: int) -> list[int]:
        return self._network.receive_any(ports, count)

    def _restart(self) -> None:
        self._network.restart()
