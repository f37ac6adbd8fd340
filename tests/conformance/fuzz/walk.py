"""A packet that takes a random path through a program's parser."""

from __future__ import annotations

import random
from collections.abc import Callable

from cais_tools.switch.expressions import Binary, BinaryOp, Cast, Const, Expr, FieldValue, LastField, Lookahead
from cais_tools.switch.headers import Field, Header, HeaderStack, HeaderUnionStack, elements
from cais_tools.switch.primitives import Assign
from cais_tools.switch.program import Advance, Extract, ExtractNext, Parser, ParserOp, ParserState, SelectCase
from tests.conformance.fuzz.values import ValuePool

__all__ = ["walk"]

_MOST_STATES = 40
_MOST_BITS = 8 * 400
_OPERATORS: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: lambda left, right: left + right,
    BinaryOp.SUBTRACT: lambda left, right: left - right,
    BinaryOp.MULTIPLY: lambda left, right: left * right,
    BinaryOp.SHIFT_LEFT: lambda left, right: left << min(right, 64),
    BinaryOp.SHIFT_RIGHT: lambda left, right: left >> right,
    BinaryOp.BIT_AND: lambda left, right: left & right,
    BinaryOp.BIT_OR: lambda left, right: left | right,
}


def walk(parser: Parser, pool: ValuePool, rng: random.Random) -> bytes:
    """The headers only; whole bytes."""
    path = _Walk(pool, rng)
    state = parser.start
    for _ in range(_MOST_STATES):
        if state is None or path.cursor > _MOST_BITS:
            break
        state = path.pass_through(parser.states[state])
    return path.packet()


class _Walk:
    """`bits` of a packet, the first `length` of which are decided, and the parser's cursor in it."""

    def __init__(self, pool: ValuePool, rng: random.Random) -> None:
        self.cursor = 0
        self._pool = pool
        self._rng = rng
        self._bits = 0
        self._length = 0
        self._places: dict[int, tuple[int, int]] = {}
        self._metadata: dict[int, int] = {}
        self._extracted: dict[str, list[Header]] = {}

    def packet(self) -> bytes:
        self._fill(-self._length % 8 + self._length)
        return self._bits.to_bytes(self._length // 8, "big")

    def pass_through(self, state: ParserState) -> str | None:
        for op in state.ops:
            self._op(op)
        cases = [*state.cases, None]
        case = self._rng.choice(cases)
        if case is None:
            return state.default
        self._satisfy(state, case)
        return case.next_state

    # --- operations ---

    def _op(self, op: ParserOp) -> None:
        if isinstance(op, Extract):
            self._extract(op.header, op.varbit_length)
        elif isinstance(op, ExtractNext):
            self._extract_next(op.stack, op.member, op.varbit_length)
        elif isinstance(op, Advance):
            self.cursor += min(max(self._value(op.bits) or 0, 0), _MOST_BITS)
            self._fill(self.cursor)
        elif isinstance(op, Assign) and isinstance(op.target, Field):
            value = self._value(op.value)
            if value is not None:
                self._metadata[op.target.ident] = value & ((1 << op.target.width) - 1)

    def _extract_next(self, stack: HeaderStack | HeaderUnionStack, member: int, length: Expr | None) -> None:
        done = self._extracted.setdefault(stack.name, [])
        headers = elements(stack, member)
        header = headers[min(len(done), len(headers) - 1)]
        done.append(header)
        self._extract(header, length)

    def _extract(self, header: Header, length: Expr | None) -> None:
        for field in header.fields:
            width = self._varbit_width(field, length) if field.varbit else field.width
            self._fill(self.cursor)
            if self.cursor == self._length:
                self._append(self._pool.pick(width), width)
            self.cursor += width
            self._fill(self.cursor)
            self._places[field.ident] = (self.cursor - width, width)

    def _varbit_width(self, field: Field, length: Expr | None) -> int:
        wanted = None if length is None else self._value(length)
        if wanted is None or not 0 <= wanted <= _MOST_BITS:
            return 8 * self._rng.randrange(field.width // 8 + 1)
        return wanted

    # --- the select ---

    def _satisfy(self, state: ParserState, case: SelectCase) -> None:
        """Change the packet so that a case is taken, as far as its keys are in the packet."""
        if case.value_set is not None:
            return
        rest = sum((width + 7) // 8 * 8 for _, width in state.keys)
        for expr, width in state.keys:
            rest -= (width + 7) // 8 * 8
            full = (1 << width) - 1
            mask = full if case.mask is None else case.mask >> rest & full
            place = self._place(expr)
            if place is not None and place[1] >= width:
                self._set(place[0], width, case.value >> rest & full, mask)

    def _place(self, expr: Expr) -> tuple[int, int] | None:
        """Where in the packet a value stands: (first bit, width)."""
        if isinstance(expr, FieldValue):
            return self._places.get(expr.field.ident)
        if isinstance(expr, LastField):
            done = self._extracted.get(expr.stack.name)
            return self._places.get(done[-1].fields[expr.offset].ident) if done else None
        if isinstance(expr, Lookahead):
            start = self.cursor + expr.offset
            self._fill(start + expr.width)
            return start, expr.width
        return None

    # --- values and bits ---

    def _value(self, expr: Expr) -> int | None:
        """What an expression is for this packet; None where that is too difficult."""
        if isinstance(expr, Const):
            return expr.value
        if isinstance(expr, Cast):
            return self._value(expr.operand)
        if isinstance(expr, Binary) and expr.op in _OPERATORS:
            left, right = self._value(expr.left), self._value(expr.right)
            return None if left is None or right is None or right < 0 else _OPERATORS[expr.op](left, right)
        place = self._place(expr)
        if place is not None:
            return self._get(*place)
        return self._metadata.get(expr.field.ident) if isinstance(expr, FieldValue) else None

    def _append(self, value: int, width: int) -> None:
        self._bits = self._bits << width | value
        self._length += width

    def _fill(self, length: int) -> None:
        if length > self._length:
            missing = length - self._length
            self._append(self._pool.pick(missing), missing)

    def _get(self, start: int, width: int) -> int:
        return self._bits >> (self._length - start - width) & ((1 << width) - 1)

    def _set(self, start: int, width: int, value: int, mask: int) -> None:
        shift = self._length - start - width
        self._bits = self._bits & ~(mask << shift) | (value & mask) << shift
