"""All switches and the alarm log: what the screen, the text and the JSON show. Sans I/O."""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.session.cais import Thresholds
from cais_tools.top.device import DeviceState
from cais_tools.top.journal import Journal
from cais_tools.top.observation import Observation, Source
from cais_tools.top.severity import Severity

__all__ = ["Model"]


class Model:
    """Takes observations in. Not thread-safe: whoever has it feeds it."""

    def __init__(self, sources: Sequence[Source], thresholds: Thresholds | None = None) -> None:
        self._sources, self._thresholds = tuple(sources), thresholds
        self.devices = {source.name: DeviceState(source, thresholds) for source in sources}
        self.journal = Journal()
        self.time = 0.0

    def take(self, seen: Observation) -> None:
        device = self.devices.get(seen.device)
        if device is None:
            return
        self.time = max(self.time, seen.time)
        taken = device.take(seen)
        for finding in taken.events:
            self.journal.event(seen.device, finding, seen.time)
        self.journal.now(seen.device, taken.findings, seen.time)

    @property
    def severity(self) -> Severity:
        """Of the worst that holds now."""
        return max((entry.finding.severity for entry in self.journal.active()), default=Severity.INFO)

    def zero(self) -> None:
        """All counters count from here on."""
        for device in self.devices.values():
            device.zero()

    def show_totals(self) -> None:
        for device in self.devices.values():
            device.baseline = None

    @property
    def is_zeroed(self) -> bool:
        return any(device.baseline is not None for device in self.devices.values())

    def emptied(self) -> Model:
        """A model of the same switches that has heard nothing yet."""
        return Model(self._sources, self._thresholds)

    def frozen(self) -> Model:
        """A copy that later observations do not change."""
        other = self.emptied()
        other.devices = {name: device.frozen() for name, device in self.devices.items()}
        other.journal, other.time = self.journal.copy(), self.time
        return other
