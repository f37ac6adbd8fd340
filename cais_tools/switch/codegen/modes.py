"""How each header travels: as fields, or as bytes where nobody looks into it."""

from __future__ import annotations

from cais_tools.switch.codegen.usage import egress_usage, ingress_usage
from cais_tools.switch.effects import Effects
from cais_tools.switch.headers import Header
from cais_tools.switch.program import Program

__all__ = ["Modes"]


class _HeaderUse:
    """Names of headers that a stage looks into or writes, writes, and makes valid or invalid."""

    def __init__(self, effects: Effects) -> None:
        self.touched = effects.touched
        self.written = effects.written
        self.switched = effects.switches


class Modes:
    """Decides, from what the stages do, what is unpacked and packed where."""

    def __init__(self, program: Program) -> None:
        ingress, egress = ingress_usage(program), egress_usage(program)
        self._ingress = _HeaderUse(ingress)
        self._egress = _HeaderUse(egress)
        self.reads_length = program.standard["packet_length"] in egress.reads
        """Whether egress reads bmv2's packet length register."""
        self._in_unions = {header.name for union in program.unions for header in union.headers}

    def ingress_fields(self, header: Header) -> bool:
        """Ingress has the header as fields; otherwise as bytes."""
        return header.name in self._ingress.touched or self.egress_fields(header)

    def egress_fields(self, header: Header) -> bool:
        """Egress has the header as fields; otherwise as bytes, packed once for all copies."""
        return header.name in self._egress.touched

    def kept_in_place(self, header: Header) -> bool:
        """Ingress reads fields but changes none: the header leaves as the bytes that came in."""
        return (
            self.ingress_fields(header) and not self.egress_fields(header) and header.name not in self._ingress.written
        )

    def switched_in_ingress(self, header: Header) -> bool:
        """Ingress may change the validity by other means than extracting."""
        return header.name in self._ingress.switched or header.name in self._in_unions

    def switched_in_egress(self, header: Header) -> bool:
        return header.name in self._egress.switched or header.name in self._in_unions

    def may_be_left_over(self, header: Header) -> bool:
        """Fields may have values other than 0 although the header is invalid."""
        stages = (self._ingress, self._egress)
        changed = any(header.name in each.written or header.name in each.switched for each in stages)
        return changed or header.name in self._in_unions
