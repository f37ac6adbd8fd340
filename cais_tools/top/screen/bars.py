"""The lines around the tables: what is shown, the panes, the keys. Sans Textual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from cais_tools.top.format import clock, duration
from cais_tools.top.model import Model
from cais_tools.top.screen.cells import fit
from cais_tools.top.screen.styled import Part, Row
from cais_tools.top.severity import Severity

__all__ = ["KEYS", "PANES", "Key", "Mode", "alarm_part", "key_row", "mode_row", "pane_row"]

PANES = ("devices", "groups", "ports", "alarms")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the bar and of the help: what it is called, what it does, and the action of a click."""

    key: str
    short: str
    does: str
    action: str = ""


KEYS = (
    Key("?", "help", "help", "app.help"),
    Key("q", "quit", "quit (ctrl-c, too)", "app.quit"),
    Key("/", "filter", "filter the pane by words or an expression", "screen.filter"),
    Key("space", "freeze", "freeze what is shown, and go on again", "app.freeze"),
    Key("enter", "detail", "open the row: device, group, port, alarm", "screen.open"),
    Key("s", "sort", "sort by the next column (arrows left, right; click a title)", "screen.sort"),
    Key("r", "reverse", "reverse the order", "screen.reverse"),
    Key("z", "zero", "count from here on; Z shows totals again", "app.zero"),
    Key("t", "theme", "another theme, light or dark", "app.theme"),
    Key("y", "copy", "copy the row to the clipboard (OSC 52)", "screen.copy"),
    Key("e", "export", "export the pane as NDJSON", "screen.export"),
    Key("S", "svg", "save the screen as SVG", "app.save_svg"),
    Key("+ -", "interval", "look more or less often", "app.interval(1)"),
    Key("n p", "device", "the next device, the one before", "screen.device(1)"),
    Key("1-4 tab", "pane", "devices, groups, ports, alarms", "screen.next_pane"),
)
"""The most wanted first: what has no room is left out."""


@dataclass(frozen=True, slots=True)
class Mode:
    """How it is shown. `replay` is position, length, speed and whether it is at the end."""

    device: str
    interval: float
    now: float
    frozen_since: float | None = None
    replay: tuple[float, float, float, bool] | None = None
    zeroed: bool = False
    write: bool = False
    recording: bool = False


def alarm_part(model: Model) -> Part:
    """How many alarms there are, in words and glyphs."""
    active = model.journal.active()
    critical = sum(entry.finding.severity is Severity.CRITICAL for entry in active)
    if not active:
        return Part("no alarms", "good")
    others = len(active) - critical
    words = [f"✖ {critical} critical"] if critical else []
    words += [f"▲ {others} warning{'s' if others > 1 else ''}"] if others else []
    return Part(" ".join(words), "bad" if critical else "warn")


def mode_row(model: Model, mode: Mode, width: int) -> Row:
    """What must not be missed comes first, and is the last to be left out."""
    parts = [Part("cais top", "accent"), alarm_part(model)]
    if mode.frozen_since is not None:
        parts.insert(1, Part(f"FROZEN at {clock(mode.frozen_since)}", "warn"))
    if mode.replay is not None:
        position, length, speed, is_at_end = mode.replay
        end = " end" if is_at_end else ""
        parts.insert(1, Part(f"REPLAY {duration(position)} of {duration(length)} x{speed:g}{end}", "warn"))
    parts += [Part(mode.device)] if mode.device else []
    parts.append(Part(clock(mode.now)))
    if mode.replay is None:
        parts.append(Part(f"every {mode.interval:g}s", "dim"))
    if mode.zeroed:
        parts.append(Part("counting from zero", "warn"))
    if mode.recording:
        parts.append(Part("recording", "warn"))
    if mode.write:
        parts.append(Part("may write", "warn"))
    return _joined(parts, width, " · ")


def _joined(parts: Iterable[Part], width: int, gap: str) -> Row:
    """As many parts as there is room for."""
    row: list[Part] = []
    left = width
    for part in parts:
        needed = cell_len(part.text) + (cell_len(gap) if row else 0)
        if needed > left:
            break
        if row:
            row.append(Part(gap, "dim"))
        row.append(part)
        left -= needed
    return tuple(row)


def pane_row(active: str, counts: Sequence[int], note: Part, width: int) -> Row:
    """The panes by number, with how many rows each has; on the right a note, cut where there is no room for it."""
    parts: list[Part] = []
    for number, (pane, rows) in enumerate(zip(PANES, counts, strict=True), 1):
        name = pane if width >= 60 else pane[:3]
        text = f"[{number} {name} {rows}]" if pane == active else f" {number} {name} {rows} "
        parts.append(Part(text, "accent" if pane == active else "", f"screen.pane('{pane}')"))
    row = _joined(parts, width, "")
    left = width - sum(len(part.text) for part in row) - 1
    return (*row, Part(f" {fit(note.text, left, left=False)}", note.tone)) if left > 0 else row


def key_row(keys: Iterable[Key], width: int) -> Row:
    row: list[Part] = []
    left = width
    for key in keys:
        text = f" {key.short}  "
        left -= len(key.key) + len(text)
        if left < -1:
            break
        row += [Part(key.key, "accent", key.action), Part(text, "", key.action)]
    return tuple(row)
