"""ValueSetEntry: what a parser's value sets hold (P4Runtime 1.4, section 9.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.matches import Exact, Lpm, Match, Ternary
from cais_tools.switch.server.entities.base import Undo, only_modify
from cais_tools.switch.server.matching import fields_of
from cais_tools.switch.server.schema import MatchField, Schema
from cais_tools.switch.server.status import P4Error

__all__ = ["ValueSetEntries"]

_Members = list[tuple[int, int]]


class ValueSetEntries:
    """Keeps the members as they were written; the engine has (value, mask) of the keys put together."""

    def __init__(self, schema: Schema, value_sets: Mapping[str, _Members]) -> None:
        self._schema = schema
        self._value_sets = value_sets
        self._written: dict[int, p4runtime_pb2.ValueSetEntry] = {}

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.ValueSetEntry) -> Undo:
        value_set = self._schema.value_set(entry.value_set_id)
        where = f"value set {value_set.name}"
        only_modify(kind, where)
        if len(entry.members) > value_set.size:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{where} holds at most {value_set.size} members")
        members: _Members = []
        for member in entry.members:
            pair = _joined(value_set.fields, fields_of(where, value_set.fields, member.match), where)
            if pair in members:
                raise P4Error(code_pb2.ALREADY_EXISTS, f"{where} would have a member twice")
            members.append(pair)
        target = self._value_sets[value_set.name]
        before, old = list(target), self._written.get(value_set.id)
        target[:] = members
        kept = p4runtime_pb2.ValueSetEntry()
        kept.CopyFrom(entry)
        self._written[value_set.id] = kept

        def undo() -> None:
            target[:] = before
            self._written[value_set.id] = old or p4runtime_pb2.ValueSetEntry(value_set_id=value_set.id)

        return undo

    def read(self, entry: p4runtime_pb2.ValueSetEntry) -> Iterator[p4runtime_pb2.Entity]:
        wanted = [self._schema.value_set(entry.value_set_id).id] if entry.value_set_id else self._schema.value_sets
        for value_set_id in wanted:
            entity = p4runtime_pb2.Entity()
            written = self._written.get(value_set_id, p4runtime_pb2.ValueSetEntry(value_set_id=value_set_id))
            entity.value_set_entry.CopyFrom(written)
            yield entity


def _joined(fields: Sequence[MatchField], matches: Sequence[Match], where: str) -> tuple[int, int]:
    """Value and mask of all keys in a row, as the engine compares them with the key of the select."""
    value = mask = 0
    for field, match in zip(fields, matches, strict=True):
        full = (1 << field.width) - 1
        match match:
            case Exact(number):
                pair = number, full
            case Lpm(number, prefix_len):
                pair = number, full ^ (full >> prefix_len)
            case Ternary(number, care):
                pair = number, care
            case _:
                raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: ranges are not supported in value sets")
        value, mask = value << field.width | pair[0], mask << field.width | pair[1]
    return value, mask
