"""What a rank knows about its group, and how patient it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.errors import UsageError
from cais_tools.wire.header import DEFAULT_LANES, MAX_MEMBERS

__all__ = ["Membership", "Patience", "Timing"]


@dataclass(frozen=True)
class Membership:
    """One rank's place in a group, as the switch's tables have it.

    `slots` is the group's slot count (a power of two), `lanes` the words in a payload of the P4 program. `ports` maps
    ranks to switch ports; only messages use it.
    """

    group_id: int
    rank: int
    ranks: int
    slots: int
    lanes: int = DEFAULT_LANES
    ports: Mapping[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        if not 0 <= self.group_id <= 255:
            raise UsageError(f"group {self.group_id} does not exist", hint="groups are 0 to 255")
        if not 1 <= self.ranks <= MAX_MEMBERS:
            raise UsageError(f"a group of {self.ranks} ranks is not possible", hint=f"1 to {MAX_MEMBERS} ranks")
        if not 0 <= self.rank < self.ranks:
            raise UsageError(f"rank {self.rank} is not in a group of {self.ranks}", hint="ranks start at 0")
        if self.slots < 2 or self.slots & (self.slots - 1):
            raise UsageError(f"{self.slots} slots are no power of two", hint="2, 4, 8, ... slots")
        if self.lanes < 1:
            raise UsageError(f"a payload of {self.lanes} lanes is not possible")

    @property
    def window(self) -> int:
        """Packets in flight at most: half the slots, so that a stored result is safe until every rank has it."""
        return self.slots // 2

    def describe_rank(self, rank: int) -> str:
        return f"rank {rank} (port {self.ports[rank]})" if rank in self.ports else f"rank {rank}"


@dataclass(frozen=True)
class Timing:
    """Seconds, and the window (packets) that a rank starts with.

    `timeout` is how long an operation may go on without any new result. `first_rto` counts until a round trip has been
    measured; later time-outs follow RFC 6298 between `min_rto` and `max_rto`. The first window is small because
    bmv2's port queues hold 64 packets.
    """

    timeout: float = 5.0
    first_rto: float = 0.1
    min_rto: float = 0.05
    max_rto: float = 1.0
    first_window: int = 16

    def __post_init__(self) -> None:
        if not 0 < self.min_rto <= self.max_rto or self.first_rto <= 0 or self.timeout <= 0:
            raise UsageError("time-outs must be more than 0 seconds, and min_rto at most max_rto")
        if self.first_window < 1:
            raise UsageError("a window holds at least one packet")


@dataclass(frozen=True)
class Patience:
    """How often all ranks do an operation again under new numbers before it has failed.

    `repeats` counts all repetitions, whatever they are for; `time_outs` those of them that follow a time-out. One
    damaged packet in a hundred makes every second operation of 64 packets fail, so the first number is large. A damaged
    number can jam a slot until the next job, but a switch that has died stays silent, so the second one is small.
    """

    repeats: int = 16
    time_outs: int = 1

    def __post_init__(self) -> None:
        if self.repeats < 0 or self.time_outs < 0:
            raise UsageError("an operation cannot be repeated less than 0 times")
