"""Observations as lines of a file (`--record`), and back (`--replay`). NDJSON, schema `cais.record/1`. Sans I/O.

The first line names the switches; each other line is an observation, `time` (seconds since 1970) and `device` first.
A group is [slots, [[rank, port], ...], packets, bytes], both in the order of session.cais.OUTCOMES; a port is
[packets in, bytes in, packets out, bytes out, delays], delays without the zeros at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Final, TypeVar

from cais_tools.errors import UsageError
from cais_tools.session import CounterData
from cais_tools.session.cais import (
    BAD_FRAMES,
    OUTCOMES,
    DelayHistogram,
    GroupStats,
    Member,
    OpenSlot,
    PortStats,
    Rule,
    Snapshot,
    Span,
)
from cais_tools.session.observer import Primary
from cais_tools.top.checks import flag, moment, number, text, whole, wholes
from cais_tools.top.observation import Failure, Observation, Program, Source, Steered

__all__ = ["SCHEMA", "decode", "decode_header", "encode", "encode_header"]

SCHEMA: Final = "cais.record/1"
_CELLS: Final = 16

T = TypeVar("T")


def _dump(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def encode_header(sources: Sequence[Source], interval: float) -> str:
    return _dump({"schema": SCHEMA, "interval_s": interval, "devices": [asdict(each) for each in sources]})


def decode_header(line: str) -> tuple[list[Source], float]:
    """Raises UsageError for a file that is none of ours."""
    try:
        document = json.loads(line)
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA}")
        sources = [
            Source(
                text(each["name"]),
                text(each["address"]),
                {int(port): text(name) for port, name in each["ports"].items()},
                _optional(number, each["link_gbps"]),
            )
            for each in document["devices"]
        ]
        return sources, number(document["interval_s"])
    except _DAMAGES as error:
        raise UsageError(f"it does not begin as a recording: {_reason(error)}") from None


def encode(seen: Observation) -> str:
    document: dict[str, Any] = {"time": round(seen.time, 6), "device": seen.device}
    if seen.snapshot is not None:
        document["snapshot"] = _snapshot_document(seen.snapshot)
    for name in ("failure", "program", "primary"):
        value = getattr(seen, name)
        if value is not None:
            document[name] = asdict(value)
    if seen.rules is not None:
        document["rules"] = [_rule_document(rule) for rule in seen.rules]
    if seen.open_slots is not None:
        document["open_slots"] = [_slot_document(slot) for slot in seen.open_slots]
    if seen.steered is not None:
        document["steered"] = [asdict(each) for each in seen.steered]
    for name in ("slots_hidden", "temperature_c"):
        value = getattr(seen, name)
        if value is not None:
            document[name] = value
    document["seconds"] = round(seen.seconds, 6)
    return _dump(document)


def decode(line: str) -> Observation:
    """Raises UsageError for a line that is no observation."""
    try:
        return _observation(json.loads(line))
    except (*_DAMAGES, UsageError) as error:
        raise UsageError(f"it is no observation: {_reason(error)}") from None


_DAMAGES: Final = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _optional(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _observation(document: Mapping[str, Any]) -> Observation:
    get = document.get
    return Observation(
        device=text(document["device"]),
        time=moment(document["time"]),
        snapshot=_optional(_snapshot, get("snapshot")),
        failure=_optional(_failure, get("failure")),
        program=_optional(_program, get("program")),
        primary=_optional(_primary, get("primary")),
        rules=_optional(lambda rules: tuple(_rule(each) for each in rules), get("rules")),
        open_slots=_optional(lambda slots: tuple(_slot(each) for each in slots), get("open_slots")),
        slots_hidden=_optional(text, get("slots_hidden")),
        temperature_c=_optional(number, get("temperature_c")),
        steered=_optional(lambda some: tuple(_steered(each) for each in some), get("steered")),
        seconds=number(get("seconds", 0.0)),
    )


def _failure(document: Mapping[str, Any]) -> Failure:
    get = document.get
    return Failure(text(get("kind")), text(get("message")), _optional(text, get("hint")), whole(get("exit_code")))


def _program(document: Mapping[str, Any]) -> Program:
    return Program(text(document["name"]), _optional(whole, document["cookie"]))


def _primary(document: Mapping[str, Any]) -> Primary:
    return Primary(flag(document["is_taken"]), _optional(whole, document["election_id"]))


def _steered(document: Mapping[str, Any]) -> Steered:
    return Steered(
        path=text(document["path"]),
        wanted=text(document["wanted"]),
        reason=text(document["reason"]),
        threshold=number(document["threshold"]),
        **{name: whole(document[name]) for name in ("group_id", "on_switch", "on_endpoints", "fallbacks")},
    )


def _snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "time": round(snapshot.time, 6),
        "pool": snapshot.pool,
        "slots_allocated": snapshot.slots_allocated,
        "bad_frames": [snapshot.bad_frames.get(name, 0) for name in BAD_FRAMES],
        "groups": {key: _group_list(group) for key, group in snapshot.groups.items()},
        "ports": {key: _port_list(port) for key, port in snapshot.ports.items()},
    }


def _group_list(group: GroupStats) -> list[Any]:
    packets = [group.packets[name] for name in OUTCOMES]
    return [group.slots, _pairs(group.members), packets, [group.bytes[name] for name in OUTCOMES]]


def _port_list(port: PortStats) -> list[Any]:
    delays = list(port.delay.counts)
    while delays and not delays[-1]:
        delays.pop()
    return [port.received.packets, port.received.bytes, port.sent.packets, port.sent.bytes, delays]


def _snapshot(document: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        time=round(number(document["time"]), 6),
        pool=whole(document["pool"]),
        slots_allocated=whole(document["slots_allocated"]),
        groups={int(key): _group(int(key), each) for key, each in document["groups"].items()},
        ports={int(key): _port(int(key), each) for key, each in document["ports"].items()},
        bad_frames=dict(zip(BAD_FRAMES, wholes(document["bad_frames"]), strict=True)),
    )


def _group(group_id: int, values: Sequence[Any]) -> GroupStats:
    slots, members, packets, sizes = values
    return GroupStats(
        group_id,
        whole(slots),
        dict(zip(OUTCOMES, wholes(packets), strict=True)),
        dict(zip(OUTCOMES, wholes(sizes), strict=True)),
        _members(members),
    )


def _port(port: int, values: Sequence[Any]) -> PortStats:
    packets_in, bytes_in, packets_out, bytes_out = wholes(values[:4])
    delays = wholes(values[4])
    if len(delays) > _CELLS:
        raise ValueError(f"{len(delays)} delays are too many")
    counts = (*delays, *(0,) * (_CELLS - len(delays)))
    return PortStats(
        port, CounterData(packets_in, bytes_in), CounterData(packets_out, bytes_out), DelayHistogram(counts)
    )


@lru_cache(maxsize=4096, typed=True)
def _member(rank: int, port: int) -> Member:
    """Groups have the same members in every observation."""
    return Member(whole(rank), whole(port))


def _pairs(members: Sequence[Member]) -> list[list[int]]:
    return [[each.rank, each.port] for each in members]


def _members(pairs: Sequence[Sequence[int]]) -> tuple[Member, ...]:
    return tuple(_member(rank, port) for rank, port in pairs)


_RULE_NUMBERS: Final = ("group_id", "op", "priority", "output_set", "packets", "bytes")
_SLOT_NUMBERS: Final = ("group_id", "slot", "seq_num", "op", "layer", "chunk")


def _rule_document(rule: Rule) -> dict[str, Any]:
    return {
        "group_id": rule.group_id,
        "op": rule.op,
        "layer": [rule.layer.low, rule.layer.high],
        "chunk": [rule.chunk.low, rule.chunk.high],
        "inputs": rule.inputs,
        "outputs": rule.outputs,
        "priority": rule.priority,
        "output_set": rule.output_set,
        "packets": rule.packets,
        "bytes": rule.bytes,
    }


def _rule(document: Mapping[str, Any]) -> Rule:
    return Rule(
        layer=Span(*wholes(document["layer"])),
        chunk=Span(*wholes(document["chunk"])),
        inputs=tuple(wholes(document["inputs"])),
        outputs=tuple(wholes(document["outputs"])),
        **{name: whole(document[name]) for name in _RULE_NUMBERS},
    )


def _slot_document(slot: OpenSlot) -> dict[str, Any]:
    return {
        "group_id": slot.group_id,
        "slot": slot.slot,
        "seq_num": slot.seq_num,
        "op": slot.op,
        "layer": slot.layer,
        "chunk": slot.chunk,
        "age_us": slot.age_us,
        "present": _pairs(slot.present),
        "missing": _pairs(slot.missing),
    }


def _slot(document: Mapping[str, Any]) -> OpenSlot:
    return OpenSlot(
        age_us=_optional(whole, document["age_us"]),
        present=_members(document["present"]),
        missing=_members(document["missing"]),
        **{name: whole(document[name]) for name in _SLOT_NUMBERS},
    )
