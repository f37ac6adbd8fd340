"""The functions of a program, as Python source.

    ingress(data, port, kept)    parser, checksums, ingress
                                 -> None (dropped) or (egress_spec, mcast_grp, priority, state)
    reparse(data, port, kept)    parser only, for clones from ingress -> state
    egress(state, size, port, rid, kind, enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth)
                                 -> frame or None

`state` is a tuple of whatever egress needs, shared by all copies of a packet; `size` the length of the packet that came
in. `kept` is what a packet that comes back brings along: (instance_type, id of the field list, its values). Requests to
the runtime are calls of `clone_ingress`, `digest_out`, `resubmit_packet`, `clone_egress` and `recirculate_packet`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.switch.codegen.expressions import Emitter
from cais_tools.switch.codegen.flow import indent
from cais_tools.switch.codegen.packing import deparse, pack_up
from cais_tools.switch.codegen.parser import parser_lines
from cais_tools.switch.codegen.pipeline import pipeline_lines
from cais_tools.switch.codegen.plan import Plan
from cais_tools.switch.codegen.primitives import PrimitiveEmitter
from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.expressions import Expr, FieldValue
from cais_tools.switch.primitives import RequestKind
from cais_tools.switch.program import FieldList, Program

__all__ = ["generate"]

_ARRIVAL = {"ingress_port": "port", "packet_length": "size", "ingress_global_timestamp": "clock()"}
"""What standard metadata has when a packet comes in through a port."""

_DEPARTURE = {
    "egress_port": "port",
    # Not the drop port, whatever ingress left there.
    "egress_spec": "0",
    "egress_rid": "rid",
    "instance_type": "kind",
    "packet_length": "length",
    "egress_global_timestamp": "clock()",
    "enq_timestamp": "enq_timestamp",
    "enq_qdepth": "enq_qdepth",
    "deq_timedelta": "deq_timedelta",
    "deq_qdepth": "deq_qdepth",
}
"""What standard metadata has when egress begins."""

_SMALL = ("0", "error", "kept[0]", "kind", "size")
"""Values that fit into the fields that take them."""

_LOCAL = ("clone", "digest", "resubmit", "recirculate", "checksum_error")
"""Variables that never cross from ingress to egress."""


def generate(program: Program, *, tracing: bool = False) -> str:
    """The source of all functions. With `tracing` they also tell `trace` (`tracing.Tracer`) what they do."""
    plan = Plan(program, tracing=tracing)
    ingress = _Ingress(plan)
    layout = _layout(ingress.scope, _Egress(plan, ()).scope)
    lines = ingress.function(layout)
    if plan.lists(RequestKind.CLONE_INGRESS):
        lines += ["", "", *_Reparse(plan).function(layout)]
    lines += ["", "", *_Egress(plan, layout).function()]
    return "\n".join([*lines, ""])


def _layout(ingress: Scope, egress: Scope) -> tuple[str, ...]:
    """The names that make up the state: egress uses them, and they may have a value before."""
    standard = ingress.program.standard
    departing = {ingress.name_of(standard[short]) for short in _DEPARTURE if short in standard}
    arriving = {ingress.name_of(standard[short]) for short in _ARRIVAL if short in standard}
    before = (ingress.zeros.keys() | arriving) - departing - set(_LOCAL)
    return tuple(name for name in egress.zeros if name in before)


class _Function:
    """What all functions have in common."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.program = plan.program
        self.scope = Scope(plan.program, tracks_length=plan.tracks_length, tracing=plan.tracing)
        self.emit = PrimitiveEmitter(Emitter(self.scope))
        if plan.tracks_length:
            self.scope.length()

    def standard(self, values: dict[str, str], others: Sequence[str] = ()) -> list[str]:
        """Set the fields of standard metadata that this function uses, or that are among `others`."""
        used = {*self.scope.zeros, *others}
        lines: list[str] = []
        for short, text in values.items():
            field = self.program.standard.get(short)
            if field is not None and self.scope.name_of(field) in used:
                # Whatever the caller says, a field never holds more than its bits.
                wrap = "" if text in _SMALL else f" & {(1 << field.width) - 1:#x}"
                lines.append(f"{self.scope.field(field)} = {text}{wrap}")
        return lines

    def request(self, name: str, zero: str, body: list[str], lists: list[FieldList], which: str) -> list[str]:
        """What happens where the variable `name` notes a request; `values` has the fields of its list then."""
        self.scope.variable(name, zero)
        lines = ["values = ()"]
        for number, each in enumerate(lists):
            texts = "".join(f"{self._element(expr, as_bits=name == 'digest')}, " for expr in each.elements)
            word = "elif" if number else "if"
            lines += [f"{word} {which} == {each.ident}:", f"    values = ({texts})"]
        return [f"if {name}:", *indent([*lines, *body])]

    def _element(self, expr: Expr, *, as_bits: bool) -> str:
        """A field as it is, or as the bit string that the control plane sees (never negative)."""
        text = self.emit.emitter.text(expr)
        if as_bits and isinstance(expr, FieldValue) and expr.field.signed:
            return f"{text} & {(1 << expr.field.width) - 1:#x}"
        return text

    def restore(self, lists: list[FieldList]) -> list[str]:
        """The fields that came along in `kept` get their values."""
        lines: list[str] = []
        for each in lists:
            fields = [expr.field if isinstance(expr, FieldValue) else None for expr in each.elements]
            names = ["_" if field is None else self.scope.field(field) for field in fields]
            if names:
                word = "elif" if lines else "if"
                lines += [f"{word} kept[1] == {each.ident}:", f"    {', '.join(names)}, = kept[2]"]
        return lines

    def text(self, head: str, known: Sequence[str], body: list[str]) -> list[str]:
        """The whole function; `known` are names that have a value already."""
        missing = [name for name in self.scope.zeros if name not in known]
        return [f"def {head}:", *indent([*self.scope.zero_lines(missing), *body])]


class _Ingress(_Function):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        parser = parser_lines(self.emit, plan.modes)
        verify = self._verify()
        pipeline = pipeline_lines(self.emit, self.program.ingress, plan.modes)
        # Hashes over the payload want it now, otherwise it is enough to cut it off for packets that go on.
        payload = ["rest = data[offset:]"] if "rest" in self.scope.zeros else []
        error = self.standard({"parser_error": "error"})
        ends = self._requests() + self._decide()
        self._body = ["offset = error = 0", *parser, *error, *payload, *verify, *pipeline, *ends]

    def function(self, layout: Sequence[str]) -> list[str]:
        entry = self.standard(_ARRIVAL, layout)
        lists = self.plan.lists(RequestKind.RESUBMIT, RequestKind.RECIRCULATE)
        if lists:
            again = self.standard({"packet_length": "size", "instance_type": "kept[0]"}, layout)
            again += self.restore(lists)
            entry = ["if kept is None:", *indent(entry or ["pass"]), "else:", *indent(again or ["pass"])]
        if self.plan.tracks_length:
            entry.append(f"{self.scope.length()} = size")
        result = f"return {', '.join(self._result)}, ({''.join(f'{name}, ' for name in layout)})"
        lines = self.text("ingress(data, port, kept)", (), [*entry, *self._body, result])
        return [lines[0], "    size = len(data)", *lines[1:]]

    def _verify(self) -> list[str]:
        checksums = [each for each in self.program.checksums if each.verify]
        lines = [line for each in checksums for line in self.emit.calculations.verify(each)]
        field = self.program.standard.get("checksum_error")
        if lines and field is not None:
            lines.append(f"{self.scope.field(field)} = checksum_error")
        return lines

    def _requests(self) -> list[str]:
        """Clone, digest, resubmit: in this order."""
        lines: list[str] = []
        if lists := self.plan.lists(RequestKind.CLONE_INGRESS):
            call = "clone_ingress(clone[0], (1, clone[1], values), data, port)"
            lines += self.request("clone", "None", [call], lists, "clone[1]")
        if lists := self.plan.lists(RequestKind.DIGEST):
            lines += self.request("digest", "0", ["digest_out(digest, values)"], lists, "digest")
        if lists := self.plan.lists(RequestKind.RESUBMIT):
            call = "resubmit_packet(data, port, (6, resubmit, values))"
            lines += self.request("resubmit", "0", [call, "return None"], lists, "resubmit")
        return lines

    def _decide(self) -> list[str]:
        """Drop, or go on to egress by multicast or unicast."""
        standard = self.program.standard
        fields = [standard.get(short) for short in ("egress_spec", "mcast_grp", "priority")]
        self._result = ["0" if field is None else self.scope.field(field) for field in fields]
        spec, group, _ = self._result
        condition = f"{spec} == {self.program.drop_port} and not {group}"
        told = self.scope.trace("decided", spec, group)
        return [*told, f"if {condition}:", "    return None", *pack_up(self.scope, self.plan)]


class _Reparse(_Function):
    """A clone from ingress: the packet as it came in, parsed anew, metadata only as the field list says."""

    def function(self, layout: Sequence[str]) -> list[str]:
        parser = parser_lines(self.emit, self.plan.modes)
        restore = self.restore(self.plan.lists(RequestKind.CLONE_INGRESS))
        packing = pack_up(self.scope, self.plan)
        entry = self.standard({"ingress_port": "port"}, layout)
        reset = self.scope.zero_lines(name for name in self.scope.zeros if name in self.scope.metadata)
        if self.plan.tracks_length:
            reset.append(f"{self.scope.length()} = size")
        # Names that only ingress proper gives a value keep the one they start with.
        for name in layout:
            self.scope.zeros.setdefault(name, "0")
        result = f"return ({''.join(f'{name}, ' for name in layout)})"
        body = [*entry, "offset = error = 0", *parser, *reset, *restore, *packing, result]
        lines = self.text("reparse(data, port, kept)", (), body)
        return [lines[0], "    size = len(data)", *lines[1:]]


class _Egress(_Function):
    def __init__(self, plan: Plan, layout: Sequence[str]) -> None:
        super().__init__(plan)
        self._layout = layout
        pipeline = pipeline_lines(self.emit, self.program.egress, plan.modes)
        clone = self._clone()
        spec = self.scope.field(self.program.standard["egress_spec"])
        told = self.scope.trace("decided", spec)
        drop = [*told, f"if {spec} == {self.program.drop_port}:", "    return None"]
        checksums = [each for each in self.program.checksums if each.update]
        update = [line for each in checksums for line in self.emit.calculations.update(each)]
        update += [line for step in self.program.deparser_primitives for line in self.emit.lines(step)]
        self._body = [*pipeline, *clone, *drop, *update, *self._send()]

    def function(self) -> list[str]:
        unpack = [f"{', '.join(self._layout)}, = state"] if self._layout else []
        entry = self.standard(_DEPARTURE)
        params = "state, size, port, rid, kind, enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth"
        return self.text(f"egress({params})", self._layout, [*unpack, *entry, *self._body])

    def _clone(self) -> list[str]:
        """Headers as egress left them, metadata only as the field list says."""
        lists = self.plan.lists(RequestKind.CLONE_EGRESS)
        if not lists:
            return []
        self.scope.variable("clone", "None")
        lines: list[str] = []
        for each in lists:
            kept = {self.scope.field(expr.field) for expr in each.elements if isinstance(expr, FieldValue)}
            texts = ["0" if name in self.scope.metadata and name not in kept else name for name in self._layout]
            word = "elif" if lines else "if"
            state = "".join(f"{text}, " for text in texts)
            lines += [f"{word} clone[1] == {each.ident}:", f"    clone_egress(clone[0], ({state}), size)"]
        return ["if clone:", *indent(lines)]

    def _send(self) -> list[str]:
        frame = deparse(self.scope, self.plan)
        lists = self.plan.lists(RequestKind.RECIRCULATE)
        if not lists:
            return [f"return {frame}"]
        call = "recirculate_packet(frame, port, (4, recirculate, values))"
        again = self.request("recirculate", "0", [call, "return None"], lists, "recirculate")
        return [f"frame = {frame}", *again, "return frame"]
