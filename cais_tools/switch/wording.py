"""Parts of a program in words, much as their P4 source has them: for people who follow a packet through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cais_tools.switch.expressions import (
    Binary,
    BinaryOp,
    BoolConst,
    Cast,
    Choice,
    Const,
    ElementField,
    Expr,
    FieldValue,
    HeadersEqual,
    IsValid,
    LastField,
    LastIndex,
    Lookahead,
    ParamValue,
    RegisterValue,
    StackElement,
    Unary,
    UnaryOp,
    UnionIsValid,
)
from cais_tools.switch.headers import Header, HeaderStack, HeaderUnion, HeaderUnionStack, elements
from cais_tools.switch.primitives import AddHeader, CopyHeader, Exit, Pop, Primitive, Push, RemoveHeader, Truncate

if TYPE_CHECKING:
    from cais_tools.switch.expressions import HeaderRef, UnionRef

__all__ = ["expression_text", "step_text", "value_text"]

_LOGIC = {BinaryOp.AND: "&&", BinaryOp.OR: "||"}
_UNARY = {UnaryOp.NOT: "!", UnaryOp.NEGATE: "-", UnaryOp.INVERT: "~"}
_SMALL = 8
"""Numbers of at most so many bits are written in decimal, wider ones in hexadecimal."""


def value_text(value: int, width: int = 0) -> str:
    """A value of `width` bits: small ones in decimal, MAC addresses with colons, others in hexadecimal."""
    if width == 48 and value >= 0:
        return value.to_bytes(6, "big").hex(":")
    return str(value) if width <= _SMALL or -10 < value < 10 else hex(value)


def step_text(step: Primitive) -> str | None:
    """What a step does to headers or to the packet as a whole; None for steps of another kind."""
    if isinstance(step, AddHeader | RemoveHeader):
        return f"{_header(step.header)}.{'setValid' if isinstance(step, AddHeader) else 'setInvalid'}()"
    if isinstance(step, CopyHeader):
        return f"{_header(step.target)} = {_header(step.source)}"
    if isinstance(step, Push | Pop):
        return f"{step.stack.name}.{'push' if isinstance(step, Push) else 'pop'}_front({step.count})"
    if isinstance(step, Truncate):
        return f"truncate({expression_text(step.length)})"
    return "exit" if isinstance(step, Exit) else None


def expression_text(expr: Expr) -> str:
    """An expression as P4 writes it; no outer parentheses."""
    text = _text(expr)
    return text[1:-1] if isinstance(expr, Binary | Choice) else text


def _text(expr: Expr) -> str:
    match expr:
        case Const(value):
            return value_text(value, 64)
        case BoolConst(value):
            return "true" if value else "false"
        case FieldValue(field):
            return field.full_name
        case ParamValue(index):
            return f"argument {index}"
        case Unary(op, operand):
            return f"{_UNARY.get(op, '')}{_text(operand)}"
        case Binary(op, left, right):
            return f"({_text(left)} {_LOGIC.get(op, op.value)} {_text(right)})"
        case Cast(op, operand, width):
            return f"{op.value}<{width}>({expression_text(operand)})"
        case Choice(condition, left, right):
            return f"({_text(condition)} ? {_text(left)} : {_text(right)})"
        case RegisterValue(register, index):
            return f"{register}[{expression_text(index)}]"
        case _:
            return _of_headers(expr)


def _of_headers(expr: Expr) -> str:
    match expr:
        case ElementField(header, offset):
            stack = header.stack if isinstance(header, StackElement) else header.union.stack
            member = 0 if isinstance(header, StackElement) else header.member
            return f"{_header(header)}.{elements(stack, member)[0].fields[offset].name}"
        case IsValid(header):
            return f"{_header(header)}.isValid()"
        case UnionIsValid(union):
            return f"{_union(union)}.isValid()"
        case LastField(stack, offset, member):
            return f"{stack.name}.last.{elements(stack, member)[0].fields[offset].name}"
        case LastIndex(stack):
            return f"{stack.name}.lastIndex"
        case Lookahead(offset, width):
            return f"lookahead({width} bits at {offset})"
        case HeadersEqual(left, right):
            return f"({_header(left)} == {_header(right)})"
        case _:
            return str(expr)


def _header(ref: HeaderRef) -> str:
    if isinstance(ref, Header):
        return ref.name
    if isinstance(ref, StackElement):
        return _element(ref.stack, ref.index)
    member = ref.union.stack.unions[0].headers[ref.member].name.rpartition(".")[2]
    return f"{_union(ref.union)}.{member}"


def _union(ref: UnionRef) -> str:
    return ref.name if isinstance(ref, HeaderUnion) else _element(ref.stack, ref.index)


def _element(stack: HeaderStack | HeaderUnionStack, index: Expr) -> str:
    return f"{stack.name}[{expression_text(index)}]"
