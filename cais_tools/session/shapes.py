"""What is the same for all entries of a table is looked up once, and equal keys and actions are encoded once.

Encoding is only for the plain case, integers in exact and range keys; everything else, and whatever is wrong, is left
to `codec`, which says what.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from weakref import WeakKeyDictionary

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.entities import TableEntry
from cais_tools.session.values import Range

__all__ = ["encode_plain_entry", "keys_of", "params_of"]

_FieldMatch: Final = p4runtime_pb2.FieldMatch
_Param: Final = p4runtime_pb2.Action.Param

_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    field_id: int
    is_range: bool
    beyond: int
    """The first value that does not fit."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Entries of one table with one action, whose keys and parameters are called by the same names."""

    table_id: int
    keys: tuple[_Key, ...]
    needs_priority: bool
    action_id: int
    params: tuple[tuple[str, int, int], ...]
    """Name, id, and the first value that does not fit."""


_Names = tuple[str, str | None, tuple[str, ...], tuple[str, ...]]
_shapes: WeakKeyDictionary[P4InfoIndex, dict[_Names, _Shape | None]] = WeakKeyDictionary()


def encode_plain_entry(index: P4InfoIndex, entry: TableEntry) -> p4runtime_pb2.TableEntry | None:
    """The message for an entry of the plain kind; None for any other. Raises UnknownName."""
    if entry.action is None or entry.is_default:
        return None
    known = _shapes.setdefault(index, {})
    names = (entry.table, entry.action, tuple(entry.match), tuple(entry.params))
    if names not in known:
        known[names] = _shape(index, entry)
    shape = known[names]
    if shape is None or (entry.priority > 0) != shape.needs_priority:
        return None
    fields: list[p4runtime_pb2.FieldMatch] = []
    for key in shape.keys:
        value = entry.match[key.name]
        if key.is_range:
            if not isinstance(value, Range):
                return None
            low, high = value.low, value.high
            if type(low) is not int or type(high) is not int or not 0 <= low <= high < key.beyond:
                return None
            if low or high + 1 < key.beyond:
                fields.append(_range(key.field_id, low, high))
        else:
            if type(value) is not int or not 0 <= value < key.beyond:
                return None
            fields.append(_exact(key.field_id, value))
    params: list[tuple[int, int]] = []
    for name, param_id, beyond in shape.params:
        value = entry.params[name]
        if type(value) is not int or not 0 <= value < beyond:
            return None
        params.append((param_id, value))
    return p4runtime_pb2.TableEntry(
        table_id=shape.table_id,
        match=fields,
        action=_action(shape.action_id, tuple(params)),
        priority=entry.priority,
    )


# What these return is copied into messages, never changed.


@lru_cache(_REMEMBERED)
def _exact(field_id: int, value: int) -> p4runtime_pb2.FieldMatch:
    return _FieldMatch(field_id=field_id, exact=_FieldMatch.Exact(value=_bytes(value)))


@lru_cache(_REMEMBERED)
def _range(field_id: int, low: int, high: int) -> p4runtime_pb2.FieldMatch:
    return _FieldMatch(field_id=field_id, range=_FieldMatch.Range(low=_bytes(low), high=_bytes(high)))


@lru_cache(_REMEMBERED)
def _action(action_id: int, params: tuple[tuple[int, int], ...]) -> p4runtime_pb2.TableAction:
    some = [_Param(param_id=param_id, value=_bytes(value)) for param_id, value in params]
    return p4runtime_pb2.TableAction(action=p4runtime_pb2.Action(action_id=action_id, params=some))


def _bytes(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def _shape(index: P4InfoIndex, entry: TableEntry) -> _Shape | None:
    table = index.table(entry.table)
    named = {index.match_field(table, name).id: name for name in entry.match}
    keys: list[_Key] = []
    for field in table.match_fields:
        is_range = field.match_type == p4info_pb2.MatchField.RANGE
        is_plain = is_range or field.match_type == p4info_pb2.MatchField.EXACT
        if not is_plain or field.id not in named or index.is_string(field.type_name.name):
            return None
        keys.append(_Key(named[field.id], field.id, is_range, 1 << field.bitwidth))
    assert entry.action is not None
    action = index.action_of(table, entry.action)
    given = {index.param(action, name).id: name for name in entry.params}
    params: list[tuple[str, int, int]] = []
    for param in action.params:
        if param.id not in given or index.is_string(param.type_name.name):
            return None
        params.append((given[param.id], param.id, 1 << param.bitwidth))
    return _Shape(table.preamble.id, tuple(keys), any(key.is_range for key in keys), action.preamble.id, tuple(params))


Names = dict[int, tuple[str, bool]]
"""Of keys or parameters by id, and whether their values are SDN strings."""
_keys: WeakKeyDictionary[P4InfoIndex, dict[int, tuple[str, Names]]] = WeakKeyDictionary()
_params: WeakKeyDictionary[P4InfoIndex, dict[int, tuple[str, Names]]] = WeakKeyDictionary()


def keys_of(index: P4InfoIndex, table_id: int) -> tuple[str, Names]:
    """The full name of a table and those of its keys. Raises UnknownName."""
    known = _keys.setdefault(index, {})
    if table_id not in known:
        table = index.table(table_id)
        names = {key.id: (key.name, index.is_string(key.type_name.name)) for key in table.match_fields}
        known[table_id] = table.preamble.name, names
    return known[table_id]


def params_of(index: P4InfoIndex, action_id: int) -> tuple[str, Names]:
    """The full name of an action and those of its parameters. Raises UnknownName."""
    known = _params.setdefault(index, {})
    if action_id not in known:
        action = index.action(action_id)
        names = {each.id: (each.name, index.is_string(each.type_name.name)) for each in action.params}
        known[action_id] = action.preamble.name, names
    return known[action_id]
