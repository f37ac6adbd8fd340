"""What the controller does with groups: its stream of statistics, kept up in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from cais_tools.config import TlsFiles, parse_target
from cais_tools.controller.client import ControllerClient
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.errors import CaisError, UsageError
from cais_tools.top.observation import Source, Steered

__all__ = ["Steering"]

_INTERVAL_MS: Final = 500
_AGAIN_S: Final = 1.0
_PATHS: Final = {pb.PATH_AUTO: "auto", pb.PATH_SWITCH: "switch", pb.PATH_ENDPOINT: "endpoint"}


class Steering:
    """Any thread may ask `of`. A controller that goes is looked for again; nothing is said of groups meanwhile.

    Raises UsageError for an address or for TLS files that are none.
    """

    def __init__(self, address: str, tls: TlsFiles | None = None) -> None:
        self._client = ControllerClient(address, tls=tls)
        self._latest: Mapping[str, tuple[Steered, ...]] = {}
        self._addresses: Mapping[str, str] = {}
        self._heard, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._listen, name="steering", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until it has answered; whether it has."""
        return self._heard.wait(seconds)

    def of(self, source: Source) -> tuple[Steered, ...] | None:
        """What it does with the groups of a switch, found by its name or its address; None where it does not say."""
        name = source.name if source.name in self._latest else self._addresses.get(_normal(source.address), "")
        return self._latest.get(name)

    def put_on_endpoints(self, group_id: int) -> str:
        """Have the controller put a group on its endpoints: what became of it. Raises what the client raises."""
        (result,) = self._client.set_offload([group_id], pb.PATH_ENDPOINT, "asked for in cais top")
        if not result.holds:
            return result.text
        return (
            f"on its endpoints from operation {result.from_operation} on; back with: cais fallback {group_id} --release"
        )

    def close(self) -> None:
        self._ended.set()
        self._client.close()
        self._thread.join(1.0)

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                for statistics in self._client.watch_statistics(_INTERVAL_MS):
                    self._take(statistics)
            except CaisError:
                pass
            self._latest = {}
            self._ended.wait(_AGAIN_S)

    def _take(self, statistics: pb.Statistics) -> None:
        groups: dict[str, list[Steered]] = {device.name: [] for device in statistics.devices}
        for group in statistics.groups:
            groups.setdefault(group.device, []).append(_steered(group))
        self._addresses = {_normal(device.address): device.name for device in statistics.devices}
        self._latest = {name: tuple(each) for name, each in groups.items()}
        self._heard.set()


def _steered(group: pb.GroupStatistics) -> Steered:
    return Steered(
        group.group_id,
        _PATHS.get(group.path, ""),
        _PATHS.get(group.wanted, ""),
        group.reason,
        group.threshold,
        group.operations_on_switch,
        group.operations_on_endpoints,
        group.fallbacks,
    )


def _normal(address: str) -> str:
    try:
        return str(parse_target(address))
    except UsageError:
        return address
