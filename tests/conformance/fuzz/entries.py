"""Random entries for a program, by its P4Info: table entries, default actions, multicast groups, clone sessions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from cais_tools.p4rt import p4info_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.entities import CloneSession, MulticastGroup, Replica, TableEntry, Update, UpdateType
from cais_tools.session.values import Lpm, MatchValue, Range, Ternary, Value
from cais_tools.switch.program import Program
from tests.conformance.fuzz.subjects import Subject
from tests.conformance.fuzz.values import PORTS, ValuePool

__all__ = ["EntryMaker", "random_updates"]

_PER_TABLE = 12
_PORT_BITS = 9
_LOOSE = (p4info_pb2.MatchField.TERNARY, p4info_pb2.MatchField.RANGE, p4info_pb2.MatchField.OPTIONAL)


def random_updates(subject: Subject, pool: ValuePool, rng: random.Random) -> list[Update]:
    """What to write, in order. Some of it may be refused (an entry twice): by both switches, then."""
    updates = [Update(UpdateType.INSERT, _group(ident, rng)) for ident in sorted(subject.groups | {1, 2, 3, 4, 5})]
    if subject.clones:  # bmv2 has sessions among its multicast groups, from 32768 on
        sessions = sorted(subject.sessions | {1, 2, 3, 4, 5})
        updates += [Update(UpdateType.INSERT, _session(ident, rng)) for ident in sessions]
    maker = EntryMaker(subject.pipeline.index, pool, rng, _masks(subject.program))
    for table in subject.pipeline.p4info.tables:
        # Entries of action profiles are members and groups, which the session does not write; P4Info has no width
        # for keys that are enums or errors.
        if not table.implementation_id and all(key.bitwidth for key in table.match_fields):
            updates += maker.updates(table)
    return updates


def _group(ident: int, rng: random.Random) -> MulticastGroup:
    return MulticastGroup(ident, _replicas(rng, rng.randrange(4)))


def _session(ident: int, rng: random.Random) -> CloneSession:
    return CloneSession(ident, _replicas(rng, 1))


def _replicas(rng: random.Random, count: int) -> frozenset[Replica]:
    """To different ports: the order of replicas that leave by one is nobody's business."""
    return frozenset(Replica(port, rng.randrange(1, 4)) for port in rng.sample(PORTS, count))


class EntryMaker:
    """Random entries of tables of one P4Info."""

    def __init__(
        self,
        index: P4InfoIndex,
        pool: ValuePool,
        rng: random.Random,
        masks: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self._masks = masks or {}
        self._actions = {action.preamble.id: action for action in index.message.actions}
        self._pool = pool
        self._rng = rng

    def updates(self, table: p4info_pb2.Table) -> Iterator[Update]:
        usable = [ref for ref in table.action_refs if not _default_only(ref)]
        if usable and table.match_fields and not table.is_const_table and not table.has_initial_entries:
            for _ in range(min(_PER_TABLE, table.size)):
                yield Update(UpdateType.INSERT, self._entry(table, self._telling(usable)))
        default = [ref for ref in table.action_refs if ref.scope != p4info_pb2.ActionRef.TABLE_ONLY]
        if default and not table.const_default_action_id and self._rng.random() < 0.4:
            yield Update(UpdateType.MODIFY, self._default(table, self._telling(default)))

    def _telling(self, refs: list[p4info_pb2.ActionRef]) -> int:
        """An action, one with parameters for preference: the others mostly drop the packet."""
        weights = [4 if self._actions[ref.id].params else 1 for ref in refs]
        return self._rng.choices(refs, weights)[0].id

    def _entry(self, table: p4info_pb2.Table, action_id: int) -> TableEntry:
        match = {key.name: self._match(table.preamble.name, key) for key in table.match_fields}
        # Different priorities: which of two equal ones wins is undefined.
        loose = any(key.match_type in _LOOSE for key in table.match_fields)
        priority = self._rng.randrange(1, 1 << 20) if loose else 0
        action = self._actions[action_id]
        return TableEntry(table.preamble.name, match, action.preamble.name, self._params(action), priority)

    def _default(self, table: p4info_pb2.Table, action_id: int) -> TableEntry:
        action = self._actions[action_id]
        name = action.preamble.name
        return TableEntry(table.preamble.name, {}, name, self._params(action), is_default=True)

    def _params(self, action: p4info_pb2.Action) -> dict[str, Value]:
        return {param.name: self._param(param.bitwidth) for param in action.params}

    def _param(self, width: int) -> int:
        if width == _PORT_BITS and self._rng.random() < 0.8:
            return self._rng.choice(PORTS)
        return self._pool.common(width)

    def _match(self, table: str, key: p4info_pb2.MatchField) -> MatchValue:
        width = key.bitwidth
        value = self._param(width) & self._masks.get((table, key.name), -1)
        full = (1 << width) - 1
        if key.match_type == p4info_pb2.MatchField.LPM:
            length = self._rng.choice((0, width, self._rng.randint(0, width)))
            return Lpm(value & (full ^ full >> length), length)
        if key.match_type == p4info_pb2.MatchField.TERNARY:
            mask = self._rng.choice((0, full, full, self._pool.pick(width)))
            return Ternary(value & mask, mask)
        if key.match_type == p4info_pb2.MatchField.RANGE:
            low, high = sorted((value, self._rng.choice((value, full, self._pool.pick(width)))))
            return Range(low, high)
        if key.match_type == p4info_pb2.MatchField.OPTIONAL and self._rng.random() < 0.3:
            return None
        return value


def _default_only(ref: p4info_pb2.ActionRef) -> bool:
    """As the scope says, or in older files the annotation, which bmv2 does not look at."""
    return ref.scope == p4info_pb2.ActionRef.DEFAULT_ONLY or any("@defaultonly" in each for each in ref.annotations)


def _masks(program: Program) -> dict[tuple[str, str], int]:
    """Of keys that are masked, by table and name: bmv2 masks entries too, which could not match otherwise."""
    return {
        (table.name, key.name): key.mask
        for table in program.tables.values()
        for key in table.keys
        if key.mask is not None
    }
