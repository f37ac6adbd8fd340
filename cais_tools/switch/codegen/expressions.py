"""Expressions -> Python text, with the range of values that each can have.

The range decides where an assignment has to wrap: p4c writes most wraps into the expression itself, so few are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.expressions import (
    Binary,
    BinaryOp,
    BoolConst,
    Cast,
    CastOp,
    Choice,
    Const,
    ElementField,
    Expr,
    FieldValue,
    HeaderRef,
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
    UnionRef,
    is_boolean,
)
from cais_tools.switch.headers import Field, Header, HeaderUnion, elements, value_range

__all__ = ["Emitter", "Value", "candidates", "wrapped"]

_LOGIC = (BinaryOp.AND, BinaryOp.OR)
_COMPARE = (
    BinaryOp.EQUAL,
    BinaryOp.NOT_EQUAL,
    BinaryOp.LESS,
    BinaryOp.LESS_EQUAL,
    BinaryOp.GREATER,
    BinaryOp.GREATER_EQUAL,
)
_SHIFT_LIMIT = 4096
"""Shifts to the left by at most so much are inlined; beyond, a function sees to it that they cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class Value:
    """Text and the least and greatest value that it can have, None: unbounded."""

    text: str
    low: int | None = None
    high: int | None = None

    def within(self, low: int, high: int) -> bool:
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


def wrapped(value: Value, width: int, *, signed: bool) -> str:
    """The text of a value as `width` bits hold it."""
    low, high = value_range(width, signed=signed)
    if value.within(low, high):
        return value.text
    if not signed:
        return f"{value.text} & {high:#x}"
    half = 1 << (width - 1)
    return f"({value.text} + {half:#x} & {(1 << width) - 1:#x}) - {half:#x}"


def candidates(ref: HeaderRef) -> tuple[list[Header], Expr | None]:
    """The headers that may be meant, and the index that chooses (None: it is the only one)."""
    if isinstance(ref, Header):
        return [ref], None
    if isinstance(ref, StackElement):
        return list(ref.stack.headers), ref.index
    return list(elements(ref.union.stack, ref.member)), ref.union.index


def _union_candidates(ref: UnionRef) -> tuple[list[HeaderUnion], Expr | None]:
    if isinstance(ref, HeaderUnion):
        return [ref], None
    return list(ref.stack.unions), ref.index


class Emitter:
    """Emits expressions in a scope. `arg` names the arguments of the action around them."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    # --- entry points ---

    def value(self, expr: Expr) -> Value:
        """An expression as a number; a boolean counts 1 or 0."""
        if is_boolean(expr):
            if isinstance(expr, BoolConst):
                return Value(str(int(expr.value)), int(expr.value), int(expr.value))
            return Value(f"(1 if {self.condition(expr)} else 0)", 0, 1)
        return self._data(expr)

    def text(self, expr: Expr) -> str:
        return self.value(expr).text

    def condition(self, expr: Expr) -> str:
        """Text that is true or false in the sense of Python's `if`."""
        if isinstance(expr, Unary) and expr.op is UnaryOp.NOT:
            return f"not {self.condition(expr.operand)}"
        if isinstance(expr, Unary) and expr.op in (UnaryOp.DATA_TO_BOOL, UnaryOp.BOOL_TO_DATA):
            return self.condition(expr.operand)
        if isinstance(expr, Binary) and expr.op in _LOGIC:
            return f"({self.condition(expr.left)} {expr.op.value} {self.condition(expr.right)})"
        if isinstance(expr, Binary) and expr.op in _COMPARE:
            return self._comparison(expr)
        if isinstance(expr, BoolConst):
            return str(expr.value)
        if isinstance(expr, IsValid):
            return self._over_headers(expr.header, self.scope.valid)
        if isinstance(expr, UnionIsValid):
            return self._union_valid(expr.union)
        if isinstance(expr, HeadersEqual):
            return self._headers_equal(expr)
        if isinstance(expr, Choice):
            parts = (self.condition(each) for each in (expr.left, expr.condition, expr.right))
            return "({} if {} else {})".format(*parts)
        return self._data(expr).text

    def index(self, expr: Expr, size: int) -> tuple[str, bool]:
        """An index's text, and whether it is certainly in range."""
        value = self.value(expr)
        return value.text, value.within(0, size - 1)

    def held(self, text: str) -> tuple[list[str], str]:
        """For text that is used more than once: where evaluating it tells a tracer something, that happens once."""
        if "trace." not in text:
            return [], text
        name = self.scope.temporary()
        return [f"{name} = {text}"], name

    # --- data ---

    def _data(self, expr: Expr) -> Value:
        if isinstance(expr, Const):
            text = hex(expr.value) if expr.value > 9 else str(expr.value)
            return Value(text if expr.value >= 0 else f"({text})", expr.value, expr.value)
        if isinstance(expr, FieldValue):
            return self.field(expr.field)
        if isinstance(expr, ParamValue):
            return Value(f"arg{expr.index}", 0, (1 << expr.width) - 1)
        if isinstance(expr, Unary):
            return self._unary(expr)
        if isinstance(expr, Binary):
            return self._binary(expr)
        if isinstance(expr, Cast):
            return self._cast(expr)
        if isinstance(expr, Choice):
            left, right = self.value(expr.left), self.value(expr.right)
            text = f"({left.text} if {self.condition(expr.condition)} else {right.text})"
            return Value(text, _least(left.low, right.low), _most(left.high, right.high))
        return self._chosen(expr)

    def field(self, field: Field) -> Value:
        low, high = field.range
        return Value(self.scope.field(field), low, high)

    def _chosen(self, expr: Expr) -> Value:
        """What depends on the position in a stack or packet."""
        if isinstance(expr, ElementField):
            sample = candidates(expr.header)[0][0].fields[expr.offset]
            text = self._over_headers(expr.header, lambda header: self.scope.field(header.fields[expr.offset]))
            return Value(text, *sample.range)
        if isinstance(expr, LastField):
            return self._last_field(expr)
        if isinstance(expr, LastIndex):
            return Value(f"({self.scope.next(expr.stack)} - 1)", -1, len(elements(expr.stack)) - 1)
        if isinstance(expr, Lookahead):
            return self._lookahead(expr)
        if isinstance(expr, RegisterValue):
            spec = self.scope.program.registers[expr.register]
            number, index = _number(self.scope, expr.register), self.text(expr.index)
            text = f"element(register_{number}, {index})"
            if self.scope.tracing:
                text = f"trace.register_value({expr.register!r}, {index})"
            return Value(text, 0, (1 << spec.width) - 1)
        raise TypeError(f"no data expression: {expr}")

    def _last_field(self, expr: LastField) -> Value:
        fields = [header.fields[expr.offset] for header in elements(expr.stack, expr.member)]
        names = ", ".join(self.scope.field(field) for field in fields)
        # Where nothing was extracted yet bmv2 has no answer; -1 gives some element, and no exception.
        text = f"({names},)[{self.scope.next(expr.stack)} - 1]"
        return Value(text, *fields[0].range)

    def _lookahead(self, expr: Lookahead) -> Value:
        """The parser makes sure that the bits are there."""
        first, last = expr.offset // 8, expr.end
        shift = last * 8 - expr.offset - expr.width
        text = f"from_bytes(data[offset + {first}:offset + {last}])"
        if shift:
            text = f"({text} >> {shift})"
        if expr.offset % 8:
            text = f"({text} & {(1 << expr.width) - 1:#x})"
        return Value(text, 0, (1 << expr.width) - 1)

    def _unary(self, expr: Unary) -> Value:
        if expr.op is UnaryOp.BOOL_TO_DATA:
            return self._number_of(expr.operand)
        operand = self.value(expr.operand)
        if expr.op is UnaryOp.NEGATE:
            return Value(f"(-{operand.text})", _negated(operand.high), _negated(operand.low))
        low = None if operand.high is None else -operand.high - 1
        high = None if operand.low is None else -operand.low - 1
        return Value(f"(~{operand.text})", low, high)

    def _number_of(self, expr: Expr) -> Value:
        """A boolean as 1 or 0; a field that is one already stays as it is."""
        if isinstance(expr, Unary) and expr.op is UnaryOp.DATA_TO_BOOL:
            operand = self.value(expr.operand)
            if operand.within(0, 1):
                return operand
        return self.value(expr)

    # --- arithmetic ---

    def _binary(self, expr: Binary) -> Value:
        left, right = self.value(expr.left), self.value(expr.right)
        plain = Value(f"({left.text} {expr.op.value} {right.text})")
        if expr.op is BinaryOp.BIT_AND:
            return _bit_and(left, right)
        if expr.op in (BinaryOp.BIT_OR, BinaryOp.BIT_XOR):
            return Value(plain.text, *_union_of_bits(left, right))
        if expr.op is BinaryOp.ADD:
            return Value(plain.text, _sum(left.low, right.low), _sum(left.high, right.high))
        if expr.op is BinaryOp.SUBTRACT:
            low, high = _sum(left.low, _negated(right.high)), _sum(left.high, _negated(right.low))
            return Value(plain.text, low, high)
        if expr.op is BinaryOp.MULTIPLY:
            return Value(plain.text, *_product(left, right))
        if expr.op is BinaryOp.SHIFT_LEFT:
            return _shift_left(left, right)
        if expr.op is BinaryOp.SHIFT_RIGHT:
            return _shift_right(left, right)
        name = "divide" if expr.op is BinaryOp.DIVIDE else "modulo"
        return Value(f"{name}({left.text}, {right.text})", 0, left.high)

    def _cast(self, expr: Cast) -> Value:
        operand = self.value(expr.operand)
        signed = expr.op is not CastOp.SATURATE_UNSIGNED
        low, high = value_range(expr.width, signed=signed)
        if operand.within(low, high):
            return operand
        if expr.op is CastOp.WRAP_SIGNED:
            return Value(f"({wrapped(operand, expr.width, signed=True)})", low, high)
        return Value(f"clamp({operand.text}, {low}, {high})", low, high)

    def _comparison(self, expr: Binary) -> str:
        if is_boolean(expr.left) or is_boolean(expr.right):
            left, right = f"bool({self.condition(expr.left)})", f"bool({self.condition(expr.right)})"
        else:
            left, right = self._data(expr.left).text, self._data(expr.right).text
        return f"({left} {expr.op.value} {right})"

    # --- headers ---

    def _over_headers(self, ref: HeaderRef, text: Callable[[Header], str]) -> str:
        headers, index = candidates(ref)
        if index is None:
            return text(headers[0])
        return self._choose([text(header) for header in headers], index)

    def _choose(self, texts: list[str], index: Expr) -> str:
        where, safe = self.index(index, len(texts))
        choices = f"({', '.join(texts)},)"
        return f"{choices}[{where}]" if safe else f"element({choices}, {where})"

    def _union_valid(self, ref: UnionRef) -> str:
        unions, index = _union_candidates(ref)
        texts = ["(" + " or ".join(self.scope.valid(each) for each in union.headers) + ")" for union in unions]
        return texts[0] if index is None else self._choose(texts, index)

    def _headers_equal(self, expr: HeadersEqual) -> str:
        return self._over_headers(
            expr.left,
            lambda left: self._over_headers(expr.right, lambda right: self._pair_equal(left, right)),
        )

    def _pair_equal(self, left: Header, right: Header) -> str:
        if left.type_name != right.type_name:
            return "False"
        valid = f"{self.scope.valid(left)} and {self.scope.valid(right)}"
        return f"({valid} and {self._contents(left)} == {self._contents(right)})"

    def _contents(self, header: Header) -> str:
        names = [self.scope.field(field) for field in header.fields]
        names += [self.scope.bits(field) for field in header.fields if field.varbit]
        return f"({', '.join(names)},)"


def _number(scope: Scope, register: str) -> int:
    return list(scope.program.registers).index(register)


# --- ranges; None is unbounded ---


def _least(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else min(left, right)


def _most(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else max(left, right)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _negated(value: int | None) -> int | None:
    return None if value is None else -value


def _product(left: Value, right: Value) -> tuple[int | None, int | None]:
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return None, None
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return min(corners), max(corners)


def _bit_and(left: Value, right: Value) -> Value:
    """Also leaves out masks that change nothing."""
    for value, mask in ((left, right), (right, left)):
        constant = mask.low if mask.low == mask.high else None
        if constant is not None and constant >= 0 and constant & (constant + 1) == 0:
            if value.within(0, constant):
                return value
            return Value(f"({value.text} & {constant:#x})", 0, constant)
    text = f"({left.text} & {right.text})"
    bounds = [each.high for each in (left, right) if each.low is not None and each.low >= 0]
    highs = [high for high in bounds if high is not None]
    return Value(text, 0, min(highs)) if highs else Value(text)


def _union_of_bits(left: Value, right: Value) -> tuple[int | None, int | None]:
    if left.low is None or right.low is None or left.high is None or right.high is None:
        return None, None
    if left.low < 0 or right.low < 0:
        return None, None
    return 0, (1 << max(left.high, right.high).bit_length()) - 1


def _shift_left(left: Value, right: Value) -> Value:
    if not right.within(0, _SHIFT_LIMIT):
        return Value(f"shift_left({left.text}, {right.text})")
    text = f"({left.text} << {right.text})"
    if left.low is None or left.high is None or right.high is None:
        return Value(text)
    return Value(text, min(left.low << right.high, left.low), max(left.high << right.high, left.high))


def _shift_right(left: Value, right: Value) -> Value:
    if right.low is None or right.low < 0:
        return Value(f"shift_right({left.text}, {right.text})", _floor(left.low), left.high)
    text = f"({left.text} >> {right.text})"
    if left.low is None or left.high is None:
        return Value(text)
    if left.low >= 0:
        return Value(text, 0, left.high >> right.low)
    return Value(text, left.low, max(left.high, 0))


def _floor(low: int | None) -> int | None:
    return None if low is None else min(low, 0)
