"""Match fields, action parameters and other values: P4Runtime's messages to the engine's values and back.

Sans I/O. P4Runtime 1.4, sections 8.4 "Bytestrings" and 9.1.1 "Match Format".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.values import decode, encode
from cais_tools.switch.matches import Exact, Lpm, Match, Range, Ternary
from cais_tools.switch.server.schema import ActionSchema, Field, MatchField, TableSchema
from cais_tools.switch.server.status import invalid

__all__ = ["action_of", "fields_of", "is_dont_care", "key_of", "match_messages", "params_of", "value_of"]

_KINDS = {
    p4info_pb2.MatchField.EXACT: "exact",
    p4info_pb2.MatchField.LPM: "lpm",
    p4info_pb2.MatchField.TERNARY: "ternary",
    p4info_pb2.MatchField.RANGE: "range",
    p4info_pb2.MatchField.OPTIONAL: "optional",
}


def value_of(data: bytes, width: int, where: str) -> int:
    """An unsigned value of `width` bits (0: of any width, the engine knows better).

    Leading zeros are accepted, an empty string is not (section 8.4).
    """
    if not data:
        raise invalid(f"{where}: an empty string is no value")
    value = decode(data)
    if width and value >> width:
        raise invalid(f"{where}: 0x{value:x} does not fit into {width} bits")
    return value


def _field_value(data: bytes, field: Field, where: str) -> int:
    return value_of(data, field.width, where) if field.strings is None else field.strings.number(data, where)


def _field_bytes(value: int, field: Field) -> bytes:
    return encode(value, field.width) if field.strings is None else field.strings.text(value)


def key_of(table: TableSchema, messages: Iterable[p4runtime_pb2.FieldMatch]) -> tuple[Match, ...]:
    """The key of an entry, one Match for each field of the table in its order."""
    return fields_of(f"table {table.name}", table.fields, messages)


def fields_of(
    owner: str, fields: Sequence[MatchField], messages: Iterable[p4runtime_pb2.FieldMatch]
) -> tuple[Match, ...]:
    """One Match for each field, in their order; those left out match everything. `owner` is for messages."""
    given: dict[int, p4runtime_pb2.FieldMatch] = {}
    for message in messages:
        if message.field_id in given:
            raise invalid(f"{owner}: match field id {message.field_id} is given twice")
        given[message.field_id] = message
    key = tuple(_match(f"{owner}, key {field.name}", field, given.pop(field.id, None)) for field in fields)
    if given:
        raise invalid(f"{owner} has no match field with id {next(iter(given))}")
    return key


def _match(where: str, field: MatchField, message: p4runtime_pb2.FieldMatch | None) -> Match:
    if message is None:
        return _dont_care(field, where)
    kind = _KINDS.get(field.kind)
    given = message.WhichOneof("field_match_type")
    if given != kind:
        raise invalid(f"{where} is matched {kind}, not {given or 'by nothing'}")
    if kind == "exact":
        return Exact(_field_value(message.exact.value, field, where))
    if kind == "optional":
        return Exact(_field_value(message.optional.value, field, where))
    if field.strings is not None:
        raise invalid(f"{where}: strings cannot be matched {kind}")
    if kind == "lpm":
        return _lpm(message.lpm, field.width, where)
    if kind == "ternary":
        return _ternary(message.ternary, field.width, where)
    return _range(message.range, field.width, where)


def _dont_care(field: MatchField, where: str) -> Match:
    if field.kind == p4info_pb2.MatchField.EXACT:
        raise invalid(f"{where} is matched exactly and cannot be left out")
    if field.kind == p4info_pb2.MatchField.LPM:
        return Lpm(0, 0)
    if field.kind == p4info_pb2.MatchField.RANGE:
        return Range(0, (1 << field.width) - 1)
    return Ternary(0, 0)


def _lpm(message: p4runtime_pb2.FieldMatch.LPM, width: int, where: str) -> Lpm:
    value = value_of(message.value, width, where)
    if not 0 < message.prefix_len <= width:
        hint = "; leave the field out to match everything" if message.prefix_len == 0 else ""
        raise invalid(f"{where}: a prefix of {message.prefix_len} bits out of {width}{hint}")
    if value & (1 << width - message.prefix_len) - 1:
        raise invalid(f"{where}: 0x{value:x} has bits beyond its prefix of {message.prefix_len}")
    return Lpm(value, message.prefix_len)


def _ternary(message: p4runtime_pb2.FieldMatch.Ternary, width: int, where: str) -> Ternary:
    value = value_of(message.value, width, where)
    mask = value_of(message.mask, width, f"{where}, mask")
    if mask == 0:
        raise invalid(f"{where}: mask 0; leave the field out to match everything")
    if value & ~mask:
        raise invalid(f"{where}: 0x{value:x} has bits outside its mask 0x{mask:x}")
    return Ternary(value, mask)


def _range(message: p4runtime_pb2.FieldMatch.Range, width: int, where: str) -> Range:
    low = value_of(message.low, width, f"{where}, low")
    high = value_of(message.high, width, f"{where}, high")
    if low > high:
        raise invalid(f"{where}: the range {low}..{high} is empty")
    if low == 0 and high == (1 << width) - 1:
        raise invalid(f"{where}: the range is everything; leave the field out for that")
    return Range(low, high)


def is_dont_care(match: Match, width: int) -> bool:
    match match:
        case Exact():
            return False
        case Lpm():
            return match.prefix_len == 0
        case Ternary():
            return match.mask == 0
        case Range():
            return match.low == 0 and match.high == (1 << width) - 1


def match_messages(table: TableSchema, key: Sequence[Match]) -> list[p4runtime_pb2.FieldMatch]:
    """A key as P4Runtime writes it: canonical bytes, don't-care fields left out."""
    messages: list[p4runtime_pb2.FieldMatch] = []
    for field, match in zip(table.fields, key, strict=True):
        if is_dont_care(match, field.width):
            continue
        message = p4runtime_pb2.FieldMatch(field_id=field.id)
        _fill(message, match, field)
        messages.append(message)
    return messages


def _fill(message: p4runtime_pb2.FieldMatch, match: Match, field: MatchField) -> None:
    width = field.width
    match match:
        case Exact(value):
            if field.kind == p4info_pb2.MatchField.OPTIONAL:
                message.optional.value = _field_bytes(value, field)
            else:
                message.exact.value = _field_bytes(value, field)
        case Lpm(value, prefix_len):
            message.lpm.value = encode(value, width)
            message.lpm.prefix_len = prefix_len
        case Ternary(value, mask):
            # An optional key that is present may be kept as a full mask.
            if field.kind == p4info_pb2.MatchField.OPTIONAL:
                message.optional.value = _field_bytes(value, field)
            else:
                message.ternary.value = encode(value & mask, width)
                message.ternary.mask = encode(mask, width)
        case Range(low, high):
            message.range.low = encode(low, width)
            message.range.high = encode(high, width)


def params_of(action: ActionSchema, message: p4runtime_pb2.Action) -> tuple[int, ...]:
    """An action's arguments in the order of its declaration; each must be given, none twice, none unknown."""
    given: dict[int, bytes] = {}
    for param in message.params:
        if param.param_id in given:
            raise invalid(f"action {action.name}: parameter id {param.param_id} is given twice")
        given[param.param_id] = param.value
    values: list[int] = []
    for field in action.params:
        if field.id not in given:
            raise invalid(f"action {action.name} needs its parameter {field.name}")
        values.append(_field_value(given.pop(field.id), field, f"action {action.name}, {field.name}"))
    if given:
        raise invalid(f"action {action.name} has no parameter with id {next(iter(given))}")
    return tuple(values)


def action_of(action: ActionSchema, values: Sequence[int]) -> p4runtime_pb2.Action:
    message = p4runtime_pb2.Action(action_id=action.id)
    for field, value in zip(action.params, values, strict=True):
        message.params.add(param_id=field.id, value=_field_bytes(value, field))
    return message
