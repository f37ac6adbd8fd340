"""Pipelines -> a graph of blocks: tables are looked up in line, actions follow in line."""

from __future__ import annotations

from cais_tools.switch.actions import IN_GROUP
from cais_tools.switch.codegen.expressions import Value
from cais_tools.switch.codegen.flow import END, Branch, Graph, indent, render
from cais_tools.switch.codegen.modes import Modes
from cais_tools.switch.codegen.primitives import PrimitiveEmitter
from cais_tools.switch.expressions import Expr, FieldValue
from cais_tools.switch.program import ActionCallNode, ConditionNode, Pipeline, TableNode

__all__ = ["pipeline_lines"]


def pipeline_lines(emit: PrimitiveEmitter, pipeline: Pipeline, modes: Modes) -> list[str]:
    """The statements of a whole pipeline."""
    graph = Graph(_label(pipeline.start))
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            _TableBlocks(emit, graph, node, modes).build()
        elif isinstance(node, ConditionNode):
            _condition(emit, graph, node)
        else:
            _action_call(emit, graph, node)
    return render(graph, "node")


def _label(node: str | None) -> str:
    return END if node is None else f"node {node}"


def _condition(emit: PrimitiveEmitter, graph: Graph, node: ConditionNode) -> None:
    condition = emit.emitter.condition(node.condition)
    lines: list[str] = []
    if emit.scope.tracing:
        held = emit.scope.temporary()
        lines = [f"{held} = bool({condition})", *emit.scope.trace("condition", repr(node.name), held)]
        condition = held
    graph.add(_label(node.name), lines, Branch([(condition, _label(node.next_true))], _label(node.next_false)))


def _action_call(emit: PrimitiveEmitter, graph: Graph, node: ActionCallNode) -> None:
    label = _label(node.name)
    graph.add(label, emit.scope.trace("action", str(node.action), "()"), f"{label} action")
    emit.action(graph, f"{label} action", emit.scope.program.actions[node.action], _label(node.next))


class _TableBlocks:
    """A table: lookup, then the blocks of each action, then where control goes from there."""

    def __init__(self, emit: PrimitiveEmitter, graph: Graph, table: TableNode, modes: Modes) -> None:
        self._emit = emit
        self._scope = emit.scope
        self._program = emit.scope.program
        self._graph = graph
        self._table = table
        self._modes = modes
        self._number = list(self._program.tables).index(table.name)
        self._label = _label(table.name)

    def build(self) -> None:
        if self._is_fixed():
            self._fixed()
            return
        cases: list[tuple[str, str]] = []
        for ident in self._table.actions:
            action = self._program.actions[ident]
            label = f"{self._label} action {ident}"
            self._emit.action(self._graph, label, action, self._after(action.name))
            cases.append((f"act == {self._program.action_number(action.name)}", label))
        self._graph.add(self._label, self._lookup(), Branch(cases, self._no_action()))

    # --- tables that are no tables ---

    def _is_fixed(self) -> bool:
        """p4c wraps statements into tables without keys whose default action nobody can change."""
        table = self._table
        default = table.default
        plain = table.direct_meter is None and not table.with_counters and table.profile is None
        return not table.keys and plain and default is not None and default.action_const and default.entry_const

    def _fixed(self) -> None:
        default = self._table.default
        assert default is not None
        action = next(
            each
            for each in (self._program.actions[ident] for ident in self._table.actions)
            if each.name == default.action
        )
        following = self._table.next_miss if self._table.has_hit_miss else self._next_of(action.name)
        lines = [f"args = {default.args!r}"] if action.params else []
        lines += self._scope.trace("action", str(action.ident), repr(default.args))
        self._graph.add(self._label, lines, f"{self._label} action")
        self._emit.action(self._graph, f"{self._label} action", action, _label(following))

    # --- lookup ---

    def _lookup(self) -> list[str]:
        number = self._number
        lines = [f"key = {self._key()}"]
        if self._table.profile is None:
            lines.append(f"act, args, entry = find_{number}(key) or resolve_{number}(key)")
        else:
            lines += [f"outcome = find_{number}(key) or resolve_{number}(key)", *self._selector()]
            lines.append("act, args, entry = outcome")
        lines += self._scope.trace("table", repr(self._table.name), "key", "act", "args", "entry")
        return lines + self._on_hit()

    def _key(self) -> str:
        texts: list[str] = []
        for key in self._table.keys:
            value = self._key_value(key.source)
            mask = (1 << key.width) - 1
            if key.mask is not None:
                mask &= key.mask
            texts.append(value.text if value.within(0, mask) and key.mask is None else f"{value.text} & {mask:#x}")
        if len(texts) == 1:
            return texts[0]
        return f"({', '.join(texts)})"

    def _key_value(self, source: Expr) -> Value:
        """The value of a key; a field of an invalid header counts 0."""
        value = self._emit.emitter.value(source)
        if not isinstance(source, FieldValue):
            return value
        header = self._scope.headers[source.field.header]
        if header.metadata or not self._modes.may_be_left_over(header):
            return value
        valid = self._scope.valid(header)
        return Value(f"({value.text} if {valid} else 0)", value.low, value.high)

    def _selector(self) -> list[str]:
        """A group's member is picked for each packet."""
        spec = self._program.profiles[self._table.profile or ""]
        if spec.selector is None:
            return []
        lines, hashed = self._emit.calculations.hash(spec.selector)
        pick = [*lines, f"outcome = pick_{self._number}(outcome, {hashed})"]
        return [f"if outcome[0] == {IN_GROUP}:", *indent(pick)]

    def _on_hit(self) -> list[str]:
        table = self._table
        body: list[str] = []
        if table.with_counters:
            body += ["cell = entry.counter", "cell[0] += 1", "cell[1] += size"]
        if table.support_timeout:
            body.append("entry.last_hit_us = clock()")
        if table.direct_meter is not None:
            meter = self._program.meters[table.direct_meter]
            color = Value(f"entry.meter.execute(clock(), {'size' if meter.in_bytes else 1}, size)", 0, 2)
            assert meter.result is not None
            body += self._emit.assign(meter.result, color)
        return ["if entry is not None:", *indent(body)] if body else []

    # --- afterwards ---

    def _next_of(self, action: str) -> str | None:
        return self._table.next_by_action.get(action, self._table.base_next)

    def _after(self, action: str) -> str:
        if not self._table.has_hit_miss:
            return _label(self._next_of(action))
        return self._hit_or_miss()

    def _hit_or_miss(self) -> str:
        """One block for all actions, which tells hit from miss."""
        label = f"{self._label} after"
        if label not in self._graph.blocks:
            hit, miss = _label(self._table.next_hit), _label(self._table.next_miss)
            self._graph.add(label, [], Branch([("entry is not None", hit)], miss))
        return label

    def _no_action(self) -> str:
        """A miss in a table without default action."""
        return _label(self._table.next_miss if self._table.has_hit_miss else self._table.base_next)
