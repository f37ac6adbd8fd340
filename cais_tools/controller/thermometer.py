"""How hot a switch is, asked once a second beside everything else: a switch without gNMI may take long to say so."""

from __future__ import annotations

import logging
import threading
from typing import Final

from cais_tools.config import Device, parse_target
from cais_tools.session import SessionOptions
from cais_tools.session.temperature import Temperatures

__all__ = ["HOT_C", "Thermometer"]

log = logging.getLogger(__name__)

HOT_C: Final = 85.0
_COOL_C: Final = 80.0
_EVERY_S: Final = 1.0


class Thermometer:
    """Runs a thread from `start` to `close`. `celsius` is the hottest component's; None where the switch tells none."""

    def __init__(self, device: Device, options: SessionOptions) -> None:
        self.celsius: float | None = None
        self._name = device.name
        self._is_hot = False
        self._temperatures = Temperatures(parse_target(device.address), options.tls)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"temperature-{device.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._temperatures.close()
        self._thread.join(2.0)

    def _watch(self) -> None:
        while not self._ended.is_set():
            hottest = self._temperatures.hottest()
            self.celsius = None if hottest is None else hottest.celsius
            if hottest is not None:
                self._tell(hottest.component, hottest.celsius)
            self._ended.wait(_EVERY_S)

    def _tell(self, component: str, celsius: float) -> None:
        if not self._is_hot and celsius > HOT_C:
            self._is_hot = True
            log.warning(
                "device %s is hot: %s has %.0f degrees C (playbooks/temperature.md)", self._name, component, celsius
            )
        elif self._is_hot and celsius <= _COOL_C:
            self._is_hot = False
            log.info("device %s has cooled down to %.0f C", self._name, celsius)
