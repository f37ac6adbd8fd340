"""What is shown, as text without a screen: never cut, so that it can be searched when it is piped. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.cells import cell_len

from cais_tools.top.columns import Table
from cais_tools.top.device import DeviceState
from cais_tools.top.model import Model
from cais_tools.top.rows import device_row, group_rows, port_rows
from cais_tools.top.screen.cells import fit, plain
from cais_tools.top.tables import ALARMS, DEVICES, GROUPS, PORTS

__all__ = ["text_of"]

R = TypeVar("R")

_GAP = "  "
_ASCII = str.maketrans({"●": "*", "✖": "x", "◌": "o", "▲": "!"})


def text_of(model: Model) -> str:
    """The switches, then groups and ports of each, then what is wrong."""
    devices = list(model.devices.values())
    blocks = [table_text(DEVICES, [device_row(each, model.journal, model.time) for each in devices])]
    for device in devices:
        blocks += _device_blocks(device, titled=len(devices) > 1)
    active = model.journal.entries
    blocks.append(table_text(ALARMS, active) if active else "no alarms")
    return "\n\n".join(blocks).translate(_ASCII)


def _device_blocks(device: DeviceState, *, titled: bool) -> Iterable[str]:
    """Groups and ports; of a switch that is gone there is nothing that holds now."""
    if not device.is_up:
        return
    title = f"{device.name}\n" if titled else ""
    groups, ports = group_rows(device), port_rows(device)
    yield title + (table_text(GROUPS, groups) if groups else "no groups")
    if ports:
        yield title + table_text(PORTS, ports)
    if device.slots.hidden:
        yield title + device.slots.hidden


def table_text(table: Table[R], rows: Sequence[R]) -> str:
    """Aligned columns, wide letters and all; those that are empty in all rows are left out."""
    columns = [column for column in table.shown(rows) if not rows or any(column.text(row) for row in rows)]
    lines = [[column.title for column in columns]]
    lines += [[plain(column.text(row)) for column in columns] for row in rows]
    widths = [max(cell_len(line[place]) for line in lines) for place in range(len(columns))]
    return "\n".join(
        _GAP.join(
            fit(cell, width, left=column.left) for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    )
