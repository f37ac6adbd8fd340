"""What is decided about a program before any code is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from cais_tools.switch.codegen.modes import Modes
from cais_tools.switch.codegen.usage import pipeline_actions
from cais_tools.switch.headers import Header
from cais_tools.switch.primitives import Request, RequestKind, Truncate
from cais_tools.switch.program import FieldList, Pipeline, Program

__all__ = ["Chunk", "Plan"]


@dataclass(slots=True)
class Chunk:
    """Headers that stand together in every frame and that egress leaves alone: joined once for all copies."""

    name: str
    start: int
    headers: list[Header] = field(default_factory=list[Header])
    with_payload: bool = False


class Plan:
    """How headers travel, what the frame is joined from, and what the program asks of the runtime."""

    def __init__(self, program: Program, *, tracing: bool = False) -> None:
        self.program = program
        self.tracing = tracing
        self.modes = Modes(program)
        self.chunks = _chunks(program, self.modes)
        self.tracks_length = self.modes.reads_length
        """Whether anybody reads bmv2's packet length register."""
        self.truncates = any(isinstance(step, Truncate) for step in _steps(program))
        self._lists = {kind: _requested(program, kind) for kind in RequestKind}

    def lists(self, *kinds: RequestKind) -> list[FieldList]:
        """The field lists (learn lists, for digests) with which such requests are made; none: never made."""
        return list({each.ident: each for kind in kinds for each in self._lists[kind]}.values())


def _steps(program: Program, *pipelines: Pipeline) -> list[object]:
    return [
        step
        for pipeline in pipelines or (program.ingress, program.egress)
        for ident in pipeline_actions(program, pipeline)
        for step in program.actions[ident].primitives
    ]


def _requested(program: Program, kind: RequestKind) -> list[FieldList]:
    lists = program.learn_lists if kind is RequestKind.DIGEST else program.field_lists
    found = {step.list_id for step in _steps(program) if isinstance(step, Request) and step.kind is kind}
    return [lists.get(ident) or FieldList(ident, "none", ()) for ident in sorted(found)]


def _chunks(program: Program, modes: Modes) -> list[Chunk]:
    chunks: list[Chunk] = []
    current: Chunk | None = None
    for place, header in enumerate(program.deparser):
        if modes.egress_fields(header) or modes.switched_in_egress(header):
            current = None
            continue
        if current is None:
            current = Chunk(f"chunk_{len(chunks)}", place)
            chunks.append(current)
        current.headers.append(header)
    if current is not None:
        current.with_payload = True
    return chunks
