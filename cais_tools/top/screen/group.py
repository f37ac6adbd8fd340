"""The screen of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from cais_tools.session.cais import OUTCOMES
from cais_tools.top.columns import Tone
from cais_tools.top.documents import row_documents
from cais_tools.top.format import MISSING, count, duration, latency, rate
from cais_tools.top.heat import LEGEND, heat_map
from cais_tools.top.observation import Steered
from cais_tools.top.rows import GroupRow, group_rows, rule_rows
from cais_tools.top.screen.bars import Key
from cais_tools.top.screen.detail import COMMON_KEYS, Detail, curve_rows, fact_rows
from cais_tools.top.screen.live_table import LiveTable
from cais_tools.top.screen.styled import Lines, Part, Row
from cais_tools.top.stragglers import rank_rows
from cais_tools.top.tables import RANKS, RULES

__all__ = ["GroupScreen"]

_HEAT: Final = "·░▒▓█#"
_HEAT_TONES: Final = ("dim", "good", "good", "warn", "warn", "bad")
_WIDE: Final = 12


class GroupScreen(Detail):
    """A group: its counters, its slots as a heat map, its ranks with the stragglers first, its rules."""

    KEYS: ClassVar[Sequence[Key]] = (
        COMMON_KEYS[0],
        Key("tab", "ranks, rules", "the other table", "app.focus_next"),
        *COMMON_KEYS[1:],
    )

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f", "fall_back", "Back to the endpoints", show=False)]

    def __init__(self, device: str, group: int) -> None:
        super().__init__(device)
        self.group = group

    def compose(self) -> ComposeResult:
        yield Lines(id="mode")
        yield Lines(id="facts")
        with Container(id="pictures"):
            yield Lines(id="curve")
            yield Lines(id="heat")
        with Container(id="lists"):
            yield LiveTable(RANKS, id="ranks", empty="no ranks", classes="pane")
            yield LiveTable(RULES, id="rules", empty="no rules, or not read yet", classes="pane")
        yield Lines(id="keys")

    def on_mount(self) -> None:
        ranks = self.query_one("#ranks", LiveTable)
        ranks.border_title, self.query_one("#rules", LiveTable).border_title = "ranks, stragglers first", "rules"
        ranks.focus()
        super().on_mount()

    def _row(self) -> GroupRow | None:
        return next((row for row in group_rows(self.device) if row.group == self.group), None)

    def show_detail(self, width: int) -> None:
        row = self._row()
        if row is None:
            self.lines("facts").show([(Part(f"group {self.group} is not on {self.device_name} any more", "warn"),)])
            return
        self.lines("facts").show([*self._facts(row, width), *self.gone()])
        half = self.lines("curve").size.width or width
        values = self.device.curves.groups
        history = values[self.group].last(half) if self.group in values else ()
        self.lines("curve").show(curve_rows("operations a second", history, half, rate))
        self.lines("heat").show(self._heat(row, self.lines("heat").size.width or width))
        self.query_one("#ranks", LiveTable).show(rank_rows(self.device, self.group))
        self.query_one("#rules", LiveTable).show(rule_rows(self.device, self.group))

    def _facts(self, row: GroupRow, width: int) -> list[Row]:
        packets = row.outcomes
        pairs = [
            ("group", f"{row.group} of {self.device_name}", "accent"),
            ("ranks", str(len(row.members)), ""),
            ("open", f"{row.slots_open}/{row.slots}", "warn" if row.slots_open > row.slots * 0.8 else ""),
            ("ops/s", rate(row.ops), "accent"),
            ("oldest", f"{latency(row.oldest_us)} {row.missing}".strip(), "warn" if row.missing else ""),
        ]
        if row.steered is not None:
            pairs += _steering(row.steered)
        bad = ("stale", "diverged", "unknown_op", "no_member", "no_rule", "reopened")
        pairs += [
            (name, count(packets[name], _WIDE), "warn" if name in bad and packets[name] else "") for name in OUTCOMES
        ]
        return fact_rows(pairs, width)

    def _heat(self, row: GroupRow, width: int) -> list[Row]:
        slots = self.device.slots
        if slots.hidden is not None:
            return [(Part("slots: ", "dim"), Part(slots.hidden, "warn"))]
        if slots.found is None:
            return [(Part("slots: not looked at yet", "dim"),)]
        mine = [slot for slot in slots.found if slot.group_id == self.group]
        tall = self.has_class("-tall")
        found = heat_map(row.slots, mine, width, 8 if tall else 2)
        each = "a slot each" if found.per_cell == 1 else f"{found.per_cell} slots each"
        age = duration(max(0.0, self.top.now - slots.time))
        rows: list[Row] = [(Part(f"{row.slots} slots, {each}: {found.open} open {age} ago", "dim"),)]
        rows += [tuple(Part(_HEAT[level], _HEAT_TONES[level]) for level in line) for line in found.rows]
        legend = [Part(f"{_HEAT[level]} {text}  ", _HEAT_TONES[level]) for level, text in enumerate(LEGEND)]
        return [*rows, tuple(legend)]

    def action_fall_back(self) -> None:
        self.top.fall_back(self.device_name, self.group)

    def copied(self) -> str:
        focused = self.focused
        if isinstance(focused, LiveTable) and focused.cursor_row is not None:
            return focused.table.line(focused.cursor_row)
        return ""

    def exported(self) -> list[dict[str, Any]]:
        rows = rank_rows(self.device, self.group)
        return [{**each, "group": self.group} for each in row_documents(RANKS, rows, self.device_name, self.model.time)]


def _steering(steered: Steered) -> list[tuple[str, str, Tone]]:
    """What the controller does with the group, and why."""
    asked = "" if steered.wanted == "auto" else f" (asked for: {steered.wanted})"
    return [
        ("path", f"{steered.path}{asked}", "warn" if steered.path == "endpoint" else "good"),
        ("because", steered.reason or MISSING, ""),
        ("threshold", f"{steered.threshold:.2f}", ""),
        ("on the switch", count(steered.on_switch, _WIDE), ""),
        ("on endpoints", count(steered.on_endpoints, _WIDE), ""),
        ("fallbacks", count(steered.fallbacks, _WIDE), "warn" if steered.fallbacks else ""),
    ]
