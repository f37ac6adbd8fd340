"""What a rank's group has done, as `cais.stats()` tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cais_tools.training.context import Joined

__all__ = ["GroupReport", "report_of"]


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Operations of one rank by the way that they went, tensor bytes, and packets on the way through the switch.

    `fallbacks` had begun on the switch and ended on the endpoints, `repeats` ended on the switch under new numbers,
    `handed_out` got their result from another rank. `reasons`: why how many stayed on the endpoints.
    """

    group_id: int
    rank: int
    ranks: int
    device: str
    on_switch: int
    on_endpoints: int
    fallbacks: int
    repeats: int
    handed_out: int
    bytes_on_switch: int
    bytes_on_endpoints: int
    packets_sent: int
    packets_retransmitted: int
    reasons: Mapping[str, int]


def report_of(joined: Joined) -> GroupReport:
    stats, counters = joined.group.stats, joined.group.counters
    return GroupReport(
        group_id=joined.group_id,
        rank=joined.rank,
        ranks=len(joined.ranks),
        device=joined.device,
        on_switch=stats.on_switch,
        on_endpoints=stats.on_endpoints,
        fallbacks=stats.fallbacks,
        repeats=stats.repeats,
        handed_out=stats.handed_out,
        bytes_on_switch=stats.bytes_on_switch,
        bytes_on_endpoints=stats.bytes_on_endpoints,
        packets_sent=counters.sent,
        packets_retransmitted=counters.retransmitted,
        reasons=dict(stats.reasons),
    )
