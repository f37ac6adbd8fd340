"""The gauges of a switch, each with its curve: side by side where there is room, else one a line. Sans Textual."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cais_tools.top.device import DeviceState
from cais_tools.top.format import bar, curve, latency, percent, rate
from cais_tools.top.screen.cells import fit
from cais_tools.top.screen.styled import Part, Row

__all__ = ["PANEL_WIDTH", "gauge_rows"]

PANEL_WIDTH: Final = 20
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class _Gauge:
    """`floor` is the least that the full height stands for; over `limit` it is a warning."""

    curve: str
    title: str
    short: str
    text: Callable[[float | None], str]
    floor: float
    limit: float | None = None


_GAUGES: Final = (
    _Gauge("sram", "SRAM usage", "SRAM", percent, 0.05, 0.80),
    _Gauge("ops", "Reduce ops/s", "ops/s", rate, 1.0),
    _Gauge("delay", "Queue delay", "delay", latency, 1.0, 50.0),
    _Gauge("p99", "Delay p99", "p99", latency, 1.0),
    _Gauge("fallback", "Fallback ratio", "fallback", percent, 0.05, 0.10),
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A gauge's value now; its curve, and what the top of that is."""

    gauge: _Gauge
    value: float | None
    values: Sequence[float]
    top: float

    @property
    def tone(self) -> str:
        over = self.gauge.limit is not None and self.value is not None and self.value > self.gauge.limit
        return "warn" if over else "accent"


def _read(device: DeviceState | None, gauge: _Gauge, count: int) -> _Reading:
    values = () if device is None else device.curves.device[gauge.curve].last(max(1, count))
    now = values[-1] if values else math.nan
    peak = max((value for value in values if not math.isnan(value)), default=0.0)
    return _Reading(gauge, None if math.isnan(now) else now, values[-count:] if count else (), max(peak, gauge.floor))


def gauge_rows(device: DeviceState | None, width: int, height: int) -> list[Row]:
    """Exactly `height` rows."""
    panel = (width - _GAP * (len(_GAUGES) - 1)) // len(_GAUGES)
    if height >= 5 and panel >= PANEL_WIDTH:
        return _side_by_side(device, panel, height)
    return [_one_line(_read(device, gauge, width), width) for gauge in _GAUGES[:height]]


def _one_line(reading: _Reading, width: int) -> Row:
    """Title, value, bar, curve, and what the curve's top is."""
    gauge = reading.gauge
    title = fit(gauge.title if width >= 60 else gauge.short, 15 if width >= 60 else 9)
    value = fit(gauge.text(reading.value), 9, left=False)
    full = bar(_share(reading), 10) + " " if width >= 70 else ""
    top = fit(f" max {gauge.text(reading.top)}", 13) if width >= 50 else ""
    room = max(0, width - len(title) - len(value) - 1 - len(full) - len(top))
    line = curve(reading.values, room, 1, reading.top)[0]
    return (
        Part(title),
        Part(f"{value} ", reading.tone),
        Part(full, reading.tone if reading.tone == "warn" else "good"),
        Part(line, "accent"),
        Part(top, "dim"),
    )


def _share(reading: _Reading) -> float | None:
    """Of the whole where there is one, else of the highest in sight."""
    if reading.value is None:
        return None
    return reading.value if reading.gauge.text is percent else reading.value / reading.top


def _side_by_side(device: DeviceState | None, panel: int, height: int) -> list[Row]:
    panels = [_panel(_read(device, gauge, panel), panel, height) for gauge in _GAUGES]
    gap = Part(" " * _GAP)
    rows: list[Row] = []
    for y in range(height):
        parts: list[Part] = []
        for each in panels:
            parts += [*each[y], gap]
        rows.append(tuple(parts[:-1]))
    return rows


def _panel(reading: _Reading, width: int, height: int) -> list[Row]:
    gauge = reading.gauge
    value = gauge.text(reading.value)
    title = Part(fit(gauge.title if width >= len(gauge.title) + len(value) + 1 else gauge.short, width - len(value)))
    tone = reading.tone if reading.tone == "warn" else "good"
    rows: list[Row] = [(title, Part(value, reading.tone)), (Part(bar(_share(reading), width), tone),)]
    rows += [(Part(line, "accent"),) for line in curve(reading.values, width, height - 3, reading.top)]
    return [*rows, (Part(fit(f"max {gauge.text(reading.top)}", width, left=False), "dim"),)]
