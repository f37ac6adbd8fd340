"""What a restart of the controller may forget of a group, and what follows for its decisions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.controller.devices import ManagedDevice
from cais_tools.controller.leader import Leader, Totals
from cais_tools.controller.record import GroupRecord
from cais_tools.controller.scoring import Link, Path
from cais_tools.controller.verdict import GroupInputs

__all__ = ["FIRST_PROOF_S", "LAST_PROOF_S", "Doubt", "Live", "has_doubt", "inputs_of", "ring_bandwidth"]

_DEFAULT_GBPS = 100.0
FIRST_PROOF_S, LAST_PROOF_S = 1.0, 30.0


@dataclass(slots=True)
class Doubt:
    """A switch that is to prove itself to a group: when next, and how long after a failure (seconds, monotonic).

    `request` is the number of the test under way, `running`: somebody sees to it.
    """

    due: float
    wait: float = FIRST_PROOF_S
    request: int = 0
    running: bool = False

    def failed(self) -> None:
        """The next test comes after twice the time."""
        self.wait = min(2 * self.wait, LAST_PROOF_S)
        self.due, self.request, self.running = time.monotonic() + self.wait, 0, False


@dataclass(slots=True)
class Live:
    """`gone_since` is when the leader's stream ended, or when the group came to be."""

    leader: Leader | None = None
    gone_since: float = field(default_factory=time.monotonic)
    has_been_led: bool = True
    is_being_made: bool = False
    doubt: Doubt | None = None
    fallbacks: int = 0
    totals: Totals = field(default_factory=Totals)

    def is_alive(self, grace: float, first_grace: float) -> bool:
        """Whether its leader is there, or may yet come."""
        patience = grace if self.has_been_led else first_grace
        return self.leader is not None or time.monotonic() - self.gone_since < patience


def has_doubt(leader: Leader, group: GroupRecord) -> bool:
    """Whether a leader that comes has left the switch, or uses it under an epoch that the switch does not have; or has
    a group that is not there at all yet.
    """
    if not group.epoch:
        return True
    if leader.epoch:
        return leader.epoch != group.epoch
    return leader.path is Path.ENDPOINT and leader.next_operation > 0


def ring_bandwidth(link: float, ranks: int) -> float:
    """Bytes of tensor that `ranks` endpoints reduce in a second over links of `link` bytes/s: a ring all-reduce sends
    2(n-1)/n tensors over each link (nccl-tests, doc/PERFORMANCE.md).
    """
    return link * ranks / (2 * (ranks - 1)) if ranks > 1 else link


def inputs_of(
    group: GroupRecord, live: Live, device: ManagedDevice | None, settings: Mapping[str, float], *, drained: bool
) -> GroupInputs:
    """What the policy is told. The switch adds up as fast as a rank's link brings it."""
    reading = None if device is None else device.view.reading
    link_bytes = 1e9 / 8 * ((device.device.link_gbps if device else None) or _DEFAULT_GBPS)
    ranks = len(group.ranks)
    delay = 0.0 if device is None else device.view.queue_delay_us / 1e6
    return GroupInputs(
        Link(ranks, ring_bandwidth(link_bytes, ranks), link_bytes, delay),
        0.0 if reading is None else reading.snapshot.sram_usage,
        reachable=reading is not None and group.epoch != 0,
        drained=drained,
        proved=live.doubt is None,
        wanted=group.wanted,
        seen=() if live.leader is None else live.leader.take_seen(),
        offload_threshold=settings["offload_threshold"],
        sram_usage_limit=settings["sram_usage_limit"],
    )
