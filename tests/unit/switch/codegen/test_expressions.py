"""Generated expressions have the values that bmv2's arithmetic gives, and stay in the ranges that are claimed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cais_tools.switch.codegen.expressions import Emitter, Value, wrapped
from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.codegen.support import SUPPORT
from cais_tools.switch.expressions import (
    Binary,
    BinaryOp,
    Cast,
    CastOp,
    Choice,
    Const,
    Expr,
    FieldValue,
    Unary,
    UnaryOp,
    is_boolean,
)
from cais_tools.switch.headers import Field
from tests.unit.switch.programs import minimal_program

FIELDS = [
    Field(0, "meta", "a", 0, 8),
    Field(1, "meta", "b", 1, 32),
    Field(2, "meta", "c", 2, 16, signed=True),
    Field(3, "meta", "d", 3, 1),
]
ARITHMETIC = [
    BinaryOp.ADD,
    BinaryOp.SUBTRACT,
    BinaryOp.MULTIPLY,
    BinaryOp.BIT_AND,
    BinaryOp.BIT_OR,
    BinaryOp.BIT_XOR,
]
COMPARE = [BinaryOp.EQUAL, BinaryOp.NOT_EQUAL, BinaryOp.LESS, BinaryOp.GREATER_EQUAL]


def numbers() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.builds(Const, st.integers(-(1 << 33), 1 << 33)), st.builds(FieldValue, st.sampled_from(FIELDS))
    )
    return st.recursive(leaves, _larger, max_leaves=8)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    shift = st.builds(Const, st.integers(0, 40)) | st.just(FieldValue(FIELDS[0]))
    return st.one_of(
        st.builds(Binary, st.sampled_from(ARITHMETIC), inner, inner),
        st.builds(Binary, st.sampled_from([BinaryOp.SHIFT_LEFT, BinaryOp.SHIFT_RIGHT]), inner, shift),
        st.builds(Unary, st.sampled_from([UnaryOp.NEGATE, UnaryOp.INVERT]), inner),
        st.builds(Cast, st.sampled_from(list(CastOp)), inner, st.integers(1, 40)),
        st.builds(Choice, st.builds(Binary, st.sampled_from(COMPARE), inner, inner), inner, inner),
        st.builds(Unary, st.just(UnaryOp.BOOL_TO_DATA), st.builds(Binary, st.sampled_from(COMPARE), inner, inner)),
    )


def reference(expr: Any, values: dict[int, int]) -> int:
    """Infinite precision, as bmv2 computes."""
    match expr:
        case Const(value):
            return value
        case FieldValue(field):
            return values[field.ident]
        case Unary(op, operand):
            value = reference(operand, values)
            return {"-": -value, "~": ~value, "b2d": int(bool(value))}[op.value]
        case Cast(op, operand, width):
            return _cast(op, reference(operand, values), width)
        case Choice(condition, left, right):
            return reference(left if reference(condition, values) else right, values)
        case Binary(op, left, right):
            return int(eval(f"a {op.value} b", {"a": reference(left, values), "b": reference(right, values)}))
        case _:
            raise AssertionError(expr)


def _cast(op: CastOp, value: int, width: int) -> int:
    if op is CastOp.SATURATE_UNSIGNED:
        return min(max(value, 0), (1 << width) - 1)
    half = 1 << (width - 1)
    if op is CastOp.SATURATE_SIGNED:
        return min(max(value, -half), half - 1)
    return (value + half) % (1 << width) - half


def evaluate(text: str, scope: Scope, values: dict[int, int]) -> int:
    names = {scope.name_of(field): values[field.ident] for field in FIELDS}
    return eval(text, {**SUPPORT, **names})


def scope_with_fields() -> Scope:
    scope = Scope(minimal_program())
    scope.headers["meta"] = scope.headers["scalars"]
    return scope


@given(
    numbers(),
    st.integers(0, 255),
    st.integers(0, (1 << 32) - 1),
    st.integers(-(1 << 15), (1 << 15) - 1),
    st.integers(0, 1),
)
def test_values_and_ranges(expr: Expr, a: int, b: int, c: int, d: int) -> None:
    values = {0: a, 1: b, 2: c, 3: d}
    scope = scope_with_fields()
    value = Emitter(scope).value(expr)
    result = evaluate(value.text, scope, values)
    assert result == reference(expr, values)
    assert value.low is None or result >= value.low
    assert value.high is None or result <= value.high


@given(st.integers(-(1 << 70), 1 << 70), st.integers(1, 64), st.booleans())
def test_wrapping(number: int, width: int, signed: bool) -> None:
    result = eval(wrapped(Value(f"({number})"), width, signed=signed))
    expected = number % (1 << width)
    if signed and expected >> (width - 1):
        expected -= 1 << width
    assert result == expected


def test_masks_that_change_nothing_are_left_out() -> None:
    scope = scope_with_fields()
    masked = Binary(BinaryOp.BIT_AND, FieldValue(FIELDS[0]), Const(0xFFFF))
    assert Emitter(scope).text(masked) == scope.name_of(FIELDS[0])


def test_division_by_zero_is_zero() -> None:
    scope = scope_with_fields()
    for op in (BinaryOp.DIVIDE, BinaryOp.MODULO):
        text = Emitter(scope).text(Binary(op, Const(7), Const(0)))
        assert evaluate(text, scope, {0: 0, 1: 0, 2: 0, 3: 0}) == 0


def test_huge_shifts_do_not_fill_the_memory() -> None:
    scope = scope_with_fields()
    text = Emitter(scope).text(Binary(BinaryOp.SHIFT_LEFT, Const(1), FieldValue(FIELDS[1])))
    assert evaluate(text, scope, {0: 0, 1: (1 << 32) - 1, 2: 0, 3: 0}) == 0


def test_booleans_are_told_from_numbers() -> None:
    comparison = Binary(BinaryOp.EQUAL, Const(1), Const(1))
    assert is_boolean(comparison)
    assert is_boolean(Choice(comparison, comparison, comparison))
    assert not is_boolean(Unary(UnaryOp.BOOL_TO_DATA, comparison))
