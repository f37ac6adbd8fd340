from __future__ import annotations

import logging

import pytest

from cais_tools.errors import Refused
from cais_tools.p4rt.p4info import P4InfoIndex, UnknownName, parse_p4info

TEXT = """
pkg_info { name: "demo" }
tables { preamble { id: 1 name: "In.a.acl" alias: "acl" }
         match_fields { id: 1 name: "hdr.ip.src" bitwidth: 32 match_type: LPM }
         match_fields { id: 2 name: "meta.vrf" type_name { name: "vrf_t" } match_type: EXACT }
         action_refs { id: 11 } direct_resource_ids: 31 }
tables { preamble { id: 2 name: "In.b.stats.acl" alias: "stats.acl" } }
actions { preamble { id: 11 name: "In.a.drop" alias: "a.drop" } params { id: 1 name: "why" bitwidth: 8 } }
actions { preamble { id: 12 name: "In.b.drop" alias: "b.drop" } }
direct_counters { preamble { id: 31 name: "In.a.hits" } direct_table_id: 1 }
type_info { new_types { key: "vrf_t" value { translated_type { sdn_string { } } } } }
"""


@pytest.fixture
def index() -> P4InfoIndex:
    return P4InfoIndex.parse(TEXT)


@pytest.mark.parametrize(("key", "table_id"), [(1, 1), ("In.a.acl", 1), ("acl", 1), ("a.acl", 1), ("b.stats.acl", 2)])
def test_a_table_by_id_name_alias_or_suffix(index: P4InfoIndex, key: int | str, table_id: int) -> None:
    assert index.table(key).preamble.id == table_id


def test_an_ambiguous_suffix_names_all(index: P4InfoIndex) -> None:
    with pytest.raises(UnknownName, match=r"ambiguous: In\.a\.drop, In\.b\.drop") as error:
        index.action("drop")
    assert error.value.exit_code == 2


def test_a_suffix_need_only_be_unique_in_its_table(index: P4InfoIndex) -> None:
    assert index.action_of(index.table("acl"), "drop").preamble.id == 11


def test_a_suffix_ends_at_a_dot(index: P4InfoIndex) -> None:
    with pytest.raises(UnknownName):
        index.table("cl")


def test_an_unknown_name_gets_the_nearest(index: P4InfoIndex) -> None:
    with pytest.raises(UnknownName) as error:
        index.table("alc")
    assert error.value.hint is not None
    assert "In.a.acl" in error.value.hint


def test_what_the_program_lacks_altogether(index: P4InfoIndex) -> None:
    with pytest.raises(UnknownName) as error:
        index.register("r")
    assert error.value.hint == "the program has no register at all"


def test_keys_params_and_direct_counter(index: P4InfoIndex) -> None:
    table = index.table("acl")
    assert index.match_field(table, "src").id == 1
    assert index.match_field(table, 2).name == "meta.vrf"
    assert index.param(index.action(11), "why").bitwidth == 8
    counter = index.direct_counter_of(table)
    assert counter is not None
    assert counter.preamble.name == "In.a.hits"
    assert index.direct_counter_of(index.table(2)) is None
    assert index.is_string(table.match_fields[1].type_name.name)
    assert not index.is_string("")


def test_binary_is_recognised(index: P4InfoIndex) -> None:
    assert parse_p4info(index.message.SerializeToString()) == index.message


def test_unknown_fields_are_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        message = parse_p4info(TEXT + 'brand_new { thing: "x" }', "new.txtpb")
    assert len(message.tables) == 2
    assert "new.txtpb" in caplog.text
    assert "brand_new" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert len(parse_p4info(message.SerializeToString() + b"\xa2\x7d\x01x").tables) == 2
    assert "ignored" in caplog.text


@pytest.mark.parametrize("data", [b'{"a": 1}', b"\x00\xff\x07", "tables { preamble"])
def test_what_is_no_p4info_is_refused(data: bytes | str) -> None:
    with pytest.raises(Refused, match=r"f\.txtpb is no P4Info") as error:
        parse_p4info(data, "f.txtpb")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        'tables { preamble { id: 1 name: "t" } match_fields { id: 1 name: "k" bitwidth: -1 } }',
        'actions { preamble { id: 1 name: "a" } params { id: 1 name: "p" bitwidth: 2147483647 } }',
        'value_sets { preamble { id: 1 name: "v" } match { id: 1 name: "k" bitwidth: -8 } }',
        'controller_packet_metadata { preamble { id: 1 name: "packet_in" } metadata { id: 1 bitwidth: 65537 } }',
        'registers { preamble { id: 1 name: "r" } type_spec { bitstring { int { bitwidth: -1 } } } }',
    ],
)
def test_widths_that_no_program_has(text: str) -> None:
    with pytest.raises(Refused, match=r"the P4Info is damaged: .* has -?\d+ bits"):
        P4InfoIndex.parse(text)
