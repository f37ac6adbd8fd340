"""Who holds up a group: its ranks, the slowest first. Sans I/O."""

from __future__ import annotations

from dataclasses import dataclass

from cais_tools.session.cais import Member
from cais_tools.top.device import DeviceState

__all__ = ["RankRow", "rank_rows", "waited_for"]


@dataclass(frozen=True, slots=True)
class RankRow:
    """A rank of a group, as its port and the open slots tell.

    `received` counts all packets on the port, also those for other groups that have a rank there (`shared`). `behind`
    is the share of packets that came less than from the group's busiest rank in the interval. `missing`: open slots
    that wait for it; `oldest_us`: the oldest of them; `looks`: how often a look found anything that waited for it.
    """

    rank: int
    port: int
    name: str
    received: int
    received_per_s: float | None
    behind: float | None
    missing: int | None
    oldest_us: int | None
    looks: int
    shared: bool

    @property
    def key(self) -> int:
        return self.rank


def rank_rows(device: DeviceState, group_id: int) -> list[RankRow]:
    """The ranks of the group, those that are waited for most first."""
    group = None if device.snapshot is None else device.snapshot.groups.get(group_id)
    if group is None:
        return []
    rates = {} if device.rates is None else {port: each.packets_in for port, each in device.rates.ports.items()}
    busiest = max((rates.get(member.port, 0.0) for member in group.members), default=0.0)
    rows = [_row(device, group_id, member, rates.get(member.port), busiest) for member in group.members]
    return sorted(rows, key=lambda each: (-(each.missing or 0), -each.looks, -(each.behind or 0), each.rank))


def _row(device: DeviceState, group_id: int, member: Member, rate: float | None, busiest: float) -> RankRow:
    found = device.slots.found
    waiting = [slot for slot in found or () if slot.group_id == group_id and member in slot.missing]
    ages = [slot.age_us for slot in waiting if slot.age_us is not None]
    groups = [] if device.snapshot is None else list(device.snapshot.groups.values())
    port = None if device.snapshot is None else device.snapshot.ports.get(member.port)
    return RankRow(
        rank=member.rank,
        port=member.port,
        name=device.source.ports.get(member.port, ""),
        received=0 if port is None else port.received.packets,
        received_per_s=rate,
        behind=None if rate is None or busiest <= 0 else 1 - rate / busiest,
        missing=None if found is None else len(waiting),
        oldest_us=max(ages, default=None),
        looks=device.waited.get((group_id, member.rank), 0),
        shared=sum(any(other.port == member.port for other in each.members) for each in groups) > 1,
    )


def waited_for(device: DeviceState, group_id: int) -> tuple[int | None, str]:
    """The age of the group's oldest open slot, and whom it waits for: `rank 2 (swp3)`."""
    mine = [slot for slot in device.slots.found or () if slot.group_id == group_id]
    if not mine:
        return None, ""
    oldest = max(mine, key=lambda slot: slot.age_us or 0)
    return oldest.age_us, ", ".join(_member(device, member) for member in oldest.missing)


def _member(device: DeviceState, member: Member) -> str:
    return f"rank {member.rank} ({device.source.ports.get(member.port, f'port {member.port}')})"
