"""From headers to frames: what ingress packs once for all copies of a packet, what egress adds for each."""

from __future__ import annotations

from cais_tools.switch.codegen.layout import Codec
from cais_tools.switch.codegen.plan import Plan
from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.headers import Header

__all__ = ["deparse", "pack_up"]


def pack_up(scope: Scope, plan: Plan) -> list[str]:
    """At the end of ingress: the headers that egress does not look into become bytes."""
    lines = [] if "rest" in scope.zeros else [f"{scope.rest()} = data[offset:]"]
    for chunk in plan.chunks:
        parts = [_header_bytes(scope, plan, header) for header in chunk.headers]
        if chunk.with_payload:
            parts.append(scope.rest())
        lines.append(f"{scope.variable(chunk.name, _EMPTY)} = {_joined(parts)}")
    for header in dict.fromkeys(plan.program.deparser):
        if plan.modes.egress_fields(header) or not plan.modes.switched_in_egress(header):
            continue
        text = _header_bytes(scope, plan, header)
        if text != scope.raw(header):
            lines.append(f"{scope.raw(header)} = {text}")
    return lines


def deparse(scope: Scope, plan: Plan) -> str:
    """At the end of egress: an expression for the frame."""
    parts: list[str] = []
    starts = {chunk.start: chunk for chunk in plan.chunks}
    place = 0
    while place < len(plan.program.deparser):
        header = plan.program.deparser[place]
        if place in starts:
            parts.append(scope.variable(starts[place].name, _EMPTY))
            place += len(starts[place].headers)
            continue
        text = Codec(header).pack(scope) if plan.modes.egress_fields(header) else scope.raw(header)
        parts.append(f"({text} if {scope.valid(header)} else {_EMPTY})")
        place += 1
    if not any(chunk.with_payload for chunk in plan.chunks):
        parts.append(scope.rest())
    frame = _joined(parts)
    return f"({frame})[:{scope.limit()}]" if plan.truncates else frame


_EMPTY = "b''"


def _header_bytes(scope: Scope, plan: Plan, header: Header) -> str:
    """A header as ingress has it: its bytes, empty where it is invalid."""
    valid = scope.valid(header)
    if not plan.modes.ingress_fields(header):
        raw = scope.raw(header)
        # Where nothing but extracting makes it valid, the bytes are empty exactly while it is not.
        return f"({raw} if {valid} else {_EMPTY})" if plan.modes.switched_in_ingress(header) else raw
    codec = Codec(header)
    if not plan.modes.kept_in_place(header):
        return f"({codec.pack(scope)} if {valid} else {_EMPTY})"
    place, size = scope.place(header), str(codec.size)
    if header.varbit is not None:
        size = f"{size} + ({scope.bits(header.varbit)} >> 3)"
    return f"(data[{place}:{place} + {size}] if {valid} else {_EMPTY})"


def _joined(parts: list[str]) -> str:
    if not parts:
        return _EMPTY
    return parts[0] if len(parts) == 1 else f"b''.join(({', '.join(parts)}))"
