"""What the screens of one group, one port and one alarm have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from cais_tools.top.device import DeviceState
from cais_tools.top.format import curve, duration
from cais_tools.top.screen.bars import Key, key_row, mode_row
from cais_tools.top.screen.shown import Shown
from cais_tools.top.screen.styled import Lines, Part, Row

__all__ = ["COMMON_KEYS", "Detail", "curve_rows", "fact_rows"]

COMMON_KEYS: Final = (
    Key("esc", "back", "back", "app.back"),
    Key("?", "help", "help", "app.help"),
    Key("q", "quit", "quit", "app.quit"),
    Key("space", "freeze", "freeze", "app.freeze"),
    Key("y", "copy", "copy", "screen.copy"),
    Key("e", "export", "export", "screen.export"),
    Key("S", "svg", "save as SVG", "app.save_svg"),
    Key("t", "theme", "theme", "app.theme"),
)


class Detail(Shown):
    """Something of a device: a title, what there is to say of it, and whatever the screen adds."""

    KEYS: ClassVar[Sequence[Key]] = COMMON_KEYS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "app.back", "Back", show=False),
        Binding("y", "copy", "Copy", show=False),
        Binding("e", "export", "Export", show=False),
    ]

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device_name = device

    @property
    def device(self) -> DeviceState:
        return self.model.devices[self.device_name]

    def lines(self, name: str) -> Lines:
        return self.query_one(f"#{name}", Lines)

    def show(self) -> None:
        if not self.is_mounted:
            return
        width = self.size.width
        self.lines("mode").show([mode_row(self.model, self.top.mode(self.device_name), width)])
        self.show_detail(width)
        self.lines("keys").show([key_row(self.KEYS, width)])

    def show_detail(self, width: int) -> None:
        raise NotImplementedError

    def gone(self) -> list[Row]:
        """A line where what is shown is not what is."""
        device = self.device
        if device.failure is None:
            return []
        since = duration(self.top.now - device.changed)
        return [(Part(f"✖ DOWN for {since}: {device.failure.message}; this is what it said last", "bad"),)]


def fact_rows(pairs: Sequence[tuple[str, str, str]], width: int) -> list[Row]:
    """`name value` pairs in as many rows as they need; the third of each is its tone."""
    rows: list[Row] = []
    parts: list[Part] = []
    used = 0
    for name, value, tone in pairs:
        needed = len(name) + len(value) + 4
        if parts and used + needed > width:
            rows.append(tuple(parts))
            parts, used = [], 0
        parts += [Part(f"{name} ", "dim"), Part(f"{value}   ", tone)]
        used += needed
    return [*rows, tuple(parts)]


def curve_rows(
    title: str, values: Sequence[float], width: int, text: Callable[[float | None], str], height: int = 3
) -> list[Row]:
    """A title that says what the top of the curve is, and `height` lines of the curve."""
    peak = max((value for value in values if not math.isnan(value)), default=0.0)
    lines = curve(values, width, height, max(peak, 1.0))
    return [(Part(f"{title}, at most {text(peak)}", "dim"),), *((Part(line, "accent"),) for line in lines)]
