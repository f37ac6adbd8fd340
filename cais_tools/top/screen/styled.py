"""A widget that draws lines of toned text, and only those that have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from cais_tools.top.screen.cells import TONES, plain

__all__ = ["Lines", "Part", "Row", "Toned"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a line; `action` is what a click on it does."""

    text: str
    tone: str = ""
    action: str = ""


Row = tuple[Part, ...]


class Toned(Widget):
    """Gives styles for tones; component classes `toned--TONE`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"toned--{tone}" for tone in TONES}

    DEFAULT_CSS = """
    Toned {
        & > .toned--good { color: $text-success; }
        & > .toned--warn { color: $text-warning; text-style: bold; }
        & > .toned--bad { color: $text-error; text-style: bold; }
        & > .toned--dim { color: $foreground-muted; }
        & > .toned--accent { color: $text-accent; text-style: bold; }
        &:ansi {
            & > .toned--good { color: ansi_green; }
            & > .toned--warn { color: ansi_yellow; }
            & > .toned--bad { color: ansi_red; }
            & > .toned--dim { color: ansi_default; text-style: dim; }
            & > .toned--accent { color: ansi_cyan; }
        }
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._styles_of: dict[str, Style] = {}

    def notify_style_update(self) -> None:
        self._styles_of.clear()
        super().notify_style_update()

    def style_of(self, tone: str) -> Style:
        style = self._styles_of.get(tone)
        if style is None:
            style = self.get_component_rich_style(f"toned--{tone}") if tone else self.rich_style
            self._styles_of[tone] = style
        return style


class Lines(Toned):
    """Some lines of parts. `show` them again and again; what is too wide is cut."""

    DEFAULT_CSS = """
    Lines { height: auto; width: 1fr; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._rows: list[Row] = []

    @property
    def text(self) -> str:
        return "\n".join("".join(part.text for part in row) for row in self._rows)

    def show(self, rows: Sequence[Row]) -> None:
        before, self._rows = self._rows, list(rows)
        if len(before) != len(self._rows):
            self.refresh(layout=True)
            return
        for place, (old, new) in enumerate(zip(before, self._rows, strict=True)):
            if old != new:
                self.refresh(Region(0, place, self.size.width, 1))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._rows))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        segments: list[Segment] = []
        for part in self._rows[y]:
            style = self.style_of(part.tone)
            if part.action:
                style = style + Style(meta={"@click": part.action})
            segments.append(Segment(plain(part.text), style))
        size = sum(cell_len(segment.text) for segment in segments)
        return Strip(segments, size).adjust_cell_length(width, self.rich_style)
