"""The programs that are fuzzed, and those that are not, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.pipeline import Pipeline
from cais_tools.switch.loader import load_program
from cais_tools.switch.primitives import RegisterRead, RegisterWrite, Request, RequestKind
from cais_tools.switch.program import ActionCallNode, Program, TableNode
from cais_tools.switch.program import Pipeline as P4Pipeline

__all__ = ["EXCLUDED", "P4RUNTIME", "ROOT", "SHORTEST", "STF", "Subject", "names", "read_subject"]

ROOT = Path(__file__).resolve().parents[3]
STF = ROOT.parent / "shared" / "conformance" / "stf"
P4RUNTIME = STF.parent / "p4runtime"
OWN = "cais"

_ABORTS = "bmv2 aborts where an index of a header stack is out of range"
EXCLUDED: dict[str, str] = {
    "forloop-bmv2": "loops as often as a field of the packet says: bmv2 for minutes, ours 65,536 steps at most",
    "issue447-5-bmv2": "bmv2 crashes: it copies the varbit field of a header that is not valid",
    "runtime-index-2-bmv2": _ABORTS,
    "runtime-index-bmv2": _ABORTS,
}
"""Programs that are not compared, and why: their behaviour is undefined, or bmv2's own fault."""

SHORTEST: dict[str, int] = {
    "clone": 2,
    "equality-bmv2": 14,
    "gauntlet_hdr_function_cast-bmv2": 14,
    "gauntlet_invalid_hdr_assign-bmv2": 40,
    "header-stack-ops-bmv2": 6,
    "issue2488-bmv2": 14,
    "multicast": 2,
    "ternary2-bmv2": 16,
}
"""Bytes that packets need, or these programs read a header that is not valid.

That is undefined (P4-16, "Reading uninitialized values"): ours reads 0, bmv2 what an earlier packet left there.
"""

_GO_ROUND = (RequestKind.CLONE_EGRESS, RequestKind.RECIRCULATE, RequestKind.RESUBMIT)


@dataclass(frozen=True)
class Subject:
    """A program with what is known of it. `samples` are packets that its author thought of: (port, frame)."""

    name: str
    pipeline: Pipeline
    program: Program
    samples: tuple[tuple[int, bytes], ...]
    groups: frozenset[int]
    sessions: frozenset[int]

    @property
    def one_by_one(self) -> bool:
        """Whether the order of things matters that bmv2 leaves to its threads.

        Packets that come back, and registers that ingress and egress share.
        """
        goes_round = any(kind in self._requests() for kind in _GO_ROUND)
        ingress, egress = (_registers(self.program, each) for each in (self.program.ingress, self.program.egress))
        return goes_round or bool(ingress & egress)

    @property
    def clones(self) -> bool:
        return bool(self._requests() & {RequestKind.CLONE_INGRESS, RequestKind.CLONE_EGRESS})

    def _requests(self) -> set[RequestKind]:
        steps = (step for action in self.program.actions.values() for step in action.primitives)
        return {step.kind for step in steps if isinstance(step, Request)}


def names() -> list[str]:
    """All programs that can be compared, the most telling first: our own, those with tables, the others."""
    found = sorted(path.stem for path in STF.glob("*.json")) if STF.is_dir() else []
    with_tables = [name for name in found if "add " in (STF / f"{name}.stf").read_text()]
    services = sorted(path.stem for path in P4RUNTIME.glob("*.json")) if P4RUNTIME.is_dir() else []
    ordered = dict.fromkeys([OWN, *services, *with_tables, *found])
    return [name for name in ordered if name not in EXCLUDED]


def _folder(name: str) -> Path:
    if name == OWN:
        return ROOT / "p4" / "build"
    return P4RUNTIME if (P4RUNTIME / f"{name}.json").exists() else STF


def read_subject(name: str) -> Subject:
    """Raises OSError, and the errors of `P4InfoIndex.parse` and `load_program`."""
    folder = _folder(name)
    json, info, test = (folder / f"{name}{ending}" for ending in (".json", ".p4info.txtpb", ".stf"))
    lines = test.read_text().splitlines() if test.exists() else []
    commands = [line.partition("#")[0].split() for line in lines]
    return Subject(
        name=name,
        pipeline=Pipeline(json.read_bytes(), P4InfoIndex.parse(info.read_bytes(), str(info)), name),
        program=load_program(json.read_bytes()),
        samples=tuple((int(each[1]), bytes.fromhex("".join(each[2:]))) for each in commands if each[:1] == ["packet"]),
        groups=_numbers(commands, "mc_mgrp_create"),
        sessions=_numbers(commands, "mirroring_add"),
    )


def _registers(program: Program, pipeline: P4Pipeline) -> set[str]:
    """The registers that a pipeline uses."""
    actions: set[int] = set()
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            actions.update(node.actions)
        elif isinstance(node, ActionCallNode):
            actions.add(node.action)
    steps = [step for ident in actions for step in program.actions[ident].primitives]
    return {step.register for step in steps if isinstance(step, RegisterRead | RegisterWrite)}


def _numbers(commands: list[list[str]], command: str) -> frozenset[int]:
    return frozenset(int(each[1]) for each in commands if each[:1] == [command])
