"""Three-colour meters with two rates (RFC 2698) or one (RFC 2697), colour blind, as P4Runtime section 9.4 has them."""

from __future__ import annotations

from dataclasses import dataclass

from cais_tools.switch.refusals import Invalid
from cais_tools.switch.state import CounterValue

__all__ = ["GREEN", "RED", "YELLOW", "Meter", "MeterArray", "MeterConfig"]

GREEN, YELLOW, RED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class MeterConfig:
    """Rates in units (packets or bytes) a second, bursts in units.

    With `single_rate` what the committed burst cannot hold fills the excess burst, and `pir` and `pburst` do not count.
    """

    cir: int
    cburst: int
    pir: int
    pburst: int
    eburst: int = 0
    single_rate: bool = False


class Meter:
    """One meter, and what it has counted of each colour. Without a configuration every packet is green."""

    __slots__ = ("_committed", "_counts", "_last_us", "_peak", "config")

    def __init__(self) -> None:
        self.config: MeterConfig | None = None
        self._committed = 0.0
        self._peak = 0.0  # with a single rate: the excess burst
        self._last_us: int | None = None
        self._counts: list[int] | None = None  # packets and bytes of each colour, once there were any

    @property
    def colours(self) -> tuple[CounterValue, CounterValue, CounterValue]:
        """What was green, yellow and red."""
        green, green_bytes, yellow, yellow_bytes, red, red_bytes = self._counts or (0,) * 6
        return CounterValue(green, green_bytes), CounterValue(yellow, yellow_bytes), CounterValue(red, red_bytes)

    def set_colours(self, values: tuple[CounterValue, CounterValue, CounterValue] | None) -> None:
        """Back to what `colours` was, or (None) to zeros."""
        self._counts = None if values is None else [number for value in values for number in value]

    def configure(self, config: MeterConfig | None) -> None:
        """Set or (None) reset; both buckets start full."""
        self.config = config
        self._last_us = None
        if config is not None:
            self._committed = config.cburst
            self._peak = config.eburst if config.single_rate else config.pburst

    def execute(self, now_us: int, units: int, size: int = 0) -> int:
        """The colour of a packet of `units` (1, or its bytes) at `now_us`; `size` is what is counted as its bytes."""
        config = self.config
        if config is None:
            colour = GREEN
        elif config.single_rate:
            colour = self._single_rate(config, now_us, units)
        else:
            colour = self._two_rates(config, now_us, units)
        counts = self._counts
        if counts is None:
            counts = self._counts = [0] * 6
        counts[2 * colour] += 1
        counts[2 * colour + 1] += size
        return colour

    def _single_rate(self, config: MeterConfig, now_us: int, units: int) -> int:
        elapsed = 0 if self._last_us is None else max(now_us - self._last_us, 0)
        self._last_us = now_us
        tokens = self._committed + elapsed * config.cir / 1e6
        self._committed = min(config.cburst, tokens)
        self._peak = min(config.eburst, self._peak + tokens - self._committed)
        if self._committed >= units:
            self._committed -= units
            return GREEN
        if self._peak >= units:
            self._peak -= units
            return YELLOW
        return RED

    def _two_rates(self, config: MeterConfig, now_us: int, units: int) -> int:
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
        return self.cell(index).config

    def write(self, index: int, config: MeterConfig | None) -> None:
        """None resets the meter."""
        self.cell(index).configure(config)

    def cell(self, index: int) -> Meter:
        """Raises Invalid where the index is out of range."""
        if not 0 <= index < self.size:
            raise Invalid(f"meter {self.name} has no index {index}", hint=f"its size is {self.size}")
        return self.cells[index]
