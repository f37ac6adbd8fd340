"""What the leader of a group tells the controller, and hears from it: plain values, whatever carries them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from cais_tools.training.schedule import Decision, OperationClass

__all__ = [
    "Block",
    "Changed",
    "Directive",
    "Force",
    "NeedBlock",
    "NeedEpoch",
    "NewEpoch",
    "Path",
    "Prove",
    "Proved",
    "Report",
    "Trouble",
    "What",
]


class Path(enum.Enum):
    AUTO = "auto"
    SWITCH = "switch"
    ENDPOINT = "endpoint"


class What(enum.Enum):
    """Kinds of trouble, as the controller's protocol has them."""

    TIMED_OUT = "timed out"
    REFUSED = "refused"
    RANK_LOST = "rank lost"
    DIVERGED = "diverged"


@dataclass(frozen=True, slots=True)
class NeedBlock:
    """The routes of operations [first, first + count) are wanted; `seen` are the classes of the last ones."""

    first: int
    count: int
    seen: tuple[OperationClass, ...]


@dataclass(frozen=True, slots=True)
class NeedEpoch:
    """All ranks begin a new job on the switch."""

    request: int


@dataclass(frozen=True, slots=True)
class Changed:
    """Answers Force: it holds from this operation on."""

    request: int
    from_operation: int


@dataclass(frozen=True, slots=True)
class Proved:
    """Answers Prove: whether every rank has seen the right sum."""

    request: int
    right: bool
    text: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """With `on_endpoints` the group stays there until the switch has proved itself."""

    what: What
    operation: int
    ranks: tuple[int, ...]
    text: str
    on_endpoints: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Answers NeedBlock."""

    first: int
    count: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class NewEpoch:
    """Answers NeedEpoch; 0: there is none now."""

    request: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Force:
    """Take this path from the next operation on that nobody has begun; AUTO: as the blocks say."""

    request: int
    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Prove:
    """Reduce a test vector on the switch, in the job `epoch`, before the next operation."""

    request: int
    epoch: int


Report: TypeAlias = NeedBlock | NeedEpoch | Changed | Proved | Trouble
Directive: TypeAlias = Block | NewEpoch | Force | Prove
