"""Slots that hold an incomplete sum: since when, and whose contribution is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cais_tools.errors import Refused
from cais_tools.p4rt.p4info import UnknownName
from cais_tools.session.cais.model import Group, Member, State
from cais_tools.session.data import Data
from cais_tools.session.errors import DeviceError
from cais_tools.session.session import SwitchSession

__all__ = ["OpenSlot", "SlotRegisters", "find_open_slots", "read_open_slots"]

_TIME_BITS: Final = 48
_WORD: Final = (1 << 32) - 1
_HALF: Final = (1 << 16) - 1

Cells = Mapping[int, Data]


@dataclass(frozen=True, slots=True)
class OpenSlot:
    """A slot whose aggregate is incomplete. `slot` counts from the pool's beginning, `op` is its number.

    `age_us` is the time from its first contribution to the last packet that the switch has seen for any slot: it is
    right as long as somebody repeats what he waits for, and no more than the truth otherwise. None: the program keeps
    no times.
    """

    group_id: int
    slot: int
    seq_num: int
    op: int
    layer: int
    chunk: int
    age_us: int | None
    present: tuple[Member, ...]
    missing: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class SlotRegisters:
    """What the registers of the program say, by slot; `state_after` is `state` read once more when all was read.

    state: epoch (32 bits) and seq_num (32). aggregate: op_type (8), layer_id (16), chunk_id (16). contributors: one
    bit for each rank. opened: microseconds; `latest` likewise, of the last packet; None where there are no times.
    """

    state: Cells
    aggregate: Cells
    contributors: Cells
    opened: Cells
    latest: int | None
    state_after: Cells


def find_open_slots(groups: Iterable[Group], registers: SlotRegisters) -> list[OpenSlot]:
    """The open slots of these groups, the oldest first. Sans I/O.

    A slot that another aggregate took over while the registers were read is left out: what was read of it may be of
    either.
    """
    found = [slot for group in groups for slot in _open_slots_of(group, registers)]
    return sorted(found, key=lambda each: (-(each.age_us or 0), each.group_id, each.seq_num))


def _open_slots_of(group: Group, registers: SlotRegisters) -> Iterator[OpenSlot]:
    for slot in range(group.slot_base, group.slot_base + group.slots):
        state, contributors = _number(registers.state, slot), _number(registers.contributors, slot)
        if state >> 32 != group.epoch or state != _number(registers.state_after, slot):
            continue
        if contributors & group.participants == group.participants:
            continue
        aggregate = _number(registers.aggregate, slot)
        yield OpenSlot(
            group_id=group.group_id,
            slot=slot,
            seq_num=state & _WORD,
            op=aggregate >> 32,
            layer=aggregate >> 16 & _HALF,
            chunk=aggregate & _HALF,
            age_us=_age(registers, slot),
            present=tuple(each for each in group.members if contributors & each.rank_mask),
            missing=tuple(each for each in group.members if not contributors & each.rank_mask),
        )


def _age(registers: SlotRegisters, slot: int) -> int | None:
    if registers.latest is None or slot not in registers.opened:
        return None
    age = (registers.latest - _number(registers.opened, slot)) % (1 << _TIME_BITS)
    # Opened after `latest` was read.
    return 0 if age >> (_TIME_BITS - 1) else age


def _number(cells: Cells, slot: int) -> int:
    value = cells.get(slot, 0)
    return value if isinstance(value, int) else 0


def read_open_slots(session: SwitchSession, state: State, group_ids: Iterable[int] | None = None) -> list[OpenSlot]:
    """Read the registers, each in one read, and find the open slots of these groups (None: of all).

    Raises Refused where the switch has no such group, and where it shows no registers over P4Runtime.
    """
    groups = _groups(state, group_ids)
    if not groups:
        return []
    try:
        registers = _read_registers(session)
    except DeviceError as error:
        if error.code != "UNIMPLEMENTED":
            raise
        raise Refused(
            f"{session.target} shows no registers over P4Runtime (bmv2 does not), so nobody can look into its slots",
            hint="without --slots the counters say how many are open; ranks that time out name the rank that is silent",
        ) from None
    return find_open_slots(groups, registers)


def _groups(state: State, group_ids: Iterable[int] | None) -> Collection[Group]:
    if group_ids is None:
        return list(state.groups.values())
    wanted = list(dict.fromkeys(group_ids))
    for group_id in wanted:
        if group_id not in state.groups:
            known = ", ".join(map(str, sorted(state.groups))) or "none"
            raise Refused(f"there is no group {group_id}", hint=f"groups on the switch: {known}")
    return [state.groups[group_id] for group_id in wanted]


def _read_registers(session: SwitchSession) -> SlotRegisters:
    """`state` comes first and last, `latest` after `opened`: no slot seems to be open since before it was."""
    state = session.read_register("slot_state")
    aggregate, contributors = session.read_register("slot_aggregate"), session.read_register("slot_contributors")
    opened: Cells = {}
    latest: int | None = None
    try:
        opened = session.read_register("slot_opened")
        latest = _number(session.read_register("latest"), 0)
    except UnknownName:  # a program built before it kept times
        latest = None
    return SlotRegisters(state, aggregate, contributors, opened, latest, session.read_register("slot_state"))
