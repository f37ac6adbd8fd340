"""Primitives -> Python statements, and actions -> blocks of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cais_tools.switch.codegen.calculations import CalculationEmitter
from cais_tools.switch.codegen.expressions import Emitter, Value, candidates, wrapped
from cais_tools.switch.codegen.flow import END, Branch, Graph, indent
from cais_tools.switch.codegen.headers import HeaderEmitter
from cais_tools.switch.expressions import LastField
from cais_tools.switch.headers import Field, elements
from cais_tools.switch.primitives import (
    AddHeader,
    Assign,
    AssignVarbit,
    Check,
    CopyHeader,
    CopyStack,
    CopyUnion,
    Count,
    ExecuteMeter,
    Exit,
    HashInto,
    Log,
    Pop,
    Primitive,
    Push,
    RandomInto,
    RegisterRead,
    RegisterWrite,
    RemoveHeader,
    Request,
    RequestKind,
    Target,
    Truncate,
)
from cais_tools.switch.program import Action
from cais_tools.switch.wording import step_text

__all__ = ["REQUESTS", "PrimitiveEmitter"]

REQUESTS = {
    RequestKind.CLONE_INGRESS: ("clone", "None"),
    RequestKind.CLONE_EGRESS: ("clone", "None"),
    RequestKind.DIGEST: ("digest", "0"),
    RequestKind.RESUBMIT: ("resubmit", "0"),
    RequestKind.RECIRCULATE: ("recirculate", "0"),
}
"""The variable that notes each kind of request, and its value when there is none."""


class PrimitiveEmitter:
    """Emits the primitives of one function."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.scope = emitter.scope
        self.headers = HeaderEmitter(emitter)
        self.calculations = CalculationEmitter(emitter)

    # --- actions ---

    def action(self, graph: Graph, label: str, action: Action, following: str) -> None:
        """Add the blocks of an action to a graph: from `label` on, to `following`."""
        builder = _ActionBlocks(self, graph, label, action, following)
        builder.build()

    # --- single steps ---

    def lines(self, primitive: Primitive) -> list[str]:
        """The statements of a primitive that is no jump."""
        lines = _EMITTERS[type(primitive)](self, primitive)
        text = step_text(primitive) if self.scope.tracing else None
        return lines if text is None else [*self.scope.trace("step", repr(text)), *lines]

    def assign(self, target: Target, value: Value) -> list[str]:
        """Assign with the wrap that the target needs."""
        if isinstance(target, Field):
            name = self.scope.field(target)
            told = self.scope.trace("assigned", str(target.ident), name)
            return [f"{name} = {wrapped(value, target.width, signed=target.signed)}", *told]
        if isinstance(target, LastField):
            return self._assign_last(target, value)
        headers, index = candidates(target.header)
        fields = [header.fields[target.offset] for header in headers]
        if index is None:
            return self.assign(fields[0], value)
        held = self.scope.temporary()
        arms = [self.assign(field, Value(held, value.low, value.high)) for field in fields]
        return [f"{held} = {value.text}", *self.headers.choose(index, arms)]

    def _assign_last(self, target: LastField, value: Value) -> list[str]:
        lines: list[str] = []
        for number, header in enumerate(elements(target.stack, target.member), 1):
            word = "elif" if lines else "if"
            lines.append(f"{word} {self.scope.next(target.stack)} == {number}:")
            lines += indent(self.assign(header.fields[target.offset], value))
        return lines


def _assign(emit: PrimitiveEmitter, step: Assign) -> list[str]:
    return emit.assign(step.target, emit.emitter.value(step.value))


def _assign_varbit(emit: PrimitiveEmitter, step: AssignVarbit) -> list[str]:
    scope = emit.scope
    return [
        f"{scope.field(step.target)} = {scope.field(step.source)}",
        f"{scope.bits(step.target)} = {scope.bits(step.source)}",
    ]


def _count(emit: PrimitiveEmitter, step: Count) -> list[str]:
    names = list(emit.scope.program.counters)
    size = emit.scope.program.counters[step.counter].size
    index, safe = emit.emitter.index(step.index, size)
    held, index = emit.emitter.held(index)
    cell = emit.scope.temporary()
    body = [
        f"{cell} = counter_{names.index(step.counter)}[{index}]",
        f"{cell}[0] += 1",
        f"{cell}[1] += size",
        *emit.scope.trace("counted", repr(step.counter), index),
    ]
    return [*held, *(body if safe else [f"if 0 <= {index} < {size}:", *indent(body)])]


def _execute_meter(emit: PrimitiveEmitter, step: ExecuteMeter) -> list[str]:
    names = list(emit.scope.program.meters)
    spec = emit.scope.program.meters[step.meter]
    index, safe = emit.emitter.index(step.index, spec.size)
    held, index = emit.emitter.held(index)
    units = "size" if spec.in_bytes else "1"
    color = Value(f"meter_{names.index(step.meter)}[{index}].execute(clock(), {units}, size)", 0, 2)
    body = [*emit.scope.trace("metered", repr(step.meter), index), *emit.assign(step.target, color)]
    return [*held, *(body if safe else [f"if 0 <= {index} < {spec.size}:", *indent(body)])]


def _register_read(emit: PrimitiveEmitter, step: RegisterRead) -> list[str]:
    program = emit.scope.program
    spec = program.registers[step.register]
    index, safe = emit.emitter.index(step.index, spec.size)
    held, index = emit.emitter.held(index)
    source = Value(f"register_{list(program.registers).index(step.register)}[{index}]", 0, (1 << spec.width) - 1)
    body = emit.assign(step.target, source)
    told = emit.scope.trace("register_read", repr(step.register), index)
    return [*held, *told, *(body if safe else _in_range(body))]


def _register_write(emit: PrimitiveEmitter, step: RegisterWrite) -> list[str]:
    program = emit.scope.program
    spec = program.registers[step.register]
    index, safe = emit.emitter.index(step.index, spec.size)
    held, index = emit.emitter.held(index)
    more, value = emit.emitter.held(wrapped(emit.emitter.value(step.value), spec.width, signed=False))
    body = [f"register_{list(program.registers).index(step.register)}[{index}] = {value}"]
    told = emit.scope.trace("register_written", repr(step.register), index, value)
    return [*held, *more, *told, *(body if safe else _in_range(body))]


def _in_range(body: list[str]) -> list[str]:
    """Nothing happens out of range. An index is never negative, and a `try` that succeeds costs nothing."""
    return ["try:", *indent(body), "except IndexError:", "    pass"]


def _hash(emit: PrimitiveEmitter, step: HashInto) -> list[str]:
    lines, hashed = emit.calculations.hash(step.calculation)
    base, size = emit.emitter.text(step.base), emit.emitter.text(step.size)
    return lines + emit.assign(step.target, Value(f"({hashed} % ({size} or 1) + {base})"))


def _random(emit: PrimitiveEmitter, step: RandomInto) -> list[str]:
    held, low = emit.emitter.held(emit.emitter.text(step.low))
    more, high = emit.emitter.held(emit.emitter.text(step.high))
    body = emit.assign(step.target, Value(f"random_between({low}, {high})"))
    return [*held, *more, f"if {low} <= {high}:", *indent(body)]


def _truncate(emit: PrimitiveEmitter, step: Truncate) -> list[str]:
    limit = emit.scope.limit()
    return [f"{limit} = min({limit}, {emit.emitter.text(step.length)})"]


def _log(emit: PrimitiveEmitter, step: Log) -> list[str]:
    values = "".join(f"{emit.emitter.text(value)}, " for value in step.values)
    return [f"log({step.format!r}, ({values}))"]


def _check(emit: PrimitiveEmitter, step: Check) -> list[str]:
    message = f"{step.name} failed"
    return [f"if not {emit.emitter.condition(step.condition)}:", *indent([f"log({message!r}, ())"])]


def _request(emit: PrimitiveEmitter, step: Request) -> list[str]:
    name, zero = REQUESTS[step.kind]
    variable = emit.scope.variable(name, zero)
    if step.session is None:
        return [f"{variable} = {step.list_id}"]
    return [f"{variable} = ({emit.emitter.text(step.session)} & 0x7fff, {step.list_id})"]


_EMITTERS: dict[type, Callable[[PrimitiveEmitter, Any], list[str]]] = {
    Assign: _assign,
    AssignVarbit: _assign_varbit,
    AddHeader: lambda emit, step: emit.headers.add(step.header),
    RemoveHeader: lambda emit, step: emit.headers.remove(step.header),
    CopyHeader: lambda emit, step: emit.headers.copy(step.target, step.source),
    CopyUnion: lambda emit, step: emit.headers.copy_union(step.target, step.source),
    CopyStack: lambda emit, step: emit.headers.copy_stack(step.target, step.source),
    Push: lambda emit, step: emit.headers.push(step.stack, step.count),
    Pop: lambda emit, step: emit.headers.pop(step.stack, step.count),
    Count: _count,
    ExecuteMeter: _execute_meter,
    RegisterRead: _register_read,
    RegisterWrite: _register_write,
    HashInto: _hash,
    RandomInto: _random,
    Truncate: _truncate,
    Log: _log,
    Check: _check,
    Request: _request,
}


class _ActionBlocks:
    """The blocks of an action. After an `exit` the rest of the action runs, and then the pipeline ends."""

    def __init__(self, emit: PrimitiveEmitter, graph: Graph, label: str, action: Action, following: str) -> None:
        self._emit = emit
        self._graph = graph
        self._label = label
        self._blocks = {block.start: block for block in action.blocks}
        self._params = len(action.params)
        self._following = following

    def build(self) -> None:
        if not self._blocks:
            self._graph.add(self._label, self._arguments(), self._following)
            return
        todo: list[tuple[int, bool]] = [(0, False)]
        done: set[tuple[int, bool]] = set()
        while todo:
            where = todo.pop()
            if where not in done and where[0] in self._blocks:
                done.add(where)
                todo += self._block(*where)

    def _name(self, start: int, exiting: bool) -> str:
        """A block's label; the end of the action is where control goes next."""
        if start not in self._blocks:
            return END if exiting else self._following
        suffix = "x" if exiting else ""
        return self._label if (start, exiting) == (0, False) else f"{self._label}:{start}{suffix}"

    def _block(self, start: int, exiting: bool) -> list[tuple[int, bool]]:
        """Emit the block that starts at a step; returns the blocks that it leads to."""
        block = self._blocks[start]
        label = self._name(start, exiting)
        lines = self._arguments() if (start, exiting) == (0, False) else []
        for step in block.steps:
            if isinstance(step, Exit):
                exiting = True
                lines += self._emit.scope.trace("step", "'exit'")
            else:
                lines += self._emit.lines(step)
        following = self._name(block.next, exiting)
        if block.condition is None:
            self._graph.add(label, lines, following)
            return [(block.next, exiting)]
        cases = [(self._emit.emitter.condition(block.condition), following)]
        self._graph.add(label, lines, Branch(cases, self._name(block.otherwise, exiting)))
        return [(block.next, exiting), (block.otherwise, exiting)]

    def _arguments(self) -> list[str]:
        if not self._params:
            return []
        names = "".join(f"arg{number}, " for number in range(self._params))
        return [f"{names.rstrip(' ')} = args" if self._params == 1 else f"{names[:-2]} = args"]
