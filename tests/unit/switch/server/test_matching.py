from __future__ import annotations

import pytest

from cais_tools.p4rt import code_pb2, p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.p4info import parse_p4info
from cais_tools.switch.matches import Exact, Lpm, Match, Range, Ternary
from cais_tools.switch.server.matching import action_of, key_of, match_messages, params_of
from cais_tools.switch.server.schema import Schema, TableSchema, build_schema
from cais_tools.switch.server.status import P4Error

P4INFO = """
tables {
  preamble { id: 33554433 name: "In.t" alias: "t" }
  match_fields { id: 1 name: "a" bitwidth: 9 match_type: EXACT }
  match_fields { id: 2 name: "b" bitwidth: 32 match_type: LPM }
  match_fields { id: 3 name: "c" bitwidth: 16 match_type: TERNARY }
  match_fields { id: 4 name: "d" bitwidth: 16 match_type: RANGE }
  match_fields { id: 5 name: "e" bitwidth: 12 match_type: OPTIONAL }
  action_refs { id: 16777217 }
  action_refs { id: 16777218 annotations: "@defaultonly" scope: DEFAULT_ONLY }
  action_refs { id: 16777219 annotations: "@tableonly" }
  size: 16
}
actions {
  preamble { id: 16777217 name: "In.go" alias: "go" }
  params { id: 1 name: "port" bitwidth: 9 }
  params { id: 2 name: "mac" bitwidth: 48 }
}
actions { preamble { id: 16777218 name: "NoAction" alias: "NoAction" } }
actions { preamble { id: 16777219 name: "In.only" alias: "only" } }
"""

STRINGS = """
type_info { new_types { key: "mac_t" value { translated_type { uri: "mac" sdn_string {} } } } }
"""
TRANSLATED = P4INFO.replace("bitwidth: 48", 'type_name { name: "mac_t" }') + STRINGS
PACKET_IN = (
    P4INFO
    + """
controller_packet_metadata {
  preamble { id: 81826293 name: "packet_in" }
  metadata { id: 1 name: "port" type_name { name: "mac_t" } }
}
"""
    + STRINGS
)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return build_schema(parse_p4info(P4INFO))


@pytest.fixture(scope="module")
def table(schema: Schema) -> TableSchema:
    return schema.table(33554433)


def fields(**given: object) -> list[p4runtime_pb2.FieldMatch]:
    """Match fields by the letter of their name; `a` is there unless it is given as None."""
    messages = {"a": p4runtime_pb2.FieldMatch(field_id=1, exact=p4runtime_pb2.FieldMatch.Exact(value=b"\x01"))}
    for name, message in given.items():
        if message is None:
            del messages[name]
        else:
            assert isinstance(message, p4runtime_pb2.FieldMatch)
            messages[name] = message
    return list(messages.values())


def exact(value: bytes, field_id: int = 1) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=field_id, exact=p4runtime_pb2.FieldMatch.Exact(value=value))


def lpm(value: bytes, prefix_len: int) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=2, lpm=p4runtime_pb2.FieldMatch.LPM(value=value, prefix_len=prefix_len))


def ternary(value: bytes, mask: bytes) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=3, ternary=p4runtime_pb2.FieldMatch.Ternary(value=value, mask=mask))


def between(low: bytes, high: bytes) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=4, range=p4runtime_pb2.FieldMatch.Range(low=low, high=high))


def optional(value: bytes) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=5, optional=p4runtime_pb2.FieldMatch.Optional(value=value))


def test_fields_left_out_match_everything(table: TableSchema) -> None:
    key = key_of(table, fields())
    assert key == (Exact(1), Lpm(0, 0), Ternary(0, 0), Range(0, 0xFFFF), Ternary(0, 0))
    assert match_messages(table, key) == fields()


def test_every_kind_there_and_back(table: TableSchema) -> None:
    messages = fields(
        b=lpm(b"\x0a\x00\x00\x00", 8),
        c=ternary(b"\x12\x00", b"\xff\x00"),
        d=between(b"\x05", b"\x01\x00"),
        e=optional(b"\x0f\xff"),
    )
    key = key_of(table, messages)
    assert key == (Exact(1), Lpm(0x0A000000, 8), Ternary(0x1200, 0xFF00), Range(5, 256), Exact(0xFFF))
    assert match_messages(table, key) == messages


def test_fields_come_in_any_order(table: TableSchema) -> None:
    messages = fields(c=ternary(b"\x01", b"\x01"))
    assert key_of(table, messages[::-1]) == key_of(table, messages)


@pytest.mark.parametrize("value", [b"\x01", b"\x00\x01", b"\x00\x00\x00\x01"])
def test_leading_zeros_are_accepted_and_answers_are_canonical(table: TableSchema, value: bytes) -> None:
    key = key_of(table, fields(a=exact(value)))
    assert key[0] == Exact(1)
    assert match_messages(table, key)[0].exact.value == b"\x01"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"a": None}, "cannot be left out"),
        ({"a": exact(b"")}, "an empty string is no value"),
        ({"a": exact(b"\x02\x00")}, "does not fit into 9 bits"),
        ({"b": exact(b"\x01", 2)}, "is matched lpm, not exact"),
        ({"b": p4runtime_pb2.FieldMatch(field_id=2)}, "not by nothing"),
        ({"b": lpm(b"\x0a\x00\x00\x01", 8)}, "bits beyond its prefix of 8"),
        ({"b": lpm(b"\x00", 0)}, "leave the field out"),
        ({"b": lpm(b"\x00", 33)}, "33 bits out of 32"),
        ({"b": lpm(b"\x00", -1)}, "-1 bits"),
        ({"c": ternary(b"\x00", b"\x00")}, "leave the field out"),
        ({"c": ternary(b"\x03", b"\x01")}, "bits outside its mask"),
        ({"c": ternary(b"\x01", b"\x01\x00\x00")}, "does not fit into 16 bits"),
        ({"d": between(b"\x02", b"\x01")}, "is empty"),
        ({"d": between(b"\x00", b"\xff\xff")}, "leave the field out"),
        ({"e": optional(b"\x10\x00")}, "does not fit into 12 bits"),
        ({"x": exact(b"\x01", 99)}, "no match field with id 99"),
        ({"x": exact(b"\x01", 1)}, "given twice"),
    ],
)
def test_what_the_specification_forbids(table: TableSchema, given: dict[str, object], says: str) -> None:
    with pytest.raises(P4Error, match=says) as refused:
        key_of(table, fields(**given))
    assert refused.value.code == code_pb2.INVALID_ARGUMENT


def test_an_optional_key_kept_as_a_full_mask_is_written_as_optional(table: TableSchema) -> None:
    key: tuple[Match, ...] = (Exact(1), Lpm(0, 0), Ternary(0, 0), Range(0, 0xFFFF), Ternary(7, 0xFFF))
    assert match_messages(table, key)[-1] == optional(b"\x07")


def test_action_parameters_there_and_back(schema: Schema) -> None:
    action = schema.actions[16777217]
    message = action_of(action, (3, 0x0A0000000001))
    assert [param.value for param in message.params] == [b"\x03", b"\x0a\x00\x00\x00\x00\x01"]
    assert params_of(action, message) == (3, 0x0A0000000001)
    del message.params[1]
    with pytest.raises(P4Error, match="needs its parameter mac"):
        params_of(action, message)
    message.params.add(param_id=2, value=b"\x01")
    message.params.add(param_id=9, value=b"\x01")
    with pytest.raises(P4Error, match="no parameter with id 9"):
        params_of(action, message)
    message.params[2].param_id = 2
    with pytest.raises(P4Error, match="given twice"):
        params_of(action, message)
    del message.params[2]
    message.params[0].value = b"\x02\x00"
    with pytest.raises(P4Error, match=r"In\.go, port: 0x200 does not fit into 9 bits"):
        params_of(action, message)


def test_what_the_schema_says_of_the_table(schema: Schema, table: TableSchema) -> None:
    assert table.needs_priority
    assert table.scopes == {
        16777217: p4info_pb2.ActionRef.TABLE_AND_DEFAULT,
        16777218: p4info_pb2.ActionRef.DEFAULT_ONLY,
        16777219: p4info_pb2.ActionRef.TABLE_ONLY,
    }
    with pytest.raises(P4Error, match="no table with id 5"):
        schema.table(5)


def test_a_p4info_that_contradicts_itself() -> None:
    for broken, says in (
        (P4INFO.replace("id: 16777218 name", "id: 16777217 name"), "the same id 16777217"),
        (P4INFO.replace("action_refs { id: 16777217 }", "action_refs { id: 4 }"), "refers to action 4"),
        (PACKET_IN, "packet_in, field port is translated to strings"),
    ):
        with pytest.raises(P4Error, match=says):
            build_schema(parse_p4info(broken))


def test_parameters_that_are_strings() -> None:
    action = build_schema(parse_p4info(TRANSLATED)).actions[16777217]
    message = action_of(action, (3, 77))
    assert [param.value for param in message.params] == [b"\x03", b"77"], "a value that nobody has named"
    for text in (b"leaf", b"spine", b"leaf"):
        message.params[1].value = text
        assert action_of(action, params_of(action, message)) == message
    message.params[1].value = b"\xff"
    with pytest.raises(P4Error, match="is no text"):
        params_of(action, message)
