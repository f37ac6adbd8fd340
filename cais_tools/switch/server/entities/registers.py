"""RegisterEntry (P4Runtime 1.4, section 9.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cais_tools.p4rt import p4runtime_pb2, p4types_pb2
from cais_tools.switch.server.entities.base import Undo, check_index, nothing, only_modify
from cais_tools.switch.server.p4data import data_of, value_of_data
from cais_tools.switch.server.schema import ArraySchema, Schema
from cais_tools.switch.state import RegisterArray

__all__ = ["RegisterEntries"]


class RegisterEntries:
    def __init__(self, schema: Schema, registers: Mapping[str, RegisterArray]) -> None:
        self._schema = schema
        self._registers = registers

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.RegisterEntry) -> Undo:
        register = self._schema.register(entry.register_id)
        where = f"register {register.name}"
        only_modify(kind, where)
        array = self._registers[register.name]
        index = check_index(entry.index.index, array.size, where) if entry.HasField("index") else None
        if not entry.HasField("data"):
            return nothing
        value = value_of_data(_spec(register), self._schema.p4info.type_info, entry.data, where)
        before = list(array.values)
        if index is None:
            array.write_all(value)
        else:
            array.write(index, value)

        def undo() -> None:
            array.values[:] = before

        return undo

    def read(self, entry: p4runtime_pb2.RegisterEntry) -> Iterator[p4runtime_pb2.Entity]:
        if entry.register_id == 0:
            for register in self._schema.registers.values():
                yield from self._read_all(register)
            return
        register = self._schema.register(entry.register_id)
        if not entry.HasField("index"):
            yield from self._read_all(register)
            return
        array = self._registers[register.name]
        yield self._entity(register, check_index(entry.index.index, array.size, f"register {register.name}"))

    def _read_all(self, register: ArraySchema) -> Iterator[p4runtime_pb2.Entity]:
        for index in range(self._registers[register.name].size):
            yield self._entity(register, index)

    def _entity(self, register: ArraySchema, index: int) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entry = entity.register_entry
        entry.register_id = register.id
        entry.index.index = index
        values = iter([self._registers[register.name].read(index)])
        entry.data.CopyFrom(data_of(_spec(register), self._schema.p4info.type_info, values))
        return entity


def _spec(register: ArraySchema) -> p4types_pb2.P4DataTypeSpec:
    if register.type_spec is None:
        raise AssertionError(f"register {register.name} has no type")
    return register.type_spec
