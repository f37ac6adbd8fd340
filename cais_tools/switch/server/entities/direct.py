"""DirectCounterEntry and DirectMeterEntry (P4Runtime 1.4, sections 9.3.1 and 9.4.1)."""

from __future__ import annotations

from collections.abc import Iterator

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.meters import Meter
from cais_tools.switch.server.entities.base import Undo, nothing, only_modify
from cais_tools.switch.server.entities.meters import check_reset, config_message, config_of, fill_colours
from cais_tools.switch.server.entities.tables import TableEntries
from cais_tools.switch.server.schema import TableSchema
from cais_tools.switch.server.status import invalid
from cais_tools.switch.state import Cell
from cais_tools.switch.tables import TableEntry

__all__ = ["DirectCounterEntries", "DirectMeterEntries"]


class DirectCounterEntries:
    def __init__(self, tables: TableEntries) -> None:
        self._tables = tables

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.DirectCounterEntry) -> Undo:
        only_modify(kind, "a direct counter")
        cell = self._cell(entry.table_entry)
        if not entry.HasField("data"):
            return nothing
        before = list(cell)
        cell[:] = entry.data.packet_count, entry.data.byte_count

        def undo() -> None:
            self._cell(entry.table_entry)[:] = before

        return undo

    def _cell(self, entry: p4runtime_pb2.TableEntry) -> Cell:
        cell = self._tables.find(entry).counter
        if cell is None:
            raise invalid("the table has no direct counter")
        return cell

    def read(self, entry: p4runtime_pb2.DirectCounterEntry) -> Iterator[p4runtime_pb2.Entity]:
        for table, found in _selected(self._tables, entry.table_entry, "counter"):
            entity = p4runtime_pb2.Entity()
            message = entity.direct_counter_entry
            self._tables.fill_key(message.table_entry, table, found)
            value = found.counter_value
            message.data.packet_count = value.packets
            message.data.byte_count = value.bytes
            yield entity


class DirectMeterEntries:
    def __init__(self, tables: TableEntries) -> None:
        self._tables = tables

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.DirectMeterEntry) -> Undo:
        only_modify(kind, "a direct meter")
        check_reset(entry.counter_data, "a direct meter")
        meter = self._meter(entry.table_entry)
        before, colours = meter.config, meter.colours
        meter_type = self._tables.schema.table(entry.table_entry.table_id).meter_type
        meter.configure(config_of(entry.config, "a direct meter", meter_type) if entry.HasField("config") else None)
        if entry.HasField("counter_data"):
            meter.set_colours(None)

        def undo() -> None:
            again = self._meter(entry.table_entry)
            again.configure(before)
            if entry.HasField("counter_data"):
                again.set_colours(colours)

        return undo

    def _meter(self, entry: p4runtime_pb2.TableEntry) -> Meter:
        meter = self._tables.find(entry).meter
        if meter is None:
            raise invalid("the table has no direct meter")
        return meter

    def read(self, entry: p4runtime_pb2.DirectMeterEntry) -> Iterator[p4runtime_pb2.Entity]:
        for table, found in _selected(self._tables, entry.table_entry, "meter"):
            entity = p4runtime_pb2.Entity()
            message = entity.direct_meter_entry
            self._tables.fill_key(message.table_entry, table, found)
            if found.meter is not None and found.meter.config is not None:
                message.config.CopyFrom(config_message(found.meter.config))
            if entry.HasField("counter_data") and found.meter is not None:
                fill_colours(message.counter_data, found.meter)
            yield entity


def _selected(
    tables: TableEntries, entry: p4runtime_pb2.TableEntry, kind: str
) -> Iterator[tuple[TableSchema, TableEntry]]:
    """The entry that the key names, or all entries of the table, or (id 0) of all tables that have such a resource."""

    def has(table: TableSchema) -> bool:
        return bool(table.direct_counter if kind == "counter" else table.direct_meter)

    schema = tables.schema
    if entry.table_id == 0:
        for table in schema.tables.values():
            if has(table):
                for found in tables.engine_table(table).entries():
                    yield table, found
        return
    table = schema.table(entry.table_id)
    if not has(table):
        raise invalid(f"table {table.name} has no direct {kind}")
    if entry.match or entry.is_default_action:
        yield table, tables.find(entry)
        return
    for found in tables.engine_table(table).entries():
        yield table, found
