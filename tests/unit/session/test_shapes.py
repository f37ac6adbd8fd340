"""Entries that are encoded in the quick way are what the thorough one makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session import Range, TableEntry, load_shipped
from cais_tools.session.codec import decode_table_entry, encode
from cais_tools.session.shapes import encode_plain_entry

INDEX = P4InfoIndex(load_shipped().p4info)


@st.composite
def _spans(draw: st.DrawFn) -> Range:
    first, second = draw(st.integers(0, 65535)), draw(st.sampled_from([0, 1, 255, 256, 65535]))
    return Range(min(first, second), max(first, second))


def _entry(group: int | str, layer: Range, chunk: Range, output_set: int | str, priority: int = 5) -> TableEntry:
    match = {"group_id": group, "op_type": 3, "layer_id": layer, "chunk_id": chunk}
    return TableEntry("rules", match, "aggregate", {"output_set": output_set}, priority)


def _thoroughly(entry: TableEntry) -> p4runtime_pb2.Entity:
    """Text is for the thorough way only."""
    match = {
        name: Range(str(value.low), str(value.high)) if isinstance(value, Range) else str(value)
        for name, value in entry.match.items()
    }
    params = {name: str(value) for name, value in entry.params.items()}
    again = TableEntry(entry.table, match, entry.action, params, entry.priority)
    assert encode_plain_entry(INDEX, again) is None
    return encode(INDEX, again)


@given(st.integers(0, 255), _spans(), _spans(), st.integers(0, 65535))
def test_both_ways_are_one(group: int, layer: Range, chunk: Range, output_set: int) -> None:
    entry = _entry(group, layer, chunk, output_set)
    plain = encode_plain_entry(INDEX, entry)
    assert plain is not None
    assert p4runtime_pb2.Entity(table_entry=plain) == _thoroughly(entry)
    decoded = decode_table_entry(INDEX, plain)
    assert decoded.params == {"output_set": output_set}
    assert decoded.match["hdr.cais.group_id"] == group


@pytest.mark.parametrize(
    "entry",
    [
        _entry(256, Range(0, 1), Range(0, 1), 16),
        _entry(-1, Range(0, 1), Range(0, 1), 16),
        _entry(0, Range(2, 1), Range(0, 1), 16),
        _entry(0, Range(0, 65536), Range(0, 1), 16),
        _entry(0, Range(0, 1), Range(0, 1), 65536),
        _entry(0, Range(0, 1), Range(0, 1), 16, priority=0),
        TableEntry("groups", {"group_id": 1}, "set_group", {"slot_base": 0}),
    ],
)
def test_what_is_wrong_is_left_to_the_way_that_says_so(entry: TableEntry) -> None:
    assert encode_plain_entry(INDEX, entry) is None
    with pytest.raises(UsageError):
        encode(INDEX, entry)
