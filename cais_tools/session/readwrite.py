"""Writing and reading entities by name: the part of a session that does not care how it is connected."""

from __future__ import annotations

import abc
import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session import codec
from cais_tools.session.data import Data, decode_data
from cais_tools.session.entities import (
    CloneSession,
    CounterCell,
    CounterData,
    Entity,
    MulticastGroup,
    TableEntry,
    Update,
    UpdateType,
)
from cais_tools.session.errors import BatchFailed, DeviceError
from cais_tools.session.rpc import Rpc
from cais_tools.session.verdicts import Verdict

__all__ = ["Applied", "AppliedKind", "ReadWrite"]

# Updates in one Write: few enough that every one's error fits into the trailer of any server.
_BATCH = 256


class AppliedKind(enum.Enum):
    INSERTED = "inserted"
    MODIFIED = "modified"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did with one entity."""

    entity: Entity
    kind: AppliedKind


class ReadWrite(abc.ABC):
    _rpc: Rpc

    @property
    @abc.abstractmethod
    def index(self) -> P4InfoIndex: ...

    @abc.abstractmethod
    def _require_primary(self, doing: str) -> p4runtime_pb2.Uint128: ...

    @abc.abstractmethod
    def _require_unchanged(self) -> None: ...

    # -- writing

    def try_write(self, updates: Sequence[Update]) -> list[Verdict]:
        """Write all updates, whatever fails of them; one verdict for each, in order.

        Raises UsageError for an update that makes no sense (nothing is sent then), NotPrimary, Unreachable,
        SwitchRestarted.
        """
        return list(self.write_each(updates))

    def write_each(self, updates: Sequence[Update]) -> Iterator[Verdict]:
        """As `try_write`, but each verdict comes as soon as it is known: what it raises in a later batch takes
        nothing away from what is known about the earlier ones.
        """
        election_id = self._require_primary("write")
        messages = [codec.encode_update(self.index, update) for update in updates]
        texts = [str(update) for update in updates]
        for start in range(0, len(updates), _BATCH):
            some = slice(start, start + _BATCH)
            for each in self._rpc.write(messages[some], texts[some], election_id):
                yield replace(each, index=start + each.index)

    def write(self, updates: Sequence[Update]) -> None:
        """Write all updates. Raises BatchFailed, with every update's verdict, when some failed."""
        verdicts = self.try_write(updates)
        if not all(verdict.ok for verdict in verdicts):
            raise BatchFailed(verdicts)

    def insert(self, *entities: Entity) -> None:
        self.write([Update(UpdateType.INSERT, entity) for entity in entities])

    def modify(self, *entities: Entity) -> None:
        self.write([Update(UpdateType.MODIFY, entity) for entity in entities])

    def delete(self, *entities: Entity) -> None:
        self.write([Update(UpdateType.DELETE, entity) for entity in entities])

    def apply(self, entities: Sequence[Entity]) -> list[Applied]:
        """Make the switch have these entities: insert what is missing, modify what differs, leave what is equal.

        Default entries and counter cells are always modified. Raises BatchFailed.
        """
        verdicts = self.try_write([_first_update(entity) for entity in entities])
        applied: list[Applied] = []
        for entity, verdict in zip(entities, verdicts, strict=True):
            if verdict.ok:
                inserted = _first_update(entity).type is UpdateType.INSERT
                applied.append(Applied(entity, AppliedKind.INSERTED if inserted else AppliedKind.MODIFIED))
            else:
                applied.append(self._settle(entity, verdict))
        return applied

    def _settle(self, entity: Entity, verdict: Verdict) -> Applied:
        if not verdict.certain:
            # The switch failed a whole batch without saying why: this one alone gets an answer of its own.
            verdict = self.try_write([_first_update(entity)])[0]
            if verdict.ok:
                return Applied(entity, AppliedKind.INSERTED)
        if verdict.code in ("ALREADY_EXISTS", "UNKNOWN") and self._holds(entity):
            return Applied(entity, AppliedKind.UNCHANGED)
        if verdict.code != "ALREADY_EXISTS":
            raise BatchFailed([verdict])
        self.modify(entity)
        return Applied(entity, AppliedKind.MODIFIED)

    def _holds(self, entity: Entity) -> bool:
        wanted = codec.encode(self.index, entity)
        if isinstance(entity, TableEntry):
            key = p4runtime_pb2.Entity()
            key.CopyFrom(wanted)
            key.table_entry.ClearField("action")
            present = self._read([key], f"read {entity}")
            return any(each.table_entry.action == wanted.table_entry.action for each in present)
        if isinstance(entity, MulticastGroup):
            return entity in self.read_multicast_groups(entity.group_id)
        if isinstance(entity, CloneSession):
            return entity in self.read_clone_sessions(entity.session_id)
        return False

    # -- reading

    def _read(self, entities: Sequence[p4runtime_pb2.Entity], doing: str) -> list[p4runtime_pb2.Entity]:
        self._require_unchanged()
        return self._rpc.read(entities, doing)

    def read_tables(self, names: Iterable[str], *, counters: Collection[str] = ()) -> list[TableEntry]:
        """All entries (not the default ones) of these tables in one read; those in `counters` with their direct
        counter's value.
        """
        index = self.index
        with_counters = {index.table(name).preamble.id for name in counters}
        wanted: list[p4runtime_pb2.Entity] = []
        for name in names:
            table_id = index.table(name).preamble.id
            entity = p4runtime_pb2.Entity(table_entry=p4runtime_pb2.TableEntry(table_id=table_id))
            if table_id in with_counters:
                entity.table_entry.counter_data.SetInParent()
            wanted.append(entity)
        entities = self._read(wanted, "read its tables")
        entries = (codec.decode_table_entry(index, each.table_entry) for each in entities)
        return [entry for entry in entries if not entry.is_default]

    def read_table(self, name: str, *, counters: bool = False) -> list[TableEntry]:
        """All entries of one table; with `counters`, each with its direct counter's value."""
        return self.read_tables([name], counters=[name] if counters else [])

    def read_default(self, name: str) -> TableEntry | None:
        """The default entry of a table; None where it has no default action."""
        index = self.index
        entry = p4runtime_pb2.TableEntry(table_id=index.table(name).preamble.id, is_default_action=True)
        entities = self._read([p4runtime_pb2.Entity(table_entry=entry)], f"read the default entry of {name}")
        return codec.decode_table_entry(index, entities[0].table_entry) if entities else None

    def read_counter(self, name: str) -> dict[int, CounterData]:
        """All cells of an indirect counter by index."""
        counter_id = self.index.counter(name).preamble.id
        entry = p4runtime_pb2.CounterEntry(counter_id=counter_id)
        entities = self._read([p4runtime_pb2.Entity(counter_entry=entry)], f"read the counter {name}")
        return {each.counter_entry.index.index: _counter_data(each.counter_entry.data) for each in entities}

    def read_counters(self, cells: Mapping[str, Iterable[int]]) -> dict[str, dict[int, CounterData]]:
        """Some cells of some counters, by counter (as named in `cells`) and index, in one read."""
        names = {self.index.counter(name).preamble.id: name for name in cells}
        wanted = [
            p4runtime_pb2.Entity(
                counter_entry=p4runtime_pb2.CounterEntry(counter_id=counter_id, index=p4runtime_pb2.Index(index=cell))
            )
            for counter_id, name in names.items()
            for cell in cells[name]
        ]
        found: dict[str, dict[int, CounterData]] = {name: {} for name in cells}
        if wanted:
            for each in self._read(wanted, "read its counters"):
                entry = each.counter_entry
                found[names[entry.counter_id]][entry.index.index] = _counter_data(entry.data)
        return found

    def read_register(self, name: str, cells: Iterable[int] | None = None) -> dict[int, Data]:
        """Cells of a register by index: those asked for, or all. Raises DeviceError where the switch cannot tell."""
        register_id = self.index.register(name).preamble.id
        wanted = [
            p4runtime_pb2.RegisterEntry(register_id=register_id, index=p4runtime_pb2.Index(index=cell))
            for cell in cells or ()
        ]
        if cells is None:
            wanted = [p4runtime_pb2.RegisterEntry(register_id=register_id)]
        try:
            entities = self._read([p4runtime_pb2.Entity(register_entry=each) for each in wanted], f"read {name}")
        except DeviceError as error:
            if error.code == "UNIMPLEMENTED":
                error.hint = "this switch shows no registers over P4Runtime (bmv2 does not); the embedded switch does"
            raise
        return {each.register_entry.index.index: decode_data(each.register_entry.data) for each in entities}

    def clear_counter(self, name: str, cells: Iterable[int]) -> None:
        self.modify(*(CounterCell(name, cell, CounterData()) for cell in cells))

    def read_multicast_groups(self, group_id: int = 0) -> list[MulticastGroup]:
        """One multicast group, or all (0); empty where there is none."""
        entry = p4runtime_pb2.MulticastGroupEntry(multicast_group_id=group_id)
        engine = p4runtime_pb2.PacketReplicationEngineEntry(multicast_group_entry=entry)
        entities = self._read(
            [p4runtime_pb2.Entity(packet_replication_engine_entry=engine)], "read its multicast groups"
        )
        return [
            codec.decode_multicast_group(each.packet_replication_engine_entry.multicast_group_entry)
            for each in entities
        ]

    def read_clone_sessions(self, session_id: int = 0) -> list[CloneSession]:
        """One clone session, or all (0); empty where there is none."""
        entry = p4runtime_pb2.CloneSessionEntry(session_id=session_id)
        engine = p4runtime_pb2.PacketReplicationEngineEntry(clone_session_entry=entry)
        entities = self._read([p4runtime_pb2.Entity(packet_replication_engine_entry=engine)], "read its clone sessions")
        return [
            codec.decode_clone_session(each.packet_replication_engine_entry.clone_session_entry) for each in entities
        ]


def _first_update(entity: Entity) -> Update:
    only_modify = isinstance(entity, CounterCell) or (isinstance(entity, TableEntry) and entity.is_default)
    return Update(UpdateType.MODIFY if only_modify else UpdateType.INSERT, entity)


def _counter_data(message: p4runtime_pb2.CounterData) -> CounterData:
    return CounterData(message.packet_count, message.byte_count)
