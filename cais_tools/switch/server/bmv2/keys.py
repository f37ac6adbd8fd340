"""Match keys and actions, checked in the order and in the words of PI (`construct_match_key`, `validate_action`).

What PI takes and the specification does not is rewritten: the messages are the caller's own copies.
"""

from __future__ import annotations

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.values import decode, encode
from cais_tools.switch.server.bmv2.refusal import PERMISSION_DENIED, invalid, invalid_id, refusal
from cais_tools.switch.server.schema import ActionSchema, MatchField, Schema, TableSchema

__all__ = ["check_action", "check_key", "check_params", "find_table"]

_Kind = p4info_pb2.MatchField
_FORMS = {
    _Kind.EXACT: "exact",
    _Kind.LPM: "lpm",
    _Kind.TERNARY: "ternary",
    _Kind.RANGE: "range",
    _Kind.OPTIONAL: "optional",
}


def find_table(schema: Schema, entry: p4runtime_pb2.TableEntry) -> TableSchema:
    table = schema.tables.get(entry.table_id)
    if table is None:
        raise invalid_id()
    return table


def _value(data: bytes, width: int) -> bytes:
    """The canonical form; any number of leading zeros is accepted, and no bytes at all."""
    value = decode(data)
    if width and value >> width:
        raise invalid(f"Bytestring provided does not fit within {width} bits")
    return encode(value, width)


def check_key(table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    """Make the key canonical. Raises P4Error."""
    if entry.is_default_action:
        if entry.match:
            raise invalid("Non-empty key for default entry")
        if entry.priority:
            raise invalid("Non-zero priority for default entry")
        return
    if len(entry.match) > len(table.fields):
        raise invalid("Too many fields in match key")
    given = {match.field_id: match for match in reversed(entry.match)}
    known = [field for field in table.fields if field.id in given]
    for field in table.fields:
        if field.id in given:
            _check_match(field, given[field.id])
        elif field.kind == _Kind.EXACT:
            raise invalid("Missing non-ternary field in match key")
    if len(known) != len(entry.match):
        raise invalid("Unknown field in match key")
    if not table.needs_priority and entry.priority > 0:
        raise invalid("Non-zero priority for non-ternary match")
    if table.needs_priority and entry.priority == 0:
        raise invalid("Zero priority for ternary match")
    if not table.needs_priority:
        entry.priority = 0
    _omit_full_ranges(table, entry)


def _check_match(field: MatchField, match: p4runtime_pb2.FieldMatch) -> None:
    form = _FORMS.get(field.kind)
    if match.WhichOneof("field_match_type") != form:
        raise invalid("Invalid match type")
    match form:
        case "exact":
            match.exact.value = _value(match.exact.value, field.width)
        case "optional":
            match.optional.value = _value(match.optional.value, field.width)
        case "lpm":
            _check_lpm(match.lpm, field.width)
        case "ternary":
            _check_ternary(match.ternary, field.width)
        case _:
            _check_range(match.range, field.width)


def _check_lpm(match: p4runtime_pb2.FieldMatch.LPM, width: int) -> None:
    match.value = _value(match.value, width)
    if match.prefix_len < 0:
        raise invalid("Prefix length cannot be < 0")
    if match.prefix_len > width:
        raise invalid("Prefix length cannot be > bitwidth")
    if match.prefix_len == 0:
        raise invalid(
            "Invalid reprsentation of 'don't care' LPM match, omit match field instead of using a prefix length of 0"
        )
    if decode(match.value) & (1 << width - match.prefix_len) - 1:
        raise invalid("Invalid LPM value, incorrect number of trailing zeros")


def _check_ternary(match: p4runtime_pb2.FieldMatch.Ternary, width: int) -> None:
    value, mask = _value(match.value, width), _value(match.mask, width)
    if decode(mask) == 0:
        raise invalid("Invalid representation of 'don't care' ternary match, omit match field instead of using 0 mask")
    if decode(value) & ~decode(mask):
        raise invalid("Invalid ternary value, make sure value & mask == value")
    match.value, match.mask = value, mask


def _check_range(match: p4runtime_pb2.FieldMatch.Range, width: int) -> None:
    low, high = _value(match.low, width), _value(match.high, width)
    # PI compares the bytes as they came: with fewer of them, or in a field of broken bytes, it does not notice.
    if match.low == bytes(len(match.low)) and match.high == b"\xff" * len(match.low):
        raise invalid(
            "Invalid representation of 'don't care' range match, "
            "omit match field instead of using low=0 and high=2**bitwidth-1"
        )
    if decode(low) > decode(high):
        raise invalid("Invalid range value, make sure low <= high")
    match.low, match.high = low, high


def _omit_full_ranges(table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    widths = {field.id: field.width for field in table.fields}
    for place in reversed(range(len(entry.match))):
        match = entry.match[place]
        if match.WhichOneof("field_match_type") == "range":
            full = (1 << widths[match.field_id]) - 1
            if (decode(match.range.low), decode(match.range.high)) == (0, full):
                del entry.match[place]


def check_action(schema: Schema, table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    """Whether the entry may have its action. Raises P4Error."""
    is_indirect = bool(table.profile)
    if is_indirect and entry.is_default_action:
        raise invalid(f"Cannot set / reset default action for indirect table {table.id}")
    if entry.is_default_action and table.const_default:
        raise refusal(
            PERMISSION_DENIED,
            f"Cannot set / reset default action for table {table.id} which has a const default action",
        )
    if not entry.HasField("action"):
        return
    is_action = entry.action.WhichOneof("type") == "action"
    if is_indirect and is_action:
        raise invalid(f"Cannot provide direct action for indirect table {table.id}")
    if not is_indirect and not is_action:
        raise invalid(f"Cannot provide indirect action for direct table {table.id}")
    if not is_indirect:
        _check_scope(schema, table, entry)


def _check_scope(schema: Schema, table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    action_id = entry.action.action.action_id
    if action_id not in schema.actions:
        raise invalid_id()
    if action_id not in table.actions:
        raise invalid("Invalid action for table")
    scope = table.scopes[action_id]
    if scope == p4info_pb2.ActionRef.TABLE_ONLY and entry.is_default_action:
        raise refusal(PERMISSION_DENIED, "Cannot use TABLE_ONLY action as default action")
    if scope == p4info_pb2.ActionRef.DEFAULT_ONLY and not entry.is_default_action:
        raise refusal(PERMISSION_DENIED, "Cannot use DEFAULT_ONLY action in table entry")


def check_params(action: ActionSchema, message: p4runtime_pb2.Action) -> None:
    """Make an action's arguments canonical. Raises P4Error."""
    if len(message.params) != len(action.params):
        raise invalid("Unexpected number of action parameters")
    widths = {param.id: param.width for param in action.params}
    for param in message.params:
        if param.param_id not in widths:
            raise invalid("Unknown action parameter")
        param.value = _value(param.value, widths[param.param_id])
