"""A trace as text for people: a paragraph for each pass, a line for each thing that happened."""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.switch.tracing.events import (
    ActionRun,
    Assigned,
    BadChecksum,
    ConditionChecked,
    Counted,
    Event,
    Extracted,
    Logged,
    Metered,
    Named,
    Outcome,
    ParserFailed,
    PassTrace,
    RegisterRead,
    RegisterWritten,
    Requested,
    Selected,
    StateEntered,
    Stepped,
    TableApplied,
)
from cais_tools.switch.wording import value_text

__all__ = ["text_of"]

_WIDTH = 120
_Effect = Assigned | RegisterRead | RegisterWritten


def text_of(trace: PassTrace) -> str:
    """The paragraph of a pass, without a newline at its end."""
    writer = _Writer()
    for event in trace.events:
        writer.add(event)
    return "\n".join([_head(trace), *writer.finish(), f"  => {_outcome(trace.outcome)}"])


def _head(trace: PassTrace) -> str:
    where = {"ingress": "in by port", "egress": "egress to port", "queue": "for port"}[trace.stage]
    origin = "" if trace.origin == "packet" else f" ({trace.origin}{f' {trace.instance}' if trace.instance else ''})"
    return f"packet {trace.packet}{origin}: {where} {trace.port}, {trace.length} bytes"


def _outcome(outcome: Outcome) -> str:
    ports = ", ".join(map(str, outcome.ports))
    if outcome.what == "dropped":
        return f"dropped: {outcome.reason}"
    if outcome.what == "sent":
        return f"sent by port {ports}, {outcome.length} bytes"
    if outcome.what == "forwarded":
        return f"to port {ports}"
    if outcome.what == "multicast":
        return f"multicast {outcome.reason}: to ports {ports}"
    return outcome.what


class _Writer:
    """Parser states take a line each; what actions do to fields and registers is gathered below the action."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._state: list[str] = []
        self._effects: list[_Effect] = []

    def add(self, event: Event) -> None:
        if isinstance(event, Assigned | RegisterRead | RegisterWritten):
            self._end_state()
            self._effects.append(event)
            return
        self._end_effects()
        if isinstance(event, StateEntered):
            self._end_state()
            self._state = [f"{event.state}:"]
        elif self._state and isinstance(event, Extracted | Selected | ParserFailed):
            self._state.append(_parsed(event))
        else:
            self._end_state()
            self._lines.append("  " + _line(event))

    def finish(self) -> list[str]:
        self._end_state()
        self._end_effects()
        return self._lines

    def _end_state(self) -> None:
        if self._state:
            head, *parts = self._state
            self._lines += _wrapped(f"  parser {head}", parts, 8)
        self._state = []

    def _end_effects(self) -> None:
        sets = {event.field.name: event.field for event in self._effects if isinstance(event, Assigned)}
        cells: dict[str, str] = {}
        for event in self._effects:
            if not isinstance(event, Assigned):
                cell = f"{event.register}[{event.index}]"
                cells[cell] = _cell(event, cells.get(cell, ""))
        if sets:
            values = [value_text(each.value, each.width) for each in sets.values()]
            parts = [f"{name}={value}" for name, value in zip(_short(list(sets)), values, strict=True)]
            self._lines += _wrapped("    set", parts, 8)
        if cells:
            parts = [f"{cell} {text}" for cell, text in zip(_short(list(cells)), cells.values(), strict=True)]
            self._lines += _wrapped("    register", parts, 8)
        self._effects = []


def _cell(event: RegisterRead | RegisterWritten, before: str) -> str:
    """`= 3` where it was read, `3 -> 4` where it was written."""
    if isinstance(event, RegisterRead):
        if before:
            return before
        return "out of range" if event.value is None else f"= {value_text(event.value, 64)}"
    if event.before is None:
        return f"out of range, {value_text(event.value, 64)} not written"
    first = before.partition(" -> ")[0].removeprefix("= ") or value_text(event.before, 64)
    return f"{first} -> {value_text(event.value, 64)}"


def _parsed(event: Extracted | Selected | ParserFailed) -> str:
    if isinstance(event, Extracted):
        return f"{event.header} ({event.length} bytes at {event.offset})"
    if isinstance(event, Selected):
        return "select " + " ".join(value_text(key, 64) for key in event.keys)
    return f"ERROR {event.error}"


def _line(event: Event) -> str:
    match event:
        case TableApplied():
            return _table(event)
        case ActionRun():
            return f"action {_call(event.action, event.arguments)}"
        case ConditionChecked():
            return f"if {event.condition}: {'true' if event.result else 'false'}"
        case Counted():
            return f"counter {event.counter}[{event.index}]"
        case Metered():
            return f"meter {event.meter}[{event.index}]"
        case Stepped():
            return f"  {event.step}"
        case Logged():
            return f"log {event.text}"
        case BadChecksum():
            return f"checksum {event.checksum} is wrong"
        case Requested():
            return _request(event)
        case _:
            return event.kind


def _table(event: TableApplied) -> str:
    keys = ", ".join(_named(key) for key in event.keys) or "no key"
    found = "miss" if not event.hit else f"hit {event.entry}" if event.entry else "hit"
    if event.priority:
        found += f" (priority {event.priority})"
    action = "no action" if event.action is None else _call(event.action, event.arguments)
    return f"table {event.table}: {keys}: {found}: {action}"


def _request(event: Requested) -> str:
    text = f"{event.request} {event.name}".rstrip()
    if event.ports:
        text += f" to port {', '.join(map(str, event.ports))}"
    return text + (": " + ", ".join(_named(each) for each in event.values) if event.values else "")


def _call(action: str, arguments: Sequence[Named]) -> str:
    return f"{action}({', '.join(_named(each) for each in arguments)})"


def _named(each: Named) -> str:
    return f"{each.name}={value_text(each.value, each.width)}"


def _wrapped(head: str, parts: Sequence[str], depth: int) -> list[str]:
    """The parts behind `head`, as many on a line as fit; each stays whole."""
    lines: list[str] = []
    line = head
    for place, part in enumerate(parts):
        text = part + ("," if place + 1 < len(parts) else "")
        if line.strip() and line is not head and len(line) + len(text) + 1 > _WIDTH:
            lines.append(line)
            line = " " * depth + text
        else:
            line = f"{line.rstrip()} {text}" if line.strip() else line + text
    return [*lines, line.rstrip()]


def _short(names: Sequence[str]) -> list[str]:
    """Without what a name has in common with the one before, up to its last dot; the compiler's `scalars.` never."""
    texts: list[str] = []
    before = ""
    for name in (each.removeprefix("scalars.") for each in names):
        prefix = name[: name.rfind(".") + 1]
        texts.append(name[len(prefix) :] if prefix and prefix == before else name)
        before = prefix
    return texts
