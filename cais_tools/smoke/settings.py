"""What a run of the smoke test is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cais_tools.errors import UsageError
from cais_tools.links.faults import FaultModel
from cais_tools.session import Tls
from cais_tools.smoke.plan import Plan
from cais_tools.wire.header import MAX_MEMBERS

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """`device` None: an embedded switch is started for the run. `ports` are {port: link spec}, in the order of ranks.

    `timeout` is how long, in seconds, an operation may go on without any new result; None: as long as the faults make
    sensible. `folder` is where the frames of a wrong result are saved.
    """

    plan: Plan
    device: str | None = None
    device_id: int | None = None
    tls: Tls | None = None
    take_over: bool = False
    ports: Mapping[int, str] = field(default_factory=dict[int, str])
    group_id: int = 0
    faults: FaultModel = field(default_factory=FaultModel)
    against_gloo: bool = False
    write: Path | None = None
    timeout: float | None = None
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if not 2 <= self.plan.ranks <= MAX_MEMBERS:
            ranks = "1 rank is no group" if self.plan.ranks == 1 else f"{self.plan.ranks} ranks do not fit into a group"
            raise UsageError(ranks, hint=f"a group has 2 to {MAX_MEMBERS} ranks")
        if self.ports and len(self.ports) != self.plan.ranks:
            raise UsageError(f"{self.plan.ranks} ranks need as many ports, not {len(self.ports)}")
        if self.device is not None and not self.ports:
            raise UsageError(
                f"which link leads to which port of {self.device}?", hint="for example --ports 1=veth1,2=veth2"
            )
