"""Reads a telemetry snapshot from a switch."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from cais_tools.session.cais.model import State
from cais_tools.session.cais.telemetry import (
    BAD_FRAMES,
    CELLS,
    OUTCOMES,
    DelayHistogram,
    GroupStats,
    PortStats,
    Snapshot,
    outcome_cells,
)
from cais_tools.session.entities import CounterData
from cais_tools.session.readwrite import ReadWrite

__all__ = ["collect_snapshot"]

_NONE = CounterData()

Cells = Mapping[int, CounterData]


def collect_snapshot(
    session: ReadWrite, state: State, groups: Iterable[int] | None, ports: Iterable[int] | None
) -> Snapshot:
    """A snapshot of these groups and ports; None: of all that have an entry or counted anything."""
    groups = None if groups is None else list(groups)
    ports = None if ports is None else list(ports)
    outcomes, received, sent, delays, bad = _all_cells(session, groups, ports)
    known = set(state.groups) if groups is None else set(groups)
    known |= {cell // CELLS for cell, data in outcomes.items() if data.packets}
    shown = {port for cells in (received, sent) for port, data in cells.items() if data.packets}
    shown |= set(ports) if ports is not None else {port for group in state.groups.values() for port in group.ports}
    return Snapshot(
        time=time.monotonic(),
        pool=state.pool,
        slots_allocated=state.slots_allocated,
        groups={group_id: _group_stats(state, group_id, outcomes) for group_id in sorted(known)},
        ports={
            port: PortStats(port, received.get(port, _NONE), sent.get(port, _NONE), _histogram(delays, port))
            for port in sorted(shown)
        },
        bad_frames={name: bad.get(cell, _NONE).packets for cell, name in enumerate(BAD_FRAMES)},
        rules=state.rules,
    )


def _all_cells(
    session: ReadWrite, groups: Sequence[int] | None, ports: Sequence[int] | None
) -> tuple[Cells, Cells, Cells, Cells, Cells]:
    """Outcomes, frames received and sent, delays, bad frames; in one read where it is known which ones."""
    if groups is None or ports is None:
        return (_group_cells(session, groups), *_port_cells(session, ports), session.read_counter("bad_frames"))
    wanted = {
        "group_outcomes": [cell for group_id in groups for cell in outcome_cells(group_id)],
        "port_in": ports,
        "port_out": ports,
        "queue_delay": _delay_cells(ports),
        "bad_frames": range(len(BAD_FRAMES)),
    }
    found = session.read_counters(wanted)
    return (
        found["group_outcomes"],
        found["port_in"],
        found["port_out"],
        found["queue_delay"],
        found["bad_frames"],
    )


def _group_cells(session: ReadWrite, groups: Iterable[int] | None) -> Cells:
    if groups is None:
        return session.read_counter("group_outcomes")
    cells = [cell for group_id in groups for cell in outcome_cells(group_id)]
    return session.read_counters({"group_outcomes": cells})["group_outcomes"]


def _port_cells(session: ReadWrite, ports: Iterable[int] | None) -> tuple[Cells, Cells, Cells]:
    if ports is None:
        received, sent = session.read_counter("port_in"), session.read_counter("port_out")
        ports = [port for port, data in sent.items() if data.packets]
        delays = session.read_counters({"queue_delay": _delay_cells(ports)})["queue_delay"]
        return received, sent, delays
    found = session.read_counters({"port_in": ports, "port_out": ports, "queue_delay": _delay_cells(ports)})
    return found["port_in"], found["port_out"], found["queue_delay"]


def _delay_cells(ports: Iterable[int]) -> list[int]:
    return [port * CELLS + bucket for port in ports for bucket in range(CELLS)]


def _group_stats(state: State, group_id: int, cells: Cells) -> GroupStats:
    group = state.groups.get(group_id)
    mine = [cells.get(cell, _NONE) for cell in outcome_cells(group_id)]
    return GroupStats(
        group_id,
        group.slots if group else 0,
        {name: data.packets for name, data in zip(OUTCOMES, mine, strict=True)},
        {name: data.bytes for name, data in zip(OUTCOMES, mine, strict=True)},
        group.members if group else (),
    )


def _histogram(cells: Cells, port: int) -> DelayHistogram:
    return DelayHistogram(tuple(cells.get(port * CELLS + bucket, _NONE).packets for bucket in range(CELLS)))
