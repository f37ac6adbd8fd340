"""`cais switch inspect`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.options import Json
from cais_tools.cli.output import emit_json, say, table
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cais_tools.p4rt.p4info import P4InfoIndex
    from cais_tools.session import SwitchSession, TableEntry
    from cais_tools.session.data import Data

_WHAT = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<first>\d+)(-(?P<last>\d+))?\])?")


@connects(changes=False)
def inspect(
    *,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|NAME[I]|NAME[I-J]]", help="A table, register or counter; without: all names."),
    ] = None,
    connection: Connection,
    json: Json = False,
) -> None:
    """Look into a switch that runs: registers, counters, table entries.

    A name is that of P4Info, or the end of it where that is unique. Cells that are 0 are left out of a whole register
    or counter, but for --json.
    """
    name, cells = _parse(what)
    device = connection.device()
    with connection.open(device) as session:
        if name is None:
            _show_names(session, device.name, json)
            return
        kind, full_name = _find(session.index, name)
        if kind == "table":
            if cells is not None:
                raise UsageError(f"{full_name} is a table: it has entries, no cells")
            _show_table(session, full_name, json)
        elif kind == "register":
            _show_register(session, full_name, cells, json)
        else:
            _show_counter(session, full_name, cells, json)


def _parse(what: str | None) -> tuple[str | None, range | None]:
    if what is None:
        return None, None
    found = _WHAT.fullmatch(what)
    if found is None:
        raise UsageError(
            f"{what!r} is no name of a cell", hint="for example slot_state, slot_state[7], slot_state[0-15]"
        )
    if found["first"] is None:
        return found["name"], None
    first = int(found["first"])
    last = first if found["last"] is None else int(found["last"])
    if last < first:
        raise UsageError(f"{what!r} ends before it begins")
    return found["name"], range(first, last + 1)


def _find(index: P4InfoIndex, name: str) -> tuple[str, str]:
    """The kind of the object with this name, and its full name; a name of two kinds means the table."""
    from cais_tools.p4rt.p4info import UnknownName

    kinds = (("table", index.table), ("register", index.register), ("counter", index.counter))
    hints: list[str] = []
    for kind, find in kinds:
        try:
            return kind, find(name).preamble.name
        except UnknownName as error:
            if "ambiguous" in error.message:
                raise
            hints += [error.hint] if error.hint is not None and error.hint.startswith("did you mean") else []
    hint = hints[0] if hints else "without a name, all names are shown"
    raise UsageError(f"there is no table, register or counter {name!r}", hint=hint)


def _check_cells(name: str, cells: range | None, size: int) -> None:
    if cells is not None and cells[-1] >= size:
        raise UsageError(f"{name} has no index {cells[-1]}", hint=f"its size is {size}: 0 to {size - 1}")


# --- what there is ---


def _show_names(session: SwitchSession, device: str, json: bool) -> None:
    info = session.index.message
    counts = {each.preamble.name: len(session.read_table(each.preamble.name)) for each in info.tables}
    if json:
        tables = [
            {"name": each.preamble.name, "entries": counts[each.preamble.name], "size": each.size}
            for each in info.tables
        ]
        registers = [{"name": each.preamble.name, "size": each.size} for each in info.registers]
        counters = [{"name": each.preamble.name, "size": each.size} for each in info.counters]
        names = {"tables": tables, "registers": registers, "counters": counters}
        emit_json("cais.inspect/1", {"device": device, **names})
        return
    rows = [
        ["table", each.preamble.name, f"{counts[each.preamble.name]} of {each.size} entries"] for each in info.tables
    ]
    for kind, objects in (("register", info.registers), ("counter", info.counters)):
        rows += [[kind, each.preamble.name, f"{each.size} cells"] for each in objects]
    say(table(("kind", "name", "size"), rows, left=(0, 1, 2)))


# --- tables ---


def _show_table(session: SwitchSession, name: str, json: bool) -> None:
    info = session.index.table(name)
    counted = session.index.direct_counter_of(info) is not None
    entries = session.read_table(name, counters=counted)
    default = session.read_default(name)
    if json:
        entry = None if default is None else _entry(default)
        document = {"kind": "table", "name": name, "size": info.size}
        emit_json("cais.inspect/1", {**document, "entries": [_entry(each) for each in entries], "default": entry})
        return
    keys = [key.name for key in info.match_fields]
    rows = [[*(_key(each, key) for key in keys), *_row(each)] for each in entries]
    if default is not None and default.action is not None:
        rows.append([*(["default"] if keys else []), *[""] * (len(keys) - 1), *_row(default)])
    header = (*keys, "priority", "action", "packets", "bytes")
    say(table(header, rows, left=(*range(len(keys)), len(keys) + 1)))


def _key(entry: TableEntry, key: str) -> str:
    return _text(entry.match[key]) if key in entry.match else "any"


def _row(entry: TableEntry) -> list[str]:
    arguments = ", ".join(f"{name}={_text(value)}" for name, value in entry.params.items())
    action = f"{entry.action}({arguments})" if entry.action is not None else _profile_action(entry)
    counts = ["-", "-"] if entry.counter is None else [str(entry.counter.packets), str(entry.counter.bytes)]
    return [str(entry.priority or "-"), action, *counts]


def _profile_action(entry: TableEntry) -> str:
    if entry.member_id is not None:
        return f"member {entry.member_id}"
    return "-" if entry.group_id is None else f"group {entry.group_id}"


def _entry(entry: TableEntry) -> dict[str, Any]:
    counter = None if entry.counter is None else {"packets": entry.counter.packets, "bytes": entry.counter.bytes}
    return {
        "match": {name: _plain(value) for name, value in entry.match.items()},
        "priority": entry.priority,
        "action": entry.action,
        "params": dict(entry.params),
        "member_id": entry.member_id,
        "group_id": entry.group_id,
        "counter": counter,
    }


def _plain(value: Any) -> Any:
    """The value of a key for JSON: a number or text, or an object for a prefix, a mask, a range."""
    from dataclasses import asdict, is_dataclass

    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _text(value: Any) -> str:
    from cais_tools.session import Lpm, Range, Ternary

    match value:
        case Lpm(prefix, length):
            return f"{_text(prefix)}/{length}"
        case Ternary(bits, mask):
            return f"{_text(bits)}&&&{_text(mask)}"
        case Range(low, high):
            return f"{_text(low)}..{_text(high)}"
        case int() if not isinstance(value, bool) and value > 255:
            return hex(value)
        case _:
            return str(value)


# --- registers and counters ---


def _show_register(session: SwitchSession, name: str, cells: range | None, json: bool) -> None:
    size = session.index.register(name).size
    _check_cells(name, cells, size)
    values = session.read_register(name, cells)
    if json:
        shown = [{"index": index, "value": value} for index, value in values.items()]
        emit_json("cais.inspect/1", {"kind": "register", "name": name, "size": size, "cells": shown})
        return
    rows = [[str(index), _decimal(value), _hexadecimal(value)] for index, value in _chosen(values, cells)]
    _say_cells(("index", "value", "hex"), rows, len(values))


def _show_counter(session: SwitchSession, name: str, cells: range | None, json: bool) -> None:
    size = session.index.counter(name).size
    _check_cells(name, cells, size)
    values = session.read_counter(name) if cells is None else session.read_counters({name: cells})[name]
    if json:
        shown = [{"index": index, "packets": each.packets, "bytes": each.bytes} for index, each in values.items()]
        emit_json("cais.inspect/1", {"kind": "counter", "name": name, "size": size, "cells": shown})
        return
    rows = [
        [str(index), str(each.packets), str(each.bytes)]
        for index, each in values.items()
        if cells is not None or each.packets or each.bytes
    ]
    _say_cells(("index", "packets", "bytes"), rows, len(values))


def _chosen(values: dict[int, Data], cells: range | None) -> list[tuple[int, Data]]:
    return [(index, value) for index, value in values.items() if cells is not None or _is_set(value)]


def _is_set(value: Data) -> bool:
    return any(map(_is_set, value)) if isinstance(value, tuple) else bool(value)


def _decimal(value: Data) -> str:
    return "(" + ", ".join(map(_decimal, value)) + ")" if isinstance(value, tuple) else str(value)


def _hexadecimal(value: Data) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_hexadecimal, value)) + ")"
    return str(value) if isinstance(value, bool | str) else hex(value)


def _say_cells(header: Sequence[str], rows: list[list[str]], read: int) -> None:
    if rows:
        say(table(header, rows, left=()))
    if len(rows) < read:
        say(f"{read - len(rows)} of {read} cells are 0")
