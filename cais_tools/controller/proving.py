"""Lets switches prove themselves to the groups that have left them: a test vector, reduced under a new epoch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from cais_tools.controller.devices import ManagedDevice
from cais_tools.controller.installing import Installer
from cais_tools.controller.live import FIRST_PROOF_S, Doubt
from cais_tools.controller.record import GroupRecord
from cais_tools.controller.registry import Registry

__all__ = ["Prover"]

_PATIENCE_S: Final = 30.0
"""A proof that nobody has answered for so long is asked for anew: a group without operations cannot answer."""


class Prover:
    """`due` says what is to be done now, `prove` does it: in any thread, for it speaks to the switch."""

    def __init__(self, registry: Registry, installer: Installer, devices: Mapping[str, ManagedDevice]) -> None:
        self._registry, self._installer, self._devices = registry, installer, devices

    def due(self) -> list[tuple[int, Doubt]]:
        """The groups that are to be tested now; each is named once."""
        now, due = time.monotonic(), list[tuple[int, Doubt]]()
        with self._registry.lock:
            for key, live in self._registry.live.items():
                doubt = live.doubt
                if doubt is None or live.leader is None or not self._is_usable(self._registry.groups[key]):
                    continue
                if doubt.running and now >= doubt.due + _PATIENCE_S:
                    doubt.request, doubt.running = 0, False
                if now >= doubt.due and not doubt.running:
                    doubt.running = True
                    due.append((key, doubt))
        return due

    def _is_usable(self, group: GroupRecord) -> bool:
        """Whether the switch answers, and has for a second."""
        device = self._devices.get(group.device)
        if device is None or not device.view.is_reachable or group.device in self._registry.drained:
            return False
        return time.monotonic() >= device.view.since + FIRST_PROOF_S

    def prove(self, group_id: int, doubt: Doubt) -> None:
        """Give the group a new epoch, or install it, and ask its leader to test the switch under it."""
        group = self._registry.groups.get(group_id)
        if group is None:
            return
        epoch = self._installer.new_epoch(group) if group.epoch else self._installer.install_late(group)
        with self._registry.lock:
            live = self._registry.live.get(group_id)
            if live is None or live.doubt is not doubt:
                return
            if not epoch or live.leader is None:
                doubt.failed()
            else:
                doubt.due = time.monotonic()
                doubt.request = live.leader.prove(epoch)
