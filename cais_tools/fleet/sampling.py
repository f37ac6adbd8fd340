"""Readings of several switches at once, round after round. A switch that hangs holds up nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from cais_tools.config import Device
from cais_tools.errors import CaisError, DeadlineExceeded
from cais_tools.fleet.outcome import Outcome
from cais_tools.fleet.run import options_for
from cais_tools.session import SessionOptions, connect
from cais_tools.session.cais.alarms import Thresholds
from cais_tools.session.cais.sampler import Reading, Sampler

__all__ = ["FleetSampler", "Sample", "port_labels"]

_FAREWELL_S = 1.0


def port_labels(device: Device) -> dict[int, str]:
    """What the file calls the ports of a device, by the switch's number; a word before a front-panel number."""
    labels: dict[int, str] = {}
    for name, port in device.ports.items():
        if name.isdigit():
            labels.setdefault(port, f"front panel {name}")
        elif labels.get(port, "front panel").startswith("front panel"):
            labels[port] = name
    return labels


@dataclass(frozen=True)
class Sample:
    """What a round brought from one switch: a reading or an error. `seconds` is how long it took."""

    device: Device
    reading: Reading | None
    error: CaisError | None
    seconds: float

    @property
    def outcome(self) -> Outcome[Reading]:
        return Outcome(self.device, self.reading, self.error)


class FleetSampler:
    """Takes a reading from every switch in each round, in parallel."""

    def __init__(
        self, devices: Sequence[Device], options: SessionOptions, thresholds: Thresholds | None = None
    ) -> None:
        """`options` hold for every device, where its own entry in the file says nothing else (`options_for`)."""
        self._watched = [_Watched(device, options, thresholds) for device in devices]

    def take(self, patience: float) -> list[Sample]:
        """One sample for each device, in order, after `patience` seconds at the most.

        Whoever has not answered by then is a DeadlineExceeded; its answer counts for the next round.
        """
        end = time.monotonic() + patience
        for each in self._watched:
            each.begin()
        return [each.wait(end) for each in self._watched]

    def close(self) -> None:
        """End all sessions; what is under way fails."""
        for each in self._watched:
            each.close()
        end = time.monotonic() + _FAREWELL_S
        for each in self._watched:
            each.join(end)


class _Watched:
    def __init__(self, device: Device, options: SessionOptions, thresholds: Thresholds | None) -> None:
        self._device = device
        self._sampler = Sampler(lambda: connect(device.address, options_for(device, options)), thresholds)
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self._sample: Sample | None = None

    def begin(self) -> None:
        if self._thread is None:
            self._began = time.monotonic()
            # A daemon: a switch that never answers must not keep the process from ending.
            self._thread = threading.Thread(target=self._take, name=f"sample {self._device.name}", daemon=True)
            self._thread.start()

    def _take(self) -> None:
        reading: Reading | None = None
        error: CaisError | None = None
        try:
            reading = self._sampler.take()
        except CaisError as failure:
            error = failure
        except Exception as failure:
            self._sampler.close()
            error = CaisError(f"unexpected {type(failure).__name__}: {failure}")
        self._sample = Sample(self._device, reading, error, time.monotonic() - self._began)

    def wait(self, end: float) -> Sample:
        self.join(end)
        seconds = time.monotonic() - self._began
        if self._thread is not None or self._sample is None:
            late = DeadlineExceeded(f"{self._device.name} has not answered for {seconds:.1f} s")
            return Sample(self._device, None, late, seconds)
        return self._sample

    def join(self, end: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, end - time.monotonic()))
            if not self._thread.is_alive():
                self._thread = None

    def close(self) -> None:
        self._sampler.close()
