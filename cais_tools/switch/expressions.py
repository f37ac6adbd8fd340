"""Expressions of the typed program.

A data expression has an integer value of unbounded precision, as in bmv2: nothing wraps before it is assigned, where
p4c wants a wrap it says so (`&`, `two_comp_mod`). A boolean expression is true or false. Headers that are chosen at
run time (`stack[i]`) are `StackElement` and `UnionStackElement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cais_tools.switch.headers import Field, Header, HeaderStack, HeaderUnion, HeaderUnionStack

__all__ = [
    "Binary",
    "BinaryOp",
    "BoolConst",
    "Cast",
    "CastOp",
    "Choice",
    "Const",
    "ElementField",
    "Expr",
    "FieldValue",
    "HeaderRef",
    "HeadersEqual",
    "IsValid",
    "LastField",
    "LastIndex",
    "Lookahead",
    "ParamValue",
    "RegisterValue",
    "StackElement",
    "Unary",
    "UnaryOp",
    "UnionElement",
    "UnionIsValid",
    "UnionMember",
    "UnionRef",
    "is_boolean",
]


class UnaryOp(Enum):
    NEGATE = "-"
    INVERT = "~"
    NOT = "not"
    BOOL_TO_DATA = "b2d"
    DATA_TO_BOOL = "d2b"


class BinaryOp(Enum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    BIT_AND = "&"
    BIT_OR = "|"
    BIT_XOR = "^"
    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    AND = "and"
    OR = "or"


class CastOp(Enum):
    """Casts to `width` bits: wrap to signed, saturate to unsigned, saturate to signed."""

    WRAP_SIGNED = "two_comp_mod"
    SATURATE_UNSIGNED = "usat_cast"
    SATURATE_SIGNED = "sat_cast"


@dataclass(frozen=True, slots=True)
class Const:
    value: int


@dataclass(frozen=True, slots=True)
class BoolConst:
    value: bool


@dataclass(frozen=True, slots=True)
class FieldValue:
    field: Field


@dataclass(frozen=True, slots=True)
class ParamValue:
    """An action's argument."""

    index: int
    width: int


@dataclass(frozen=True, slots=True)
class StackElement:
    """`stack[index]`, index known at run time only."""

    stack: HeaderStack
    index: Expr


@dataclass(frozen=True, slots=True)
class UnionElement:
    """`union_stack[index]`."""

    stack: HeaderUnionStack
    index: Expr


@dataclass(frozen=True, slots=True)
class UnionMember:
    """One header of a union that is an element of a stack."""

    union: UnionElement
    member: int


@dataclass(frozen=True, slots=True)
class ElementField:
    """A field (by its place) of a header chosen at run time."""

    header: StackElement | UnionMember
    offset: int


@dataclass(frozen=True, slots=True)
class IsValid:
    header: HeaderRef


@dataclass(frozen=True, slots=True)
class UnionIsValid:
    union: UnionRef


@dataclass(frozen=True, slots=True)
class LastField:
    """A field of the last element of a stack that was extracted (`stack.last`); `member` for stacks of unions."""

    stack: HeaderStack | HeaderUnionStack
    offset: int
    member: int = 0


@dataclass(frozen=True, slots=True)
class LastIndex:
    """`stack.lastIndex`."""

    stack: HeaderStack | HeaderUnionStack


@dataclass(frozen=True, slots=True)
class Lookahead:
    """`width` bits that start `offset` bits behind the parser's cursor."""

    offset: int
    width: int

    @property
    def end(self) -> int:
        """How many bytes must be there, from the cursor on."""
        return (self.offset + self.width + 7) // 8


@dataclass(frozen=True, slots=True)
class RegisterValue:
    register: str
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary:
    op: UnaryOp
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    op: BinaryOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cast:
    op: CastOp
    operand: Expr
    width: int


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? left : right`."""

    condition: Expr
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class HeadersEqual:
    """Both valid, of the same type and equal in every field, as bmv2 compares."""

    left: HeaderRef
    right: HeaderRef


Expr = (
    Const
    | BoolConst
    | FieldValue
    | ParamValue
    | ElementField
    | IsValid
    | UnionIsValid
    | LastField
    | LastIndex
    | Lookahead
    | RegisterValue
    | Unary
    | Binary
    | Cast
    | Choice
    | HeadersEqual
)
if TYPE_CHECKING:
    HeaderRef = Header | StackElement | UnionMember
    UnionRef = HeaderUnion | UnionElement
else:
    HeaderRef = UnionRef = object

_BOOLEAN_UNARY = (UnaryOp.NOT, UnaryOp.DATA_TO_BOOL)
_BOOLEAN_BINARY = (
    BinaryOp.EQUAL,
    BinaryOp.NOT_EQUAL,
    BinaryOp.LESS,
    BinaryOp.LESS_EQUAL,
    BinaryOp.GREATER,
    BinaryOp.GREATER_EQUAL,
    BinaryOp.AND,
    BinaryOp.OR,
)


def is_boolean(expr: Expr) -> bool:
    """Whether an expression is true or false rather than a number."""
    if isinstance(expr, Choice):
        return is_boolean(expr.left)
    if isinstance(expr, Unary):
        return expr.op in _BOOLEAN_UNARY
    if isinstance(expr, Binary):
        return expr.op in _BOOLEAN_BINARY
    return isinstance(expr, BoolConst | IsValid | UnionIsValid | HeadersEqual)
