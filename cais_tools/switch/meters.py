"""Two-rate three-colour meters (RFC 2698, colour blind), as P4Runtime section 9.4 configures them."""

from __future__ import annotations

from dataclasses import dataclass

from cais_tools.switch.refusals import Invalid

__all__ = ["GREEN", "RED", "YELLOW", "Meter", "MeterArray", "MeterConfig"]

GREEN, YELLOW, RED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class MeterConfig:
    """Rates in units (packets or bytes) a second, bursts in units."""

    cir: int
    cburst: int
    pir: int
    pburst: int


class Meter:
    """One meter. Without a configuration every packet is green."""

    __slots__ = ("_committed", "_last_us", "_peak", "config")

    def __init__(self) -> None:
        self.config: MeterConfig | None = None
        self._committed = 0.0
        self._peak = 0.0
        self._last_us: int | None = None

    def configure(self, config: MeterConfig | None) -> None:
        """Set or (None) reset; both buckets start full."""
        self.config = config
        self._last_us = None
        if config is not None:
            self._committed = config.cburst
            self._peak = config.pburst

    def execute(self, now_us: int, units: int) -> int:
        """The colour of a packet of `units` (1, or its bytes) at `now_us`."""
        config = self.config
        if config is None:
            return GREEN
        elapsed = 0 if self._last_us is None else max(now_us - self._last_us, 0)
        self._last_us = now_us
        self._committed = min(config.cburst, self._committed + elapsed * config.cir / 1e6)
        self._peak = min(config.pburst, self._peak + elapsed * config.pir / 1e6)
        if self._peak < units:
            return RED
        self._peak -= units
        if self._committed < units:
            return YELLOW
        self._committed -= units
        return GREEN


class MeterArray:
    """An indirect meter: `size` meters that measure packets or bytes."""

    def __init__(self, name: str, size: int, *, in_bytes: bool) -> None:
        self.name = name
        self.size = size
        self.in_bytes = in_bytes
        self.cells = [Meter() for _ in range(size)]

    def __len__(self) -> int:
        return self.size

    def read(self, index: int) -> MeterConfig | None:
        """None: not configured. Raises Invalid where the index is out of range."""
        return self._cell(index).config

    def write(self, index: int, config: MeterConfig | None) -> None:
        """None resets the meter."""
        self._cell(index).configure(config)

    def _cell(self, index: int) -> Meter:
        if not 0 <= index < self.size:
            raise Invalid(f"meter {self.name} has no index {index}", hint=f"its size is {self.size}")
        return self.cells[index]
