"""What actions do, one class for each kind of step.

Steps that only the runtime can finish (clone, digest, resubmit, recirculate) are requests: `Request`. `drop` and
`mark_to_drop` are no steps of their own: the loader spells them out as assignments to standard metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cais_tools.switch.expressions import ElementField, Expr, HeaderRef, LastField, UnionRef
    from cais_tools.switch.headers import Field, HeaderStack, HeaderUnionStack
    from cais_tools.switch.program import Calculation

__all__ = [
    "AddHeader",
    "Assign",
    "AssignVarbit",
    "Check",
    "CopyHeader",
    "CopyStack",
    "CopyUnion",
    "Count",
    "ExecuteMeter",
    "Exit",
    "HashInto",
    "Jump",
    "JumpIfZero",
    "Log",
    "Pop",
    "Primitive",
    "Push",
    "RandomInto",
    "RegisterRead",
    "RegisterWrite",
    "RemoveHeader",
    "Request",
    "RequestKind",
    "Target",
    "Truncate",
]


@dataclass(frozen=True, slots=True)
class Assign:
    """Wraps to the width of the target."""

    target: Target
    value: Expr


@dataclass(frozen=True, slots=True)
class AssignVarbit:
    """Value and length."""

    target: Field
    source: Field


@dataclass(frozen=True, slots=True)
class AddHeader:
    """Make valid; the fields of a header that was not are 0 afterwards."""

    header: HeaderRef


@dataclass(frozen=True, slots=True)
class RemoveHeader:
    header: HeaderRef


@dataclass(frozen=True, slots=True)
class CopyHeader:
    """Fields and validity; an invalid source only makes the target invalid."""

    target: HeaderRef
    source: HeaderRef


@dataclass(frozen=True, slots=True)
class CopyUnion:
    target: UnionRef
    source: UnionRef


@dataclass(frozen=True, slots=True)
class CopyStack:
    """Element by element, and the position of the next one."""

    target: HeaderStack | HeaderUnionStack
    source: HeaderStack | HeaderUnionStack


@dataclass(frozen=True, slots=True)
class Push:
    """push_front: elements move up by `count`, the first ones become invalid."""

    stack: HeaderStack | HeaderUnionStack
    count: int


@dataclass(frozen=True, slots=True)
class Pop:
    """pop_front: elements move down by `count`, the last ones become invalid."""

    stack: HeaderStack | HeaderUnionStack
    count: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on with the primitive at index `target`; behind the last one the action ends."""

    target: int


@dataclass(frozen=True, slots=True)
class JumpIfZero:
    condition: Expr
    target: int


@dataclass(frozen=True, slots=True)
class Exit:
    """Ends the pipeline, once the action is over (as in bmv2: the rest of the action still runs)."""


@dataclass(frozen=True, slots=True)
class Count:
    """Nothing happens where `index` is out of range; the same for the next three."""

    counter: str
    index: Expr


@dataclass(frozen=True, slots=True)
class ExecuteMeter:
    meter: str
    index: Expr
    target: Target


@dataclass(frozen=True, slots=True)
class RegisterRead:
    target: Target
    register: str
    index: Expr


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    register: str
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class HashInto:
    """target = base + hash % size (size 0 counts as 1)."""

    target: Target
    base: Expr
    calculation: Calculation
    size: Expr


@dataclass(frozen=True, slots=True)
class RandomInto:
    """A number from `low` to `high`; nothing where low > high."""

    target: Target
    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class Truncate:
    """The frame that leaves has at most `length` bytes."""

    length: Expr


@dataclass(frozen=True, slots=True)
class Log:
    """log_msg: each `{}` of `format` stands for one of `values`."""

    format: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """assert and assume. bmv2 would abort; here it is logged, and the packet goes on."""

    condition: Expr
    name: str


class RequestKind(Enum):
    CLONE_INGRESS = "clone_ingress_pkt_to_egress"
    CLONE_EGRESS = "clone_egress_pkt_to_egress"
    DIGEST = "generate_digest"
    RESUBMIT = "resubmit"
    RECIRCULATE = "recirculate"


@dataclass(frozen=True, slots=True)
class Request:
    """Asks the runtime, when the pipeline has ended; of several of a kind the last one counts.

    `list_id` is the field list (for a digest: learn list); `session` the clone session.
    """

    kind: RequestKind
    list_id: int
    session: Expr | None = None


Primitive = (
    Assign
    | AssignVarbit
    | AddHeader
    | RemoveHeader
    | CopyHeader
    | CopyUnion
    | CopyStack
    | Push
    | Pop
    | Jump
    | JumpIfZero
    | Exit
    | Count
    | ExecuteMeter
    | RegisterRead
    | RegisterWrite
    | HashInto
    | RandomInto
    | Truncate
    | Log
    | Check
    | Request
)
if TYPE_CHECKING:
    Target = Field | ElementField | LastField
else:
    Target = object
