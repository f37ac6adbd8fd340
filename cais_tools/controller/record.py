"""What the controller knows of a group, and keeps over a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.controller.scoring import Path

__all__ = ["ANY", "SETTINGS", "GroupRecord", "JobRecord"]

ANY = -1
"""For a group whose number is to be chosen."""

SETTINGS = ("chunk_size", "offload_threshold", "timeout_ms", "max_pending_chunks", "sram_usage_limit")
"""The settings that may differ by group, as `cais_tools.config` has them."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    job_id: str
    name: str
    world_size: int


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """`ranks` are the job's, `ports` the switch's, both in the order of the group's ranks. `epoch` 0: not installed.

    `wanted` is the path that people asked for, for `reason`; `settings` are those that differ from everybody's.
    """

    group_id: int
    job_id: str
    device: str
    ranks: tuple[int, ...]
    ports: tuple[int, ...]
    slots: int
    epoch: int
    hub_address: str
    hub_secret: str
    wanted: Path = Path.AUTO
    reason: str = ""
    settings: Mapping[str, float] = field(default_factory=dict[str, float])
