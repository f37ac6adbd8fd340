"""Members of value sets as pairs of value and mask."""

from __future__ import annotations

import random

import pytest

from cais_tools.p4rt import code_pb2, p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.p4info import parse_p4info
from cais_tools.switch.server.entities.value_sets import ValueSetEntries
from cais_tools.switch.server.schema import build_schema
from cais_tools.switch.server.status import P4Error

MODIFY = p4runtime_pb2.Update.MODIFY
P4INFO = """
value_sets {
  preamble { id: 50331649 name: "set" }
  match { id: 1 name: "kind" bitwidth: 4 match_type: EXACT }
  match { id: 2 name: "number" bitwidth: 8 match_type: RANGE }
  match { id: 3 name: "port" bitwidth: 12 match_type: RANGE }
  size: 8
}
"""


@pytest.fixture
def pairs() -> list[tuple[int, int]]:
    return []


@pytest.fixture
def entries(pairs: list[tuple[int, int]]) -> ValueSetEntries:
    info: p4info_pb2.P4Info = parse_p4info(P4INFO)
    return ValueSetEntries(build_schema(info), {"set": pairs})


def entry(*members: tuple[int, tuple[int, int] | None, tuple[int, int] | None]) -> p4runtime_pb2.ValueSetEntry:
    """(kind, number, port) of each member; None is every value."""
    message = p4runtime_pb2.ValueSetEntry(value_set_id=50331649)
    for kind, *ranges in members:
        member = message.members.add()
        member.match.add(field_id=1).exact.value = bytes([kind])
        for field_id, limits in enumerate(ranges, 2):
            if limits is not None:
                match = member.match.add(field_id=field_id)
                match.range.low, match.range.high = (each.to_bytes(2, "big") for each in limits)
    return message


def matches(pairs: list[tuple[int, int]], kind: int, number: int, port: int) -> bool:
    key = (kind << 8 | number) << 12 | port
    return any(key & mask == value for value, mask in pairs)


def test_ranges(entries: ValueSetEntries, pairs: list[tuple[int, int]]) -> None:
    draw = random.Random(3)
    for _ in range(30):
        low, high = sorted(draw.choices(range(256), k=2))
        if (low, high) == (0, 255):
            continue
        entries.write(MODIFY, entry((5, (low, high), None)))
        assert [number for number in range(256) if matches(pairs, 5, number, 99)] == list(range(low, high + 1))
        assert not matches(pairs, 4, low, 99)
    entries.write(MODIFY, entry((1, (3, 7), (1, 4000)), (2, None, None)))
    for port in (0, 1, 4000, 4001):
        assert matches(pairs, 1, 5, port) == (1 <= port <= 4000)
        assert not matches(pairs, 1, 8, port)
        assert matches(pairs, 2, 8, port)


def test_ranges_that_would_take_too_much(entries: ValueSetEntries, pairs: list[tuple[int, int]]) -> None:
    monster = entry((1, (1, 254), (1, 4094)))
    undo = entries.write(MODIFY, monster)
    assert len(pairs) == 14 * 22
    undo()
    assert pairs == []
    assert next(entries.read(p4runtime_pb2.ValueSetEntry())).value_set_entry.members == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cais_tools.switch.server.entities.value_sets._MOST_PAIRS", 300)
        with pytest.raises(P4Error, match="more than 300") as refused:
            entries.write(MODIFY, monster)
    assert refused.value.code == code_pb2.RESOURCE_EXHAUSTED


def test_a_member_twice(entries: ValueSetEntries) -> None:
    with pytest.raises(P4Error) as refused:
        entries.write(MODIFY, entry((1, (1, 2), None), (1, (1, 2), None)))
    assert refused.value.code == code_pb2.ALREADY_EXISTS
