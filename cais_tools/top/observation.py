"""What one look at one switch brought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cais_tools.errors import CaisError
from cais_tools.session.cais import OpenSlot, Rule, Snapshot
from cais_tools.session.observer import Primary

__all__ = ["Failure", "Observation", "Program", "Source", "Steered"]


@dataclass(frozen=True, slots=True)
class Program:
    """What is loaded. Another load, even of the same program, has another `cookie`; None: it was loaded without."""

    name: str
    cookie: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a switch could not be read; `kind` is the name of the error's class."""

    kind: str
    message: str
    hint: str | None
    exit_code: int

    @classmethod
    def of(cls, error: CaisError) -> Failure:
        return cls(type(error).__name__, error.message, error.hint, error.exit_code)


@dataclass(frozen=True, slots=True)
class Source:
    """A switch that is looked at: what it is called, where it is, and what is known of its ports.

    `ports` has the names of ports by number, `link_gbps` the speed of each; None: nobody has said.
    """

    name: str
    address: str
    ports: Mapping[int, str] = field(default_factory=dict[int, str])
    link_gbps: float | None = None


@dataclass(frozen=True, slots=True)
class Steered:
    """What the controller does with a group: its `path` (switch, endpoint), and which one people have asked for (auto,
    switch, endpoint). Operations are counted since the group was created.
    """

    group_id: int
    path: str
    wanted: str
    reason: str
    threshold: float
    on_switch: int
    on_endpoints: int
    fallbacks: int


@dataclass(frozen=True, slots=True)
class Observation:
    """Either a snapshot or a failure; `time` is in seconds since 1970, `seconds` how long the look took.

    What is not looked at each time is None when it was not: `primary`, `rules`, `open_slots`. `slots_hidden` is why
    nobody can look into the slots of this switch. `temperature_c` is for devices that tell one. `steered` is what the
    controller says, None where there is none.
    """

    device: str
    time: float
    snapshot: Snapshot | None = None
    failure: Failure | None = None
    program: Program | None = None
    primary: Primary | None = None
    rules: tuple[Rule, ...] | None = None
    open_slots: tuple[OpenSlot, ...] | None = None
    slots_hidden: str | None = None
    temperature_c: float | None = None
    steered: tuple[Steered, ...] | None = None
    seconds: float = 0.0
