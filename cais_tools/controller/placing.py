"""Where a group goes: its switch, its ports, its slots. Pure functions; they raise UsageError and Refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from cais_tools.config import Device
from cais_tools.controller.record import GroupRecord
from cais_tools.errors import Refused, UsageError
from cais_tools.wire.header import DEFAULT_LANES, MAX_MEMBERS

__all__ = ["check_group", "check_room", "choose_device", "ports_of", "slots_for"]

_WORD: Final = 4


def choose_device(name: str, known: Collection[str]) -> str:
    """The device of this name; the only one where it is empty."""
    if name and name not in known:
        raise UsageError(f"there is no device {name!r}", hint=f"there are: {', '.join(known) or 'none'}")
    if not name and len(known) != 1:
        raise UsageError("which switch is the group to use?", hint=f"name the device, one of: {', '.join(known)}")
    return name or next(iter(known))


def ports_of(device: Device, ranks: Collection[int]) -> tuple[int, ...]:
    """The ports of ranks of a job: rank r is behind the r-th of the file's `links`; without them, behind port r + 1."""
    last = max(ranks, default=0)
    known = tuple(device.links) or tuple(range(1, last + 2))
    if last >= len(known):
        raise UsageError(
            f"{device.name} has links for {len(known)} ranks, and rank {last} has none",
            hint=f"[devices.{device.name}.links] of cais.toml, or name the ports",
        )
    return tuple(known[rank] for rank in ranks)


def check_group(group: GroupRecord, world_size: int) -> None:
    if not 0 <= group.group_id <= 255:
        raise UsageError(f"group {group.group_id} does not exist", hint="groups are 0 to 255, and all may be taken")
    ranks, ports = group.ranks, group.ports
    if not 1 <= len(ranks) <= MAX_MEMBERS:
        raise UsageError(f"a group of {len(ranks)} ranks is not possible", hint=f"1 to {MAX_MEMBERS} ranks")
    if len(set(ranks)) != len(ranks) or max(ranks) >= world_size:
        raise UsageError(f"ranks {list(ranks)} are not different ones of a job of {world_size}")
    if len(ports) != len(ranks) or len(set(ports)) != len(ports):
        raise UsageError(f"{len(ranks)} ranks need as many different ports, not {list(ports)}")


def slots_for(settings: Mapping[str, float], lanes: int = DEFAULT_LANES) -> int:
    """Twice the packets that a rank has under way (design, section 4, rule 6), as a power of two.

    A chunk on the wire is a packet, so `max_pending_chunks` packets are under way at most; and never more than
    `chunk_size` bytes of the tensor, where these are fewer.
    """
    packets = -(-int(settings["chunk_size"]) // (_WORD * lanes))
    window = max(1, min(int(settings["max_pending_chunks"]), packets))
    return 1 << (2 * window - 1).bit_length()


def check_room(group: GroupRecord, others: int, pool: int, limit: float) -> None:
    """`others` slots of the `pool` belong to other groups; `limit` is the share that may be given out."""
    if pool and others + group.slots > limit * pool:
        raise Refused(
            f"{group.device} has {pool} slots, of which {limit:.0%} may be given out: {others} are, and group "
            f"{group.group_id} wants {group.slots}",
            hint="ask for fewer (max_pending_chunks, chunk_size), remove a group, or raise sram_usage_limit",
        )
