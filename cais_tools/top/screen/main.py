"""The main screen: gauges, and the panes of devices, groups, ports and alarms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input

from cais_tools.errors import UsageError
from cais_tools.top.columns import Table
from cais_tools.top.device import DeviceState
from cais_tools.top.documents import row_documents
from cais_tools.top.filters import matching, parse_filter
from cais_tools.top.rows import device_row, group_rows, port_rows
from cais_tools.top.screen.bars import KEYS, PANES, Key, key_row, mode_row, pane_row
from cais_tools.top.screen.cells import plain
from cais_tools.top.screen.gauges import gauge_rows
from cais_tools.top.screen.live_table import LiveTable
from cais_tools.top.screen.shown import Shown
from cais_tools.top.screen.styled import Lines, Part
from cais_tools.top.tables import ALARMS, DEVICES, GROUPS, PORTS, running

__all__ = ["MainScreen"]

_TABLES: dict[str, Table[Any]] = {"devices": DEVICES, "groups": GROUPS, "ports": PORTS, "alarms": ALARMS}
_EMPTY = {
    "devices": "no devices",
    "groups": "no groups: add a rule (cais add-rule)",
    "ports": "no ports: none is in a group, or has seen a frame",
    "alarms": "nothing has been wrong",
}


@dataclass
class _Filter:
    """What was typed for a pane, and the test for rows that it means; `error` where it means none: all are shown."""

    text: str = ""
    test: Callable[[Any], bool] | None = None
    error: str = ""


class MainScreen(Shown):
    KEYS: ClassVar[Sequence[Key]] = KEYS
    AUTO_FOCUS = ""  # not the first table: that of the pane, as below

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", show=False),
        Binding("escape", "clear", "Clear the filter", show=False),
        Binding("tab", "next_pane", "Next pane", show=False, priority=True),
        Binding("shift+tab", "next_pane(-1)", "Pane before", show=False, priority=True),
        *(Binding(str(number), f"pane('{pane}')", pane, show=False) for number, pane in enumerate(PANES, 1)),
        Binding("n,full_stop", "device(1)", "Next device", show=False),
        Binding("p,comma", "device(-1)", "Device before", show=False),
        Binding("y", "copy", "Copy the row", show=False),
        Binding("e", "export", "Export", show=False),
        Binding("f", "fall_back", "Back to the endpoints", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._filters = {pane: _Filter() for pane in PANES}
        self._pane = "devices"
        self._device: str | None = None
        self._titles: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Lines(id="mode")
        yield Lines(id="gauges")
        yield Lines(id="panes")
        yield self._table_widget("devices")
        with Container(id="middle"):
            yield self._table_widget("groups")
            yield self._table_widget("ports")
        yield self._table_widget("alarms")
        yield Input(id="filter", placeholder="words, or as: ops > 100 and missing ~ rank 2", compact=True)
        yield Lines(id="keys")

    def _table_widget(self, pane: str) -> LiveTable:
        return LiveTable(_TABLES[pane], id=pane, empty=_EMPTY[pane], classes="pane")

    def on_mount(self) -> None:
        self.query_one("#filter", Input).display = False
        self._device = next(iter(self._device_names()), None)
        self.top.look_at(self._device or "")
        # Whoever has one switch wants to see its groups, whoever has several which of them is in trouble.
        self.action_pane("devices" if len(self.model.devices) > 1 else "groups")
        super().on_mount()

    # -- what is shown

    @property
    def device(self) -> DeviceState | None:
        """The one whose groups and ports are shown: that at the cursor of the devices."""
        devices = self.model.devices
        if self._device not in devices:
            self._device = next(iter(devices), None)
        return None if self._device is None else devices[self._device]

    def _table(self, pane: str) -> LiveTable:
        return self.query_one(f"#{pane}", LiveTable)

    @property
    def table(self) -> LiveTable:
        """That of the active pane."""
        return self._table(self._pane)

    def show(self) -> None:
        if not self.is_mounted:
            return
        self._match_cursor()
        width, device = self.size.width, self.device
        mode = self.top.mode("" if device is None else device.name)
        self.query_one("#mode", Lines).show([mode_row(self.model, mode, width)])
        gauges = self.query_one("#gauges", Lines)
        gauges.show(gauge_rows(device, width, 8 if self.has_class("-tall") and width >= 110 else 5))
        for pane in PANES[1:]:
            table = self._table(pane)
            if table.display:
                table.show(self._rows(pane), self._why_empty(pane))
        self._show_panes()
        self.query_one("#keys", Lines).show([key_row(self._keys(), width)])

    def _match_cursor(self) -> None:
        """The device that is shown is the one at the cursor; one that the filter hides is left for that."""
        table, device = self._table("devices"), self.device
        if table.display:
            table.show(self._rows("devices"), self._why_empty("devices"))
        key = table.cursor_key
        if device is None or not isinstance(key, str) or key == device.name:
            return
        if any(row.key == device.name for row in table.rows):
            table.point_at(device.name)
        else:
            self._device = key
            self.top.look_at(key)

    def _why_empty(self, pane: str) -> str:
        device = self.device
        if self._filters[pane].test is not None:
            return "nothing matches the filter"
        if pane in ("devices", "alarms") or device is None or device.snapshot is not None:
            return _EMPTY[pane]
        return f"{device.name} has not answered {'yet' if device.is_waited_for else 'since this was started'}"

    def _keys(self) -> list[Key]:
        keys = list(KEYS)
        if self.top.remover is not None:
            keys.insert(5, Key("f", "to endpoints", "", "screen.fall_back"))
        if self.top.replay is not None:
            keys[3:3] = [Key("[ ]", "wind", "", "app.wind(10)"), Key("{ }", "speed", "", "app.speed(1)")]
        return keys

    def _show_panes(self) -> None:
        device = self.device
        snapshot = None if device is None else device.snapshot
        groups, ports = (0, 0) if snapshot is None else (len(snapshot.groups), len(snapshot.ports))
        counts = (len(self.model.devices), groups, ports, len(self.model.journal.active()))
        self.query_one("#panes", Lines).show([pane_row(self._pane, counts, self._note(), self.size.width)])
        owner = "" if device is None else f" of {device.name}"
        for number, (pane, count) in enumerate(zip(PANES, counts, strict=True), 1):
            wanted = self._filters[pane]
            title = f"{number} {pane}{owner if pane in ('groups', 'ports') else ''} · {count}"
            title += f" / {wanted.text}" if wanted.text else ""
            title += f": {wanted.error}" if wanted.error else ""
            if self._titles.get(pane) != title:
                self._titles[pane] = title
                self._table(pane).border_title = Content(plain(title))  # no markup: names may look like it

    def _note(self) -> Part:
        """The filter, or what is wrong with it; without one, what runs on the device."""
        wanted = self._filters[self._pane]
        if wanted.error:
            return Part(wanted.error, "bad")
        if wanted.text:
            return Part(f"/ {wanted.text}  ({len(self.table.rows)} left, esc clears)", "warn")
        device = self.device
        return Part("" if device is None else running(device_row(device, self.model.journal, self.top.now)), "dim")

    def _rows(self, pane: str) -> Sequence[Any]:
        device = self.device
        rows: Sequence[Any] = ()
        if pane == "devices":
            now = self.top.now
            rows = [device_row(each, self.model.journal, now) for each in self.model.devices.values()]
        elif pane == "alarms":
            rows = self.model.journal.entries
        elif device is not None:
            rows = group_rows(device) if pane == "groups" else port_rows(device)
        return matching(rows, self._filters[pane].test)

    # -- panes

    def action_pane(self, pane: str) -> None:
        self._pane = pane
        for each in PANES:
            self._table(each).set_class(each == pane, "-active")
        self._table("alarms").set_class(pane == "devices", "-beside")
        self.query_one("#middle").set_class(pane in ("groups", "ports"), "-active")
        self.set_focus(self.table)  # at once, so that the pane and the focus are never of two opinions
        self.call_after_refresh(self.show)

    def action_next_pane(self, by: int = 1) -> None:
        if self.query_one("#filter", Input).display:
            return
        self.action_pane(PANES[(PANES.index(self._pane) + by) % len(PANES)])

    @on(events.DescendantFocus)
    def _follow_focus(self, event: events.DescendantFocus) -> None:
        """A click into another pane."""
        # On a busy machine word of a focus may come when another pane has been chosen already.
        widget = event.widget
        if isinstance(widget, LiveTable) and widget is self.focused and widget.id and widget.id != self._pane:
            self.action_pane(widget.id)

    def _device_names(self) -> list[str]:
        """In the order of the table, without those that the filter hides."""
        table = self._table("devices")
        return [row.key for row in table.table.sorted(self._rows("devices"), table.sort)]

    def action_device(self, by: int) -> None:
        names = self._device_names()
        if self._device in names:
            self._choose(names[(names.index(self._device) + by) % len(names)])
        elif names:
            self._choose(names[0])

    def _choose(self, name: str) -> None:
        self._device = name
        self._table("devices").point_at(name)
        self.top.look_at(name)
        self.show()

    @on(LiveTable.Moved, "#devices")
    def _take_device(self, event: LiveTable.Moved) -> None:
        key = event.table.cursor_key
        if isinstance(key, str):
            self._choose(key)

    @on(LiveTable.Opened)
    def _open(self, event: LiveTable.Opened) -> None:
        event.stop()
        key, device = event.table.cursor_key, self.device
        if event.table.id == "devices":
            self.action_pane("groups")
        elif event.table.id == "alarms" and isinstance(key, int):
            self.top.open_alarm(key)
        elif device is not None and isinstance(key, int):
            (self.top.open_group if event.table.id == "groups" else self.top.open_port)(device.name, key)

    def action_open(self) -> None:
        self.table.action_open()

    def action_sort(self) -> None:
        self.table.action_sort_by(1)

    def action_reverse(self) -> None:
        self.table.action_reverse()

    def action_fall_back(self) -> None:
        if self._pane == "groups" and self.device is not None and isinstance(self.table.cursor_key, int):
            self.top.fall_back(self.device.name, self.table.cursor_key)
        else:
            self.notify("choose a group first (pane 2)", severity="warning")

    # -- the filter

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = self._filters[self._pane].text
        box.display = True
        box.focus()

    def action_clear(self) -> None:
        box = self.query_one("#filter", Input)
        self._take_filter("")
        if box.display:
            box.display = False
            self.table.focus()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        if event.input.display:
            self._take_filter(event.value)

    @on(Input.Submitted, "#filter")
    def _filter_done(self, event: Input.Submitted) -> None:
        event.input.display = False
        self.table.focus()

    def _take_filter(self, text: str) -> None:
        try:
            test, error = parse_filter(text, _TABLES[self._pane]), ""
        except UsageError as failure:
            test, error = None, f"{failure.message}{f' ({failure.hint})' if failure.hint else ''}"
        self._filters[self._pane] = _Filter(text.strip(), test, error)
        self.show()

    # -- copy and export

    def copied(self) -> str:
        row = self.table.cursor_row
        return "" if row is None else self.table.table.line(row)

    def exported(self) -> list[dict[str, Any]]:
        owner = self._device if self._pane in ("groups", "ports") else None
        return row_documents(self.table.table, self.table.rows, owner, self.model.time or self.top.now)
