"""TableEntry (P4Runtime 1.4, section 9.1)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.matches import Match
from cais_tools.switch.meters import MeterConfig
from cais_tools.switch.refusals import NotFound
from cais_tools.switch.server.entities.base import DELETE, INSERT, MODIFY, Undo
from cais_tools.switch.server.entities.meters import check_reset, config_message, config_of, fill_colours
from cais_tools.switch.server.entities.table_actions import OneShot, TableActions
from cais_tools.switch.server.matching import key_of, match_messages
from cais_tools.switch.server.schema import Schema, TableSchema
from cais_tools.switch.server.status import P4Error, invalid
from cais_tools.switch.state import CounterValue
from cais_tools.switch.tables import GroupRef, Table, TableAction, TableEntry

__all__ = ["TableEntries"]

NO_DEFAULT_RESOURCES = "v1model counts and meters hits only, the default entry has no direct counter or meter"

_Key = tuple[str, tuple[Match, ...], int]


@dataclass(frozen=True)
class _Extra:
    """What the client wrote with an entry and the engine does not keep."""

    controller_metadata: int = 0
    metadata: bytes = b""
    idle_timeout_ns: int = 0
    one_shot: OneShot | None = None


_NO_EXTRA = _Extra()


class TableEntries:
    def __init__(
        self, schema: Schema, tables: Mapping[str, Table], actions: TableActions, clock: Callable[[], int]
    ) -> None:
        self.schema = schema
        self._tables = tables
        self._actions = actions
        self._clock = clock
        self._extras: dict[_Key, _Extra] = {}
        self._default_extras: dict[str, _Extra] = {}

    def engine_table(self, table: TableSchema) -> Table:
        return self._tables[table.name]

    # --- write ---

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.TableEntry) -> Undo:
        table = self.schema.table(entry.table_id)
        if entry.is_const:
            raise invalid(f"table {table.name}: is_const cannot be written")
        if kind != DELETE:
            _check_options(table, entry)
        if entry.is_default_action:
            return self._write_default(kind, table, entry)
        key = _key(table, entry)
        if table.is_const and kind != MODIFY:
            raise P4Error(code_pb2.PERMISSION_DENIED, f"the entries of table {table.name} are const")
        if kind == INSERT:
            return self._insert(table, key, entry)
        if kind == MODIFY:
            return self._modify(table, key, entry)
        return self._delete(table, key)

    def _insert(self, table: TableSchema, key: _Key, entry: p4runtime_pb2.TableEntry) -> Undo:
        if not table.fields:
            raise invalid(f"table {table.name} has no key: it has a default entry only")
        engine = self._tables[table.name]
        meter = _meter_config(table, entry)
        action, one_shot = self._action(table, entry.action)
        try:
            inserted = engine.insert(key[1], action, key[2])
        except Exception:
            self._drop(one_shot)
            raise
        if inserted.meter is not None:
            inserted.meter.configure(meter)
        if inserted.counter is not None and entry.HasField("counter_data"):
            inserted.counter[:] = entry.counter_data.packet_count, entry.counter_data.byte_count
        self._keep(inserted, table, _extra(entry, one_shot))

        def undo() -> None:
            self._delete(table, key)

        return undo

    def _modify(self, table: TableSchema, key: _Key, entry: p4runtime_pb2.TableEntry) -> Undo:
        engine = self._tables[table.name]
        found = engine.get(key[1], key[2])
        if found.is_const or table.is_const:
            if entry.HasField("action") or entry.metadata or entry.controller_metadata:
                raise P4Error(code_pb2.PERMISSION_DENIED, f"this entry of table {table.name} is const")
            if entry.idle_timeout_ns:
                raise invalid(f"table {table.name}: const entries cannot time out")
        meter = _meter_config(table, entry)
        old = self._snapshot(table, found)
        one_shot = old.extra.one_shot
        if entry.HasField("action"):
            action, one_shot = self._action(table, entry.action)
            try:
                engine.modify(key[1], action, key[2])
            except Exception:
                self._drop(one_shot)
                raise
            self._drop(old.extra.one_shot)
        if found.meter is not None:
            found.meter.configure(meter)
            if entry.HasField("meter_counter_data"):
                found.meter.set_colours(None)
        if found.counter is not None and entry.HasField("counter_data"):
            found.counter[:] = entry.counter_data.packet_count, entry.counter_data.byte_count
        self._keep(found, table, _extra(entry, one_shot))
        found.timer_us = self._clock()

        def undo() -> None:
            # Not `found`: a later deletion of the batch, taken back before this, has made another entry of it.
            self._restore(table, engine.get(key[1], key[2]), old)

        return undo

    def _delete(self, table: TableSchema, key: _Key) -> Undo:
        engine = self._tables[table.name]
        found = engine.get(key[1], key[2])
        old = self._snapshot(table, found)
        engine.delete(key[1], key[2])
        self._extras.pop((table.name, found.match, found.priority), None)
        self._drop(old.extra.one_shot)

        def undo() -> None:
            action, one_shot = old.action, None
            if old.extra.one_shot is not None:
                one_shot = self._actions.make_one_shot(table, old.extra.one_shot.message)
                action = GroupRef(one_shot.group)
            again = engine.insert(key[1], action, key[2])
            self._put_back(table, again, old, one_shot)

        return undo

    def _write_default(
        self, kind: p4runtime_pb2.Update.Type, table: TableSchema, entry: p4runtime_pb2.TableEntry
    ) -> Undo:
        where = f"table {table.name}"
        if kind != MODIFY:
            raise invalid(f"{where}: the default entry is always there, it can only be modified")
        if entry.match or entry.priority:
            raise invalid(f"{where}: the default entry has neither match nor priority")
        if entry.idle_timeout_ns:
            raise invalid(f"{where}: the default entry cannot time out")
        if any(entry.HasField(field) for field in ("counter_data", "meter_config", "meter_counter_data")):
            raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: {NO_DEFAULT_RESOURCES}")
        if table.const_default:
            raise P4Error(code_pb2.PERMISSION_DENIED, f"{where}: the default entry is const")
        if table.profile:
            raise P4Error(code_pb2.PERMISSION_DENIED, f"{where}: the default entry of an indirect table is const")
        engine = self._tables[table.name]
        before, extra = engine.default_action, self._default_extras.get(table.name)
        if entry.HasField("action"):
            if entry.action.WhichOneof("type") != "action":
                raise invalid(f"{where}: the default entry needs an action")
            engine.set_default(self._actions.call(table, entry.action.action, default=True))
            self._default_extras[table.name] = _extra(entry, None)
        else:
            engine.reset_default()
            self._default_extras.pop(table.name, None)

        def undo() -> None:
            if before is None:
                engine.reset_default()
            else:
                engine.set_default(before)
            self._default_extras[table.name] = extra or _NO_EXTRA

        return undo

    def _action(self, table: TableSchema, message: p4runtime_pb2.TableAction) -> tuple[TableAction, OneShot | None]:
        action = self._actions.plain(table, message)
        if action is not None:
            return action, None
        one_shot = self._actions.make_one_shot(table, message.action_profile_action_set)
        return GroupRef(one_shot.group), one_shot

    def _drop(self, one_shot: OneShot | None) -> None:
        if one_shot is not None:
            self._actions.drop_one_shot(one_shot)

    # --- extras and snapshots ---

    def _keep(self, entry: TableEntry, table: TableSchema, extra: _Extra) -> None:
        entry.metadata = extra.metadata
        entry.idle_timeout_us = -(-extra.idle_timeout_ns // 1000)  # of less than the clock tells: the least it does
        key = (table.name, entry.match, entry.priority)
        if extra == _NO_EXTRA:
            self._extras.pop(key, None)
        else:
            self._extras[key] = extra

    def extra(self, table: TableSchema, entry: TableEntry) -> _Extra:
        return self._extras.get((table.name, entry.match, entry.priority), _NO_EXTRA)

    def _snapshot(self, table: TableSchema, entry: TableEntry) -> _Snapshot:
        meter = entry.meter.config if entry.meter is not None else None
        counter = list(entry.counter) if entry.counter is not None else None
        colours = entry.meter.colours if entry.meter is not None else None
        return _Snapshot(entry.action, counter, meter, colours, self.extra(table, entry))

    def _restore(self, table: TableSchema, entry: TableEntry, old: _Snapshot) -> None:
        """Take a modification back."""
        now = self.extra(table, entry).one_shot
        action, one_shot = old.action, old.extra.one_shot
        if one_shot is not None and one_shot is not now:
            one_shot = self._actions.make_one_shot(table, one_shot.message)
            action = GroupRef(one_shot.group)
        if action != entry.action:
            self._tables[table.name].modify(entry.match, action, entry.priority)
        if now is not one_shot:
            self._drop(now)
        self._put_back(table, entry, old, one_shot)

    def _put_back(self, table: TableSchema, entry: TableEntry, old: _Snapshot, one_shot: OneShot | None) -> None:
        if entry.counter is not None and old.counter is not None:
            entry.counter[:] = old.counter
        if entry.meter is not None:
            entry.meter.configure(old.meter)
            entry.meter.set_colours(old.colours)
        self._keep(entry, table, replace(old.extra, one_shot=one_shot))

    # --- read ---

    def find(self, entry: p4runtime_pb2.TableEntry) -> TableEntry:
        """The entry with the key of a message, for its direct resources. Raises P4Error, NotFound."""
        table = self.schema.table(entry.table_id)
        if entry.is_default_action:
            raise P4Error(code_pb2.UNIMPLEMENTED, f"table {table.name}: {NO_DEFAULT_RESOURCES}")
        _, match, priority = _key(table, entry)
        return self._tables[table.name].get(match, priority)

    def read(self, entry: p4runtime_pb2.TableEntry) -> Iterator[p4runtime_pb2.Entity]:
        if entry.is_default_action and entry.HasField("time_since_last_hit"):
            raise invalid("default entries do not time out: time_since_last_hit cannot be asked for")
        if entry.table_id == 0:
            for table in self.schema.tables.values():
                yield from self._read_table(table, entry)
            return
        table = self.schema.table(entry.table_id)
        if entry.HasField("time_since_last_hit") and not table.idle_timeout:
            raise invalid(f"table {table.name} has no idle time-out")
        if entry.HasField("counter_data") and not table.direct_counter:
            raise invalid(f"table {table.name} has no direct counter")
        if (entry.HasField("meter_config") or entry.HasField("meter_counter_data")) and not table.direct_meter:
            raise invalid(f"table {table.name} has no direct meter")
        yield from self._read_table(table, entry)

    def _read_table(self, table: TableSchema, wanted: p4runtime_pb2.TableEntry) -> Iterator[p4runtime_pb2.Entity]:
        if wanted.is_default_action:
            yield from self._read_default(table)
            return
        for found in self._candidates(table, wanted):
            entity = p4runtime_pb2.Entity()
            self._fill(entity.table_entry, table, found, wanted)
            if _passes(entity.table_entry, wanted):
                yield entity

    def _candidates(self, table: TableSchema, wanted: p4runtime_pb2.TableEntry) -> Iterator[TableEntry]:
        """The entries with the wanted match and priority, where they are given."""
        engine = self._tables[table.name]
        if wanted.match and (wanted.priority or not table.needs_priority):
            with contextlib.suppress(NotFound):
                yield engine.get(key_of(table, wanted.match), wanted.priority)
            return
        # Compared as messages: what the client wrote has more than one form in the engine.
        match = match_messages(table, key_of(table, wanted.match)) if wanted.match else None
        for found in engine.entries():
            if wanted.priority in (0, found.priority) and match in (None, match_messages(table, found.match)):
                yield found

    def _read_default(self, table: TableSchema) -> Iterator[p4runtime_pb2.Entity]:
        action = self._tables[table.name].default_action
        entity = p4runtime_pb2.Entity()
        entry = entity.table_entry
        entry.table_id = table.id
        entry.is_default_action = True
        entry.is_const = table.const_default or bool(table.profile)  # an indirect table's is NoAction for ever
        if action is not None:
            entry.action.CopyFrom(self._actions.message(table, action, None))
        extra = self._default_extras.get(table.name, _NO_EXTRA)
        entry.controller_metadata, entry.metadata = extra.controller_metadata, extra.metadata
        yield entity

    def fill_key(self, message: p4runtime_pb2.TableEntry, table: TableSchema, found: TableEntry) -> None:
        message.table_id = table.id
        message.match.extend(match_messages(table, found.match))
        if table.needs_priority:
            message.priority = found.priority

    def _fill(
        self,
        message: p4runtime_pb2.TableEntry,
        table: TableSchema,
        found: TableEntry,
        wanted: p4runtime_pb2.TableEntry,
    ) -> None:
        extra = self.extra(table, found)
        self.fill_key(message, table, found)
        message.action.CopyFrom(self._actions.message(table, found.action, extra.one_shot))
        message.is_const = found.is_const or table.is_const
        message.controller_metadata, message.metadata = extra.controller_metadata, extra.metadata
        message.idle_timeout_ns = extra.idle_timeout_ns
        if wanted.HasField("counter_data") and found.counter is not None:
            message.counter_data.packet_count, message.counter_data.byte_count = found.counter
        if wanted.HasField("meter_config") and found.meter is not None and found.meter.config is not None:
            message.meter_config.CopyFrom(config_message(found.meter.config))
        if wanted.HasField("meter_counter_data") and found.meter is not None:
            fill_colours(message.meter_counter_data, found.meter)
        if wanted.HasField("time_since_last_hit") and table.idle_timeout:
            message.time_since_last_hit.elapsed_ns = max(0, self._clock() - found.last_hit_us) * 1000

    # --- idle time-out ---

    @property
    def has_timeouts(self) -> bool:
        return any(extra.idle_timeout_ns for extra in self._extras.values())

    def idle(self) -> list[p4runtime_pb2.TableEntry]:
        """The entries that were not hit for their time-out; their timers start anew (section 16.4)."""
        messages: list[p4runtime_pb2.TableEntry] = []
        now = self._clock()
        for table in self.schema.tables.values():
            if not table.idle_timeout:
                continue
            for found in self._tables[table.name].entries():
                if not 0 < found.idle_timeout_us <= now - max(found.last_hit_us, found.timer_us):
                    continue
                found.timer_us = now
                message = p4runtime_pb2.TableEntry()
                self._fill(message, table, found, message)
                messages.append(message)
        return messages


@dataclass(frozen=True)
class _Snapshot:
    action: TableAction
    counter: list[int] | None
    meter: MeterConfig | None
    colours: tuple[CounterValue, CounterValue, CounterValue] | None
    extra: _Extra


def _extra(entry: p4runtime_pb2.TableEntry, one_shot: OneShot | None) -> _Extra:
    return _Extra(entry.controller_metadata, entry.metadata, entry.idle_timeout_ns, one_shot)


def _meter_config(table: TableSchema, entry: p4runtime_pb2.TableEntry) -> MeterConfig | None:
    if not entry.HasField("meter_config"):
        return None
    return config_of(entry.meter_config, f"the direct meter of table {table.name}", table.meter_type)


def _key(table: TableSchema, entry: p4runtime_pb2.TableEntry) -> _Key:
    """The key of an entry: its match, and its priority (which ternary, range and optional keys need)."""
    match = key_of(table, entry.match)
    if table.needs_priority and entry.priority <= 0:
        raise invalid(f"table {table.name} needs a priority above 0: it has ternary, range or optional keys")
    if not table.needs_priority and entry.priority:
        raise invalid(f"table {table.name} takes no priority: its keys are exact or lpm")
    return table.name, match, entry.priority


def _check_options(table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    where = f"table {table.name}"
    if entry.HasField("counter_data") and not table.direct_counter:
        raise invalid(f"{where} has no direct counter")
    if (entry.HasField("meter_config") or entry.HasField("meter_counter_data")) and not table.direct_meter:
        raise invalid(f"{where} has no direct meter")
    check_reset(entry.meter_counter_data, where)
    if entry.HasField("time_since_last_hit"):
        raise invalid(f"{where}: time_since_last_hit cannot be written")
    if entry.idle_timeout_ns and not table.idle_timeout:
        raise invalid(f"{where} has no idle time-out")
    if entry.idle_timeout_ns < 0:
        raise invalid(f"{where}: the idle time-out is negative")


def _passes(entry: p4runtime_pb2.TableEntry, wanted: p4runtime_pb2.TableEntry) -> bool:
    """The filters of section 9.1.6 that are not part of the key."""
    if wanted.HasField("action") and wanted.action.action.action_id != entry.action.action.action_id:
        return False
    if wanted.controller_metadata not in (0, entry.controller_metadata):
        return False
    return wanted.metadata in (b"", entry.metadata)
