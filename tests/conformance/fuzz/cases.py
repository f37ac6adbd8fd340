"""What differs, as a file that can be run again: program, updates, packets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cais_tools.session.entities import CloneSession, Entity, MulticastGroup, Replica, TableEntry, Update, UpdateType
from cais_tools.session.values import Lpm, MatchValue, Range, Ternary

__all__ = ["Case", "Frames", "Packet", "read_case", "write_case"]

Packet = tuple[int, bytes]
"""Port and frame."""
Frames = dict[int, list[bytes]]
"""Frames by the port they left through, in order."""


@dataclass(frozen=True)
class Case:
    """The last packet is the one that differs; those before it are what the switch had seen just before."""

    program: str
    updates: tuple[Update, ...]
    packets: tuple[Packet, ...]
    ours: Frames
    bmv2: Frames
    note: str = ""

    def __str__(self) -> str:
        port, frame = self.packets[-1] if self.packets else (0, b"")
        seen = f"ours {_text(self.ours)}, bmv2 {_text(self.bmv2)}"
        return f"{self.program}: port {port}, {frame.hex()}: {self.note or seen}"


def _text(frames: Frames) -> str:
    return " ".join(f"{port}:{frame.hex()}" for port, found in frames.items() for frame in found) or "nothing"


def write_case(folder: Path, case: Case) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob(f"{case.program}-*.json"))) + 1
    path = folder / f"{case.program}-{number}.json"
    text: dict[str, Any] = {
        "program": case.program,
        "note": case.note,
        "updates": [[update.type.name, _entity_json(update.entity)] for update in case.updates],
        "packets": [[port, frame.hex()] for port, frame in case.packets],
        "ours": _frames_json(case.ours),
        "bmv2": _frames_json(case.bmv2),
    }
    path.write_text(json.dumps(text, indent=1))
    return path


def read_case(path: Path) -> Case:
    text = json.loads(path.read_text())
    return Case(
        program=text["program"],
        updates=tuple(Update(UpdateType[kind], _entity(each)) for kind, each in text["updates"]),
        packets=tuple((port, bytes.fromhex(frame)) for port, frame in text["packets"]),
        ours=_frames(text["ours"]),
        bmv2=_frames(text["bmv2"]),
        note=text["note"],
    )


def _frames_json(frames: Frames) -> dict[str, list[str]]:
    return {str(port): [frame.hex() for frame in found] for port, found in frames.items()}


def _frames(text: Mapping[str, Sequence[str]]) -> Frames:
    return {int(port): [bytes.fromhex(frame) for frame in found] for port, found in text.items()}


def _entity_json(entity: Entity) -> dict[str, Any]:
    if isinstance(entity, TableEntry):
        return {
            "table": entity.table,
            "match": {name: _match_json(value) for name, value in entity.match.items()},
            "action": entity.action,
            "params": dict(entity.params),
            "priority": entity.priority,
            "is_default": entity.is_default,
        }
    if isinstance(entity, MulticastGroup):
        return {"group": entity.group_id, "replicas": [[each.port, each.instance] for each in entity.replicas]}
    if isinstance(entity, CloneSession):
        return {"session": entity.session_id, "replicas": [[each.port, each.instance] for each in entity.replicas]}
    raise TypeError(f"no case has a {type(entity).__name__}")


def _entity(text: dict[str, Any]) -> Entity:
    if "table" in text:
        match = {name: _match(value) for name, value in text.pop("match").items()}
        return TableEntry(match=match, **text)
    replicas = frozenset(Replica(*each) for each in text["replicas"])
    if "group" in text:
        return MulticastGroup(text["group"], replicas)
    return CloneSession(text["session"], replicas)


def _match_json(value: MatchValue) -> Any:
    if isinstance(value, Lpm):
        return ["lpm", value.value, value.prefix_len]
    if isinstance(value, Ternary):
        return ["ternary", value.value, value.mask]
    if isinstance(value, Range):
        return ["range", value.low, value.high]
    return value


def _match(text: Any) -> MatchValue:
    if not isinstance(text, list):
        return text
    kinds = {"lpm": Lpm, "ternary": Ternary, "range": Range}
    kind, *values = text  # pyright: ignore[reportUnknownVariableType]
    return kinds[kind](*values)
