"""CounterEntry: indirect counters (P4Runtime 1.4, section 9.3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.server.entities.base import Undo, check_index, nothing, only_modify
from cais_tools.switch.server.schema import Schema
from cais_tools.switch.state import CounterArray

__all__ = ["CounterEntries"]


class CounterEntries:
    def __init__(self, schema: Schema, counters: Mapping[str, CounterArray]) -> None:
        self._schema = schema
        self._counters = counters

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.CounterEntry) -> Undo:
        counter = self._schema.counter(entry.counter_id)
        only_modify(kind, f"counter {counter.name}")
        array = self._counters[counter.name]
        where = f"counter {counter.name}"
        if entry.HasField("index"):
            indices = range(check_index(entry.index.index, array.size, where), entry.index.index + 1)
        else:
            indices = range(array.size)
        if not entry.HasField("data"):
            return nothing
        before = [(index, array.read(index)) for index in indices]
        for index in indices:
            array.write(index, packets=entry.data.packet_count, bytes=entry.data.byte_count)

        def undo() -> None:
            for index, value in before:
                array.write(index, packets=value.packets, bytes=value.bytes)

        return undo

    def read(self, entry: p4runtime_pb2.CounterEntry) -> Iterator[p4runtime_pb2.Entity]:
        if entry.counter_id == 0:
            for counter_id in self._schema.counters:
                yield from self._read_all(counter_id)
        elif entry.HasField("index"):
            counter = self._schema.counter(entry.counter_id)
            array = self._counters[counter.name]
            index = check_index(entry.index.index, array.size, f"counter {counter.name}")
            yield _entity(counter.id, index, array)
        else:
            yield from self._read_all(self._schema.counter(entry.counter_id).id)

    def _read_all(self, counter_id: int) -> Iterator[p4runtime_pb2.Entity]:
        array = self._counters[self._schema.counters[counter_id].name]
        for index in range(array.size):
            yield _entity(counter_id, index, array)


def _entity(counter_id: int, index: int, array: CounterArray) -> p4runtime_pb2.Entity:
    value = array.read(index)
    entity = p4runtime_pb2.Entity()
    entry = entity.counter_entry
    entry.counter_id = counter_id
    entry.index.index = index
    entry.data.packet_count = value.packets
    entry.data.byte_count = value.bytes
    return entity
