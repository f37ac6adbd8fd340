"""A table of many rows that change all the time: it draws the rows in sight, and of these the cells that changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cais_tools.top.columns import Cell, Placed, Sort, Table, fitting
from cais_tools.top.screen.cells import fit
from cais_tools.top.screen.styled import Toned

__all__ = ["LiveTable"]

_MARK = 1  # the column of the cursor's mark
_LONGEST_NAME = 21  # an IPv4 address and a port


@dataclass(frozen=True, slots=True)
class _Line:
    """A row as it was drawn."""

    key: Hashable
    cells: tuple[Cell, ...]
    is_cursor: bool


class LiveTable(Toned, ScrollView, can_focus=True):
    """Shows rows in the order of `sort`. Columns are dropped where there is no room, the least important first.

    The cursor stays with its row, wherever that is sorted to. Clicks move it, a click on the row where it is opens that
    row, and one on a title sorts.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"live--header", "live--sorted", "live--cursor", "live--empty"}

    DEFAULT_CSS = """
    LiveTable {
        height: 1fr;
        width: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        & > .live--header { color: $foreground-muted; text-style: bold; }
        & > .live--sorted { color: $text-accent; text-style: bold; }
        & > .live--empty { color: $foreground-muted; }
        & > .live--cursor { background: $surface-lighten-2; }
        &:focus > .live--cursor {
            background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold;
        }
        &:ansi {
            & > .live--header { color: ansi_default; text-style: bold; }
            & > .live--sorted { color: ansi_cyan; text-style: bold; }
            & > .live--cursor { background: ansi_default; }
            &:focus > .live--cursor { background: ansi_default; color: ansi_default; text-style: reverse; }
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "jump(0)", "First", show=False),
        Binding("end,G", "jump(-1)", "Last", show=False),
        Binding("left", "sort_by(-1)", "Sort by the column before", show=False),
        Binding("right,s", "sort_by(1)", "Sort by the next column", show=False),
        Binding("r", "reverse", "Reverse the order", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row, for somebody moved it."""

        def __init__(self, table: LiveTable) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> LiveTable:
            return self.table

    class Opened(Moved):
        """Somebody wants to see more of the row at the cursor."""

    class Sorted(Moved):
        """Another order is wanted."""

    def __init__(self, table: Table[Any], *, id: str | None = None, empty: str = "", classes: str = "") -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.table = table
        self.sort = table.sort
        self.empty = empty
        self._given: Sequence[Any] = ()
        self._rows: list[Any] = []
        self._shown = table.shown(())
        self._longest = 0
        self._columns: list[Placed] = []
        self._drawn: dict[int, _Line] = {}
        self._cursor = 0

    # -- what is shown

    def show(self, rows: Sequence[Any], empty: str | None = None) -> None:
        """Show these rows, in the order of `sort`; the cursor stays with its row. `empty` is why there are none."""
        if empty is not None and empty != self.empty:
            self.empty = empty
            self.refresh()
        key = self.cursor_key
        self._given = rows
        self._rows = self.table.sorted(rows, self.sort)
        self._cursor = self._place_of(key)
        shown, longest = self.table.shown(rows), self._longest_name()
        if (shown, longest) != (self._shown, self._longest):
            self._shown, self._longest = shown, longest
            self._lay_out()
        size = self._whole()
        if size.height != self.virtual_size.height:
            self.virtual_size = size
            self._drawn.clear()
            height = self.styles.height
            self.refresh(layout=height is not None and height.is_auto)
            return
        self._refresh_changed()

    def _place_of(self, key: Hashable) -> int:
        for place, row in enumerate(self._rows):
            if row.key == key:
                return place
        return max(0, min(self._cursor, len(self._rows) - 1))

    @property
    def rows(self) -> Sequence[Any]:
        """As they are shown."""
        return self._rows

    @property
    def cursor_row(self) -> Any | None:
        return self._rows[self._cursor] if self._cursor < len(self._rows) else None

    @property
    def cursor_key(self) -> Hashable:
        row = self.cursor_row
        return None if row is None else row.key

    def point_at(self, key: Hashable) -> None:
        """Put the cursor on the row with this key."""
        self._cursor = self._place_of(key)
        self._show_cursor()
        self._refresh_changed()

    def _top(self) -> int:
        return round(self.scroll_y)

    def _line(self, place: int) -> _Line:
        row = self._rows[place]
        return _Line(row.key, tuple(placed.column.cell(row) for placed in self._columns), place == self._cursor)

    def _refresh_changed(self) -> None:
        """Draw the cells in sight that are not as they were drawn."""
        top = self._top()
        for y in range(1, self.size.height):
            place = top + y - 1
            if place >= len(self._rows):
                break
            before, now = self._drawn.get(y), self._line(place)
            if now == before:
                continue
            self._drawn[y] = now
            if before is None or (before.key, before.is_cursor) != (now.key, now.is_cursor):
                self.refresh(Region(0, y, self.size.width, 1))
            else:
                self._refresh_cells(y, before, now)

    def _refresh_cells(self, y: int, before: _Line, now: _Line) -> None:
        for (_, left, width), old, new in zip(self._columns, before.cells, now.cells, strict=False):
            if old != new:
                self.refresh(Region(_MARK + left, y, width, 1))

    # -- drawing

    def on_resize(self) -> None:
        self._lay_out()

    def watch_show_vertical_scrollbar(self) -> None:
        self._lay_out()

    def _width(self) -> int:
        """Without the scrollbar."""
        return self.scrollable_content_region.width

    def _whole(self) -> Size:
        """The titles and all rows, or a line that says that there are none."""
        return Size(self._width(), 1 + max(1, len(self._rows)))

    def _longest_name(self) -> int:
        """In the first column, where that is one of names."""
        first = self.table.columns[0]
        return max((cell_len(first.text(row)) for row in self._rows), default=0) if first.flexible else 0

    def _lay_out(self) -> None:
        first, *others = self._shown
        # Addresses cut short look all the same; but a quarter of the width is enough for names.
        width = max(first.width, min(self._longest, _LONGEST_NAME, self._width() // 4))
        self._columns = fitting([replace(first, width=width), *others], self._width() - _MARK)
        self._drawn.clear()
        self.virtual_size = self._whole()
        self.refresh()

    def notify_style_update(self) -> None:
        self._drawn.clear()
        super().notify_style_update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._drawn.clear()

    def render_line(self, y: int) -> Strip:
        width = self._width()
        if y == 0:
            return self._header().adjust_cell_length(width, self.rich_style)
        place = self._top() + y - 1
        if place < len(self._rows):
            line = self._line(place)
            self._drawn[y] = line
            return self._strip(line)
        if not self._rows and y == 1:
            style = self.get_component_rich_style("live--empty")
            return Strip([Segment(fit(f" {self.empty}", width), style)], width)
        return Strip.blank(width, self.rich_style)

    def _header(self) -> Strip:
        plain, chosen = self.get_component_rich_style("live--header"), self.get_component_rich_style("live--sorted")
        segments = [Segment(" " * _MARK, plain)]
        end = 0
        for column, left, width in self._columns:
            is_sorted = column.key == self.sort.key
            title = column.title
            if is_sorted:
                title = f"{title[: width - 1]}{'▼' if self.sort.reverse else '▲'}"
            segments.append(Segment(" " * (left - end), plain))
            segments.append(Segment(fit(title, width, left=column.left), chosen if is_sorted else plain))
            end = left + width
        return Strip(segments)

    def _strip(self, line: _Line) -> Strip:
        base = self.rich_style
        over = self.get_component_rich_style("live--cursor") if line.is_cursor else None
        segments = [Segment("▸" if line.is_cursor else " ", over or base)]
        end = 0
        for (column, left, width), (text, tone) in zip(self._columns, line.cells, strict=False):
            segments.append(Segment(" " * (left - end), over or base))
            segments.append(Segment(fit(text, width, left=column.left), self._cell_style(tone, over)))
            end = left + width
        return Strip(segments).adjust_cell_length(self._width(), over or base)

    def _cell_style(self, tone: str, over: Style | None) -> Style:
        if over is None:
            return self.style_of(tone)
        if not self.has_focus:
            return self.style_of(tone) + Style(bgcolor=over.bgcolor)
        # The cursor's own colours are sure to be readable; of a tone, only what is bold remains.
        return over + Style(bold=True) if tone in ("warn", "bad") else over

    def on_focus(self) -> None:
        self._drawn.clear()
        self.refresh()

    def on_blur(self) -> None:
        self._drawn.clear()
        self.refresh()

    # -- what users do

    def _go_to(self, place: int) -> None:
        place = max(0, min(place, len(self._rows) - 1))
        if place == self._cursor or not self._rows:
            return
        self._cursor = place
        self._show_cursor()
        self._refresh_changed()
        self.post_message(self.Moved(self))

    def _show_cursor(self) -> None:
        top, room = self._top(), max(1, self.size.height - 1)
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False, immediate=True)
        elif self._cursor >= top + room:
            self.scroll_to(y=self._cursor - room + 1, animate=False, immediate=True)

    def action_move(self, by: int) -> None:
        self._go_to(self._cursor + by)

    def action_page(self, by: int) -> None:
        self._go_to(self._cursor + by * max(1, self.size.height - 2))

    def action_jump(self, place: int) -> None:
        self._go_to(place if place >= 0 else len(self._rows) - 1)

    def action_open(self) -> None:
        if self._rows:
            self.post_message(self.Opened(self))

    def action_sort_by(self, by: int) -> None:
        keys = [placed.column.key for placed in self._columns]
        place = keys.index(self.sort.key) if self.sort.key in keys else -by
        self.sort_by(keys[(place + by) % len(keys)])

    def action_reverse(self) -> None:
        self._take_order(Sort(self.sort.key, not self.sort.reverse))

    def sort_by(self, key: str) -> None:
        """By this column: numbers with the highest first, names with the first first."""
        if self.sort.key == key:
            self.action_reverse()
            return
        self._take_order(Sort(key, reverse=not self.table.by_key[key].left))

    def _take_order(self, sort: Sort) -> None:
        self.sort = sort
        self._drawn.clear()
        self.show(self._given)
        self._show_cursor()
        self.refresh()
        self.post_message(self.Sorted(self))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y == 0:
            self._click_title(offset.x)
            return
        place = self._top() + offset.y - 1
        if place >= len(self._rows):
            return
        if place == self._cursor:
            self.post_message(self.Opened(self))
        else:
            self._go_to(place)

    def _click_title(self, x: int) -> None:
        for column, left, width in self._columns:
            if x - _MARK <= left + width:
                self.sort_by(column.key)
                return
