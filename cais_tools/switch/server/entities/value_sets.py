"""ValueSetEntry: what a parser's value sets hold (P4Runtime 1.4, section 9.6)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.matches import Exact, Lpm, Match, Range, Ternary
from cais_tools.switch.server.entities.base import Undo, only_modify
from cais_tools.switch.server.matching import fields_of
from cais_tools.switch.server.schema import MatchField, Schema
from cais_tools.switch.server.status import P4Error

__all__ = ["ValueSetEntries"]

_Members = list[tuple[int, int]]

_MOST_PAIRS = 1 << 12


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
        keys = [fields_of(where, value_set.fields, member.match) for member in entry.members]
        if len(set(keys)) != len(keys):
            raise P4Error(code_pb2.ALREADY_EXISTS, f"{where} would have a member twice")
        members = [pair for key in keys for pair in _pairs(value_set.fields, key, where)]
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


def _pairs(fields: Sequence[MatchField], key: Sequence[Match], where: str) -> _Members:
    """Value and mask of all fields in a row, as the engine compares them; a range takes more than one pair."""
    choices = [_masks(match, field.width) for field, match in zip(fields, key, strict=True)]
    if math.prod(len(each) for each in choices) > _MOST_PAIRS:
        raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{where}: these ranges take more than {_MOST_PAIRS} comparisons")
    pairs: _Members = []
    for combination in itertools.product(*choices):
        value = mask = 0
        for field, (number, care) in zip(fields, combination, strict=True):
            value, mask = value << field.width | number, mask << field.width | care
        pairs.append((value, mask))
    return pairs


def _masks(match: Match, width: int) -> _Members:
    full = (1 << width) - 1
    match match:
        case Exact(number):
            return [(number, full)]
        case Lpm(number, prefix_len):
            return [(number, full ^ (full >> prefix_len))]
        case Ternary(number, care):
            return [(number, care)]
        case Range(low, high):
            return _prefixes(low, high, full)


def _prefixes(low: int, high: int, full: int) -> _Members:
    """The fewest prefixes that make up a range."""
    found: _Members = []
    while low <= high:
        size = low & -low if low else full + 1
        while size > high - low + 1:
            size >>= 1
        found.append((low, full & ~(size - 1)))
        low += size
    return found
