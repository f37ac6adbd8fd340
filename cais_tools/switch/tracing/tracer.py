"""Follows packets through an engine: what generated code calls while it runs, and how a pass begins and ends."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cais_tools.switch.codegen import Functions, link
from cais_tools.switch.matches import Exact, Lpm, Match, Range
from cais_tools.switch.program import ConditionNode, KeyField
from cais_tools.switch.tracing.events import (
    ActionRun,
    Assigned,
    BadChecksum,
    ConditionChecked,
    Counted,
    Event,
    Extracted,
    Logged,
    Metered,
    Named,
    Outcome,
    ParserFailed,
    PassTrace,
    RegisterRead,
    RegisterWritten,
    Requested,
    Selected,
    StateEntered,
    Stepped,
    TableApplied,
)
from cais_tools.switch.wording import expression_text, value_text

if TYPE_CHECKING:
    from cais_tools.switch.engine import Engine, Kept, Queued
    from cais_tools.switch.tables import TableEntry

__all__ = ["Tracer"]

_ORIGINS = {1: "clone", 2: "clone", 4: "recirculated", 5: "replica", 6: "resubmitted"}
"""By instance_type."""
_TEMPORARY = re.compile(r"(.*\.)?(tmp|key|cond|hasReturned|retval|inlinedRetval)(_\d+)?")
"""Fields that the compiler made for itself: nobody wants to read about them."""


def _nobody(_: PassTrace) -> None:
    """Until somebody wants to know."""


class _Numbered(tuple[Any, ...]):
    """State (or what is kept) that knows which packet it belongs to, and where a clone is cut (0: nowhere)."""

    packet: int
    limit: int

    @classmethod
    def of(cls, values: tuple[Any, ...], packet: int, limit: int = 0) -> _Numbered:
        numbered = cls(values)
        numbered.packet, numbered.limit = packet, limit
        return numbered


class Tracer:
    """Functions that do what the engine's own ones do, and tell `sink` about every pass of a packet.

    They work on the same tables, registers and counters. The public methods from `state` to `decided` are for
    generated code, each is an event.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._program = engine.program
        self.sink: Callable[[PassTrace], None] = _nobody
        self._errors = {number: name for name, number in engine.program.errors.items()}
        self._fields = {field.ident: field for header in engine.program.headers for field in header.fields}
        self._silent = {ident for ident, field in self._fields.items() if _TEMPORARY.fullmatch(field.name)}
        self._conditions = _condition_texts(engine)
        self._actions = {engine.program.action_number(each.name): each for each in engine.program.actions.values()}
        self._packets = 0
        self._packet = 0
        self._events: list[Event] = []
        self._decided: tuple[int, int] | None = None
        self._linked = link(engine.program, {**engine.runtime(), **self._requests(), "trace": self}, tracing=True)
        reparse = None if self._linked.reparse is None else self._reparse
        self.functions = Functions(self._linked.source, self._ingress, self._egress, reparse)

    # --- passes ---

    def _begin(self, packet: int) -> int:
        self._packet = packet
        self._events = []
        self._decided = None
        return time.time_ns()

    def _ingress(self, frame: bytes, port: int, kept: Kept | None) -> tuple[int, int, int, _Numbered] | None:
        if not isinstance(kept, _Numbered):
            self._packets += 1
        packet = kept.packet if isinstance(kept, _Numbered) else self._packets
        origin = "packet" if kept is None else _ORIGINS.get(kept[0], "packet")
        start = self._begin(packet)
        result = self._linked.ingress(frame, port, kept)
        outcome = self._after_ingress()
        self.sink(PassTrace(packet, start, "ingress", port, len(frame), origin, 0, tuple(self._events), outcome))
        return None if result is None else (*result[:3], _Numbered.of(result[3], packet))

    def _egress(
        self, state: tuple[Any, ...], size: int, port: int, instance: int, kind: int, *queue: int
    ) -> bytes | None:
        packet = state.packet if isinstance(state, _Numbered) else 0
        start = self._begin(packet)
        frame = self._linked.egress(state, size, port, instance, kind, *queue)
        if frame is None:
            outcome = Outcome("recirculated") if self._requested("recirculate") else self._drop()
        else:
            limit = state.limit if isinstance(state, _Numbered) else 0
            outcome = Outcome("sent", (port,), min(len(frame), limit) if limit else len(frame))
        origin = _ORIGINS.get(kind, "packet")
        self.sink(PassTrace(packet, start, "egress", port, size, origin, instance, tuple(self._events), outcome))
        return frame

    def _reparse(self, data: bytes, port: int, kept: Kept) -> tuple[Any, ...]:
        """A clone is parsed anew; its events would only repeat what the trace has."""
        assert self._linked.reparse is not None
        held, self._events = self._events, []
        state = self._linked.reparse(data, port, kept)
        self._events = held
        limit = kept.limit if isinstance(kept, _Numbered) else 0
        return _Numbered.of(state, self._packet, limit)

    def lost(self, queued: Queued, why: str) -> None:
        """A packet did not get into a queue."""
        packet = queued.state.packet if isinstance(queued.state, _Numbered) else 0
        if queued.egress_port == 0 and why:
            why += ": ports start at 1; was egress_spec set?"
        origin = _ORIGINS.get(queued.instance_type, "packet")
        outcome = Outcome("dropped", reason=why)
        now, port = time.time_ns(), queued.egress_port
        self.sink(PassTrace(packet, now, "queue", port, queued.size, origin, queued.instance, (), outcome))

    # --- how a pass ends ---

    def decided(self, spec: int, group: int = 0) -> None:
        self._decided = spec, group

    def _after_ingress(self) -> Outcome:
        if self._decided is None:
            return Outcome("resubmitted")
        spec, group = self._decided
        if group:
            replicas = self._engine.pre.replicas(group)
            if not replicas:
                return Outcome("dropped", reason=f"multicast group {group} has no members")
            return Outcome("multicast", tuple(port for port, _ in replicas), reason=f"group {group}")
        return self._drop() if spec == self._program.drop_port else Outcome("forwarded", (spec,))

    def _drop(self) -> Outcome:
        """Who let the packet be dropped: the action that gave egress_spec its last value."""
        spec = self._program.standard["egress_spec"].full_name
        actor: str | None = None
        culprit: str | None = None
        for event in self._events:
            if isinstance(event, TableApplied):
                actor = f"{event.action} of table {event.table}"
            elif isinstance(event, ActionRun):
                actor = event.action
            elif isinstance(event, Assigned) and event.field.name == spec:
                culprit = actor
        reason = f"egress_spec is {self._program.drop_port}"
        return Outcome("dropped", reason=f"{reason}, set by action {culprit}" if culprit else reason)

    def _requested(self, request: str) -> bool:
        return any(isinstance(event, Requested) and event.request == request for event in self._events)

    # --- events of generated code ---

    def state(self, name: str) -> None:
        self._events.append(StateEntered(name))

    def extracted(self, header: str, offset: int, length: int) -> None:
        self._events.append(Extracted(header, offset, length))

    def select(self, *keys: int) -> None:
        self._events.append(Selected(keys))

    def parser_error(self, error: int) -> None:
        self._events.append(ParserFailed(self._errors.get(error, str(error))))

    def bad_checksum(self, name: str) -> None:
        self._events.append(BadChecksum(name))

    def condition(self, name: str, result: bool) -> None:
        self._events.append(ConditionChecked(self._conditions[name], result))

    def table(
        self, name: str, key: int | tuple[int, ...], number: int, args: Sequence[int], entry: TableEntry | None
    ) -> None:
        spec = self._program.tables[name]
        values = key if isinstance(key, tuple) else (key,)
        keys = tuple(Named(each.name, value, each.width) for each, value in zip(spec.keys, values, strict=True))
        action = self._actions.get(number)
        text = None if entry is None else _entry_text(spec.keys, entry.match)
        priority = 0 if entry is None else entry.priority
        arguments = self._arguments(number, args)
        hit = entry is not None
        chosen = None if action is None else action.name
        self._events.append(TableApplied(name, keys, hit, text, priority, chosen, arguments))

    def action(self, ident: int, args: Sequence[int]) -> None:
        action = self._program.actions[ident]
        number = self._program.action_number(action.name)
        self._events.append(ActionRun(action.name, self._arguments(number, args)))

    def assigned(self, ident: int, value: int) -> None:
        if ident not in self._silent:
            field = self._fields[ident]
            self._events.append(Assigned(Named(field.full_name, value, field.width)))

    def register_read(self, name: str, index: int) -> None:
        self._events.append(RegisterRead(name, index, self._cell(name, index)))

    def register_value(self, name: str, index: int) -> int:
        """A register within an expression: 0 where the index is out of range."""
        self.register_read(name, index)
        return self._cell(name, index) or 0

    def register_written(self, name: str, index: int, value: int) -> None:
        self._events.append(RegisterWritten(name, index, self._cell(name, index), value))

    def counted(self, name: str, index: int) -> None:
        self._events.append(Counted(name, index))

    def metered(self, name: str, index: int) -> None:
        self._events.append(Metered(name, index))

    def step(self, text: str) -> None:
        self._events.append(Stepped(text))

    def _cell(self, name: str, index: int) -> int | None:
        register = self._engine.registers[name]
        return register.values[index] if 0 <= index < register.size else None

    def _arguments(self, number: int, args: Sequence[int]) -> tuple[Named, ...]:
        action = self._actions.get(number)
        params = () if action is None else action.params
        return tuple(Named(each.name, value, each.width) for each, value in zip(params, args, strict=False))

    # --- requests of generated code ---

    def _requests(self) -> dict[str, Callable[..., None]]:
        """In place of the engine's own."""
        return {
            "log": self._log,
            "clone_ingress": self._clone_ingress,
            "clone_egress": self._clone_egress,
            "digest_out": self._digest,
            "resubmit_packet": lambda *args: self._return("resubmit", *args),
            "recirculate_packet": lambda *args: self._return("recirculate", *args),
        }

    def _log(self, text: str, values: tuple[int, ...]) -> None:
        self._events.append(Logged(self._engine.log(text, values)))

    def _clone_ingress(self, session: int, kept: Kept, data: bytes, port: int) -> None:
        limit = self._note_clone(session)
        numbered = _Numbered.of(kept, self._packet, limit)
        self._engine.clone_ingress(session, numbered, data, port)

    def _clone_egress(self, session: int, state: tuple[Any, ...], size: int) -> None:
        limit = self._note_clone(session)
        self._engine.clone_egress(session, _Numbered.of(state, self._packet, limit), size)

    def _note_clone(self, session: int) -> int:
        config = self._engine.pre.session(session)
        ports = () if config is None else tuple(port for port, _ in config.replicas)
        name = f"session {session}" + ("" if config is not None else ", which does not exist")
        self._events.append(Requested("clone", name, ports))
        return 0 if config is None else config.packet_length

    def _digest(self, list_id: int, values: tuple[int, ...]) -> None:
        before = len(self._engine.digests)
        self._engine.digest_out(list_id, values)
        for digest in self._engine.digests[before:]:
            elements = self._program.learn_lists[list_id].elements
            named = tuple(Named(expression_text(each), value, 32) for each, value in zip(elements, values, strict=True))
            self._events.append(Requested("digest", digest.name, values=named))

    def _return(self, request: Literal["resubmit", "recirculate"], data: bytes, port: int, kept: Kept) -> None:
        self._events.append(Requested(request, ""))
        self._engine.send_back(data, port, _Numbered.of(kept, self._packet))


def _condition_texts(engine: Engine) -> dict[str, str]:
    pipelines = (engine.program.ingress, engine.program.egress)
    nodes = [node for pipeline in pipelines for node in pipeline.nodes.values()]
    return {node.name: expression_text(node.condition) for node in nodes if isinstance(node, ConditionNode)}


def _entry_text(keys: tuple[KeyField, ...], match: tuple[Match, ...]) -> str:
    """What an entry matches on, without the keys that it leaves open; empty where it is exactly the key."""
    if all(isinstance(each, Exact) for each in match):
        return ""
    texts = [_match_text(each, key.width) for key, each in zip(keys, match, strict=True)]
    named = [text if len(keys) == 1 else f"{key.name}={text}" for key, text in zip(keys, texts, strict=True) if text]
    return ", ".join(named) or "any"


def _match_text(match: Match, width: int) -> str:
    if isinstance(match, Exact):
        return value_text(match.value, width)
    if isinstance(match, Range):
        full = (match.low, match.high) == (0, (1 << width) - 1)
        return "" if full else f"{value_text(match.low, width)}..{value_text(match.high, width)}"
    if isinstance(match, Lpm):
        return f"{value_text(match.value, width)}/{match.prefix_len}" if match.prefix_len else ""
    return f"{value_text(match.value, width)}&&&{hex(match.mask)}" if match.mask else ""
