"""The parser -> a graph of blocks. The cursor is `offset`, an error is noted in `error` and ends parsing."""

from __future__ import annotations

from cais_tools.switch.codegen.expressions import wrapped
from cais_tools.switch.codegen.flow import END, Branch, Graph, render
from cais_tools.switch.codegen.layout import Codec
from cais_tools.switch.codegen.modes import Modes
from cais_tools.switch.codegen.primitives import PrimitiveEmitter
from cais_tools.switch.expressions import Const, Expr, Lookahead
from cais_tools.switch.headers import Header, elements
from cais_tools.switch.primitives import Assign
from cais_tools.switch.program import Advance, Extract, ExtractNext, ParserOp, ParserState, SelectCase, Verify

__all__ = ["parser_lines"]


def parser_lines(emit: PrimitiveEmitter, modes: Modes) -> list[str]:
    """The statements of the whole parser."""
    parser = emit.scope.program.parser
    graph = Graph(END if parser.start is None else _label(parser.start))
    for state in parser.states.values():
        _StateBlocks(emit, modes, graph, state).build()
    timeout = emit.scope.program.errors.get("ParserTimeout", 0)
    return render(graph, "state", [f"error = {timeout}", *emit.scope.trace("parser_error", str(timeout))])


def _label(state: str | None) -> str:
    return END if state is None else f"state {state}"


class _StateBlocks:
    """The blocks of one state: they end wherever an operation may fail."""

    def __init__(self, emit: PrimitiveEmitter, modes: Modes, graph: Graph, state: ParserState) -> None:
        self._emit = emit
        self._scope = emit.scope
        self._modes = modes
        self._graph = graph
        self._state = state
        self._errors = emit.scope.program.errors
        self._label = _label(state.name)
        self._lines: list[str] = []
        self._count = 0

    def build(self) -> None:
        self._lines += self._scope.trace("state", repr(self._state.name))
        for op in self._state.ops:
            self._op(op)
        self._select()

    # --- blocks ---

    def _new_label(self) -> str:
        self._count += 1
        return f"{_label(self._state.name)}:{self._count}"

    def _finish(self, leave: str | Branch, label: str) -> None:
        """Close the current block; the next lines go to `label`."""
        self._graph.add(self._label, self._lines, leave)
        self._label, self._lines = label, []

    def _fail_if(self, *cases: tuple[str, str]) -> None:
        """Parsing ends with an error (text of its number) where one of the conditions holds."""
        following = self._new_label()
        branches: list[tuple[str, str]] = []
        for condition, error in cases:
            label = self._new_label()
            self._graph.add(label, [f"error = {error}", *self._scope.trace("parser_error", "error")], END)
            branches.append((condition, label))
        self._finish(Branch(branches, following), following)

    def _error(self, name: str) -> str:
        return str(self._errors.get(name, 0))

    # --- operations ---

    def _op(self, op: ParserOp) -> None:
        if isinstance(op, Extract):
            self._extract(op.header, op.varbit_length)
        elif isinstance(op, ExtractNext):
            self._extract_next(op)
        elif isinstance(op, Verify):
            condition = self._emit.emitter.condition(op.condition)
            self._fail_if((f"not {condition}", self._emit.emitter.text(op.error)))
        elif isinstance(op, Advance):
            self._advance(op.bits)
        else:
            if isinstance(op, Assign) and isinstance(op.value, Lookahead):
                self._need(op.value)
            self._lines += self._emit.lines(op)

    def _need(self, ahead: Lookahead) -> None:
        self._fail_if((f"offset + {ahead.end} > size", self._error("PacketTooShort")))

    def _advance(self, bits: Expr) -> None:
        invalid, short = self._error("ParserInvalidArgument"), self._error("PacketTooShort")
        if isinstance(bits, Const) and bits.value >= 0 and bits.value % 8 == 0:
            self._fail_if((f"offset + {bits.value // 8} > size", short))
            self._lines.append(f"offset += {bits.value // 8}")
            return
        amount = self._scope.temporary()
        self._lines.append(f"{amount} = {self._length(bits)}")
        self._fail_if((f"{amount} & 7", invalid), (f"offset + ({amount} >> 3) > size", short))
        self._lines.append(f"offset += {amount} >> 3")

    def _length(self, bits: Expr) -> str:
        """A number of bits: never negative, whatever the packet says."""
        return f"({wrapped(self._emit.emitter.value(bits), 32, signed=False)})"

    def _extract_next(self, op: ExtractNext) -> None:
        headers = elements(op.stack, op.member)
        name = self._scope.next(op.stack)
        self._fail_if((f"{name} >= {len(headers)}", self._error("StackOutOfBounds")))
        after = self._new_label()
        labels = [self._new_label() for _ in headers]
        cases = [(f"{name} == {number}", label) for number, label in enumerate(labels)]
        self._finish(Branch(cases[:-1], labels[-1]), labels[0])
        for label, header in zip(labels, headers, strict=True):
            self._label, self._lines = label, []
            self._extract(header, op.varbit_length)
            self._finish(after, after)
        self._lines.append(f"{name} += 1")

    def _extract(self, header: Header, length: Expr | None) -> None:
        size = str(header.fixed_bits // 8)
        short = self._error("PacketTooShort")
        if header.varbit is not None and length is not None:
            bits = self._scope.temporary()
            self._lines.append(f"{bits} = {self._length(length)}")
            size = f"{size} + ({bits} >> 3)"
            checks = [(f"{bits} & 7", self._error("ParserInvalidArgument"))]
            checks.append((f"offset + {size} > size", short))
            if header.max_length:
                checks.append((f"{size} > {header.max_length}", self._error("HeaderTooShort")))
            self._fail_if(*checks)
            self._lines.append(f"{self._scope.bits(header.varbit)} = {bits}")
        else:
            self._fail_if((f"offset + {size} > size", short))
        self._lines += self._read(header, size)
        self._lines += self._emit.headers.set_valid(header)
        self._lines += self._scope.trace("extracted", repr(header.name), "offset", size)
        self._lines.append(f"offset += {size}")

    def _read(self, header: Header, size: str) -> list[str]:
        if not self._modes.ingress_fields(header):
            return [f"{self._scope.raw(header)} = data[offset:offset + {size}]"]
        lines = Codec(header).unpack(self._scope, "data", "offset")
        if self._modes.kept_in_place(header):
            lines.append(f"{self._scope.place(header)} = offset")
        return lines

    # --- the select ---

    def _select(self) -> None:
        state = self._state
        if not state.keys:
            self._finish(_label(state.default), END)
            return
        keys: list[tuple[str, int]] = []
        for expr, width in state.keys:
            if isinstance(expr, Lookahead):
                self._need(expr)
            keys.append((self._key(expr, width), width))
        self._lines += self._scope.trace("select", *(text for text, _ in keys))
        cases = [(self._condition(keys, case), _label(case.next_state)) for case in state.cases]
        self._finish(Branch(cases, _label(state.default)), END)

    def _key(self, expr: Expr, width: int) -> str:
        """The text of a key, never negative; a name, where it is looked at more than once."""
        value = self._emit.emitter.value(expr)
        mask = (1 << width) - 1
        text = value.text if value.within(0, mask) else f"({value.text} & {mask:#x})"
        if text.isidentifier() or len(self._state.cases) < 2:
            return text
        name = self._scope.temporary()
        self._lines.append(f"{name} = {text}")
        return name

    def _condition(self, keys: list[tuple[str, int]], case: SelectCase) -> str:
        if case.value_set is not None:
            return self._in_value_set(keys, case)
        parts: list[str] = []
        rest = sum(_padded(width) for _, width in keys)
        for text, width in keys:
            rest -= _padded(width)
            full = (1 << width) - 1
            mask = full if case.mask is None else case.mask >> rest & full
            value = case.value >> rest & ((1 << _padded(width)) - 1)
            if mask == full:
                parts.append(f"{text} == {value:#x}")
            elif mask:
                parts.append(f"{text} & {mask:#x} == {value & mask:#x}")
        return " and ".join(parts) or "True"

    def _in_value_set(self, keys: list[tuple[str, int]], case: SelectCase) -> str:
        number = list(self._scope.program.value_sets).index(case.value_set or "")
        total = sum(width for _, width in keys)
        parts: list[str] = []
        for text, width in keys:
            total -= width
            parts.append(f"{text} << {total}" if total else text)
        key = " | ".join(parts)
        if case.mask is None:
            return f"in_value_set(value_set_{number}, {key})"
        return f"in_value_set(value_set_{number}, {key}, {case.mask:#x})"


def _padded(width: int) -> int:
    """In the key of a select each part takes whole bytes."""
    return (width + 7) // 8 * 8
