from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex, UnknownName
from cais_tools.session import codec
from cais_tools.session.entities import CloneSession, Entity, MulticastGroup, Replica, TableEntry, Update, UpdateType
from cais_tools.session.values import Lpm, MatchValue, Range, Ternary, to_int
from tests.unit.session.demo import demo_index

CONFORMANCE = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "p4info"

INDEX = demo_index()


def _entry(entity: Entity) -> p4runtime_pb2.TableEntry:
    return codec.encode(INDEX, entity).table_entry


@pytest.mark.parametrize(
    ("value", "number"),
    [("10", 10), ("0x0a", 10), (b"\x0a", 10), ("02:00:00:00:00:0A", 0x02000000000A), ("10.0.0.1", 0x0A000001)],
)
def test_values(value: str | bytes, number: int) -> None:
    assert to_int(value, 48, "x") == number


@pytest.mark.parametrize(("value", "width"), [(512, 9), (-1, 9), ("1.2.3.4", 16), ("::1:0:0", 32), ("seven", 9)])
def test_values_that_do_not_fit(value: int | str, width: int) -> None:
    with pytest.raises(UsageError, match="the_key"):
        to_int(value, width, "the_key")


def test_an_exact_entry_round_trips() -> None:
    match: dict[str, MatchValue] = {"dst": "00:00:00:00:01:02", "vrf": "blue"}
    message = _entry(TableEntry("exact", match, "forward", {"port": 256}))
    assert [each.exact.value for each in message.match] == [b"\x01\x02", b"blue"]
    assert message.action.action.params[0].value == b"\x01\x00"
    read = codec.decode_table_entry(INDEX, message)
    assert read == TableEntry("In.exact", {"hdr.eth.dst": 0x0102, "meta.vrf": "blue"}, "In.forward", {"port": 256})
    assert _entry(read) == message


def test_a_missing_exact_key_is_named() -> None:
    with pytest.raises(UsageError, match=r"meta\.vrf is missing"):
        _entry(TableEntry("exact", {"dst": 1}, "forward", {"port": 1}))


@pytest.mark.parametrize(
    ("value", "prefix"),
    [("10.1.0.0/16", 16), (Lpm(0x0A010000, 16), 16), ("10.1.2.3", 32), ("0.0.0.0/0", None), (None, None)],
)
def test_lpm(value: MatchValue, prefix: int | None) -> None:
    message = _entry(TableEntry("lpm", {"dst": value}, "forward", {"port": 1}))
    assert [each.lpm.prefix_len for each in message.match] == ([] if prefix is None else [prefix])


def test_bits_beyond_the_prefix_get_the_network_as_hint() -> None:
    with pytest.raises(UsageError) as error:
        _entry(TableEntry("lpm", {"dst": "10.0.0.1/8"}, "forward", {"port": 1}))
    assert error.value.hint == "did you mean 10.0.0.0/8?"


@pytest.mark.parametrize("value", ["10.0.0.0/33", "10.0.0.0/x", Ternary(1, 1)])
def test_impossible_prefixes(value: MatchValue) -> None:
    with pytest.raises(UsageError):
        _entry(TableEntry("lpm", {"dst": value}, "forward", {"port": 1}))


@pytest.mark.parametrize(
    "match",
    [{}, {"t": "0&&&0", "r": "0..65535", "o": None}, {"t": Ternary(0, 0), "r": Range(0, 0xFFFF)}],
)
def test_what_does_not_count_is_left_out(match: dict[str, MatchValue]) -> None:
    assert not _entry(TableEntry("acl", match, "forward", {"port": 1}, priority=1)).match


def test_ternary_range_and_optional_round_trip() -> None:
    match: dict[str, MatchValue] = {"t": "0x100&&&0x1ff", "r": Range(3, 300), "o": "2001:db8::1"}
    message = _entry(TableEntry("acl", match, "forward", {"port": 1}, priority=7))
    read = codec.decode_table_entry(INDEX, message)
    assert read.match == {"t": Ternary(0x100, 0x1FF), "r": Range(3, 300), "o": 0x20010DB8000000000000000000000001}
    assert _entry(read) == message


@pytest.mark.parametrize(
    "match", [{"t": Ternary(3, 1)}, {"r": Range(5, 4)}, {"r": "1..70000"}, {"t": Range(1, 2)}, {"o": Range(1, 2)}]
)
def test_keys_that_make_no_sense(match: dict[str, MatchValue]) -> None:
    with pytest.raises(UsageError):
        _entry(TableEntry("acl", match, "forward", {"port": 1}, priority=7))


def test_priority_is_needed_where_there_is_a_choice_and_only_there() -> None:
    with pytest.raises(UsageError, match="needs a priority"):
        _entry(TableEntry("acl", {}, "forward", {"port": 1}))
    with pytest.raises(UsageError, match="takes no priority"):
        _entry(TableEntry("lpm", {}, "forward", {"port": 1}, priority=3))


def test_default_entries() -> None:
    message = _entry(TableEntry("acl", action="forward", params={"port": 1}, is_default=True))
    assert message.is_default_action
    with pytest.raises(UsageError, match="takes no match"):
        _entry(TableEntry("lpm", {"dst": 1}, "forward", {"port": 1}, is_default=True))


def test_names_that_are_wrong() -> None:
    with pytest.raises(UnknownName, match="table 'exakt'"):
        _entry(TableEntry("exakt"))
    with pytest.raises(UnknownName, match=r"action of table In\.lpm 'NoAction'"):
        _entry(TableEntry("lpm", {}, "NoAction"))
    with pytest.raises(UnknownName, match="parameter"):
        _entry(TableEntry("lpm", {}, "forward", {"prot": 1}))
    with pytest.raises(UsageError, match=r"In\.forward needs port"):
        _entry(TableEntry("lpm", {}, "forward"))


def test_replication_entities_round_trip() -> None:
    group = MulticastGroup(5, frozenset({Replica(1), Replica(2, 7)}))
    engine = codec.encode(INDEX, group).packet_replication_engine_entry
    assert codec.decode_multicast_group(engine.multicast_group_entry) == group
    session = CloneSession(9, frozenset({Replica(3)}), 64)
    engine = codec.encode(INDEX, session).packet_replication_engine_entry
    assert codec.decode_clone_session(engine.clone_session_entry) == session


def test_a_replica_with_the_newer_port_field_is_understood() -> None:
    message = p4runtime_pb2.MulticastGroupEntry(multicast_group_id=1)
    message.replicas.add(port=b"\x01\x00", instance=2)
    assert codec.decode_multicast_group(message).replicas == {Replica(256, 2)}


def test_update_types() -> None:
    update = codec.encode_update(INDEX, Update(UpdateType.DELETE, MulticastGroup(3)))
    assert update.type == p4runtime_pb2.Update.DELETE


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="needs ../shared/conformance")
def test_the_entries_that_p4c_derives_round_trip() -> None:
    count = 0
    for path in sorted(CONFORMANCE.glob("*.entries.txtpb")):
        index = P4InfoIndex.parse((CONFORMANCE / path.name.replace(".entries", ".p4info")).read_text())
        request = text_format.Parse(path.read_text(), p4runtime_pb2.WriteRequest())
        for update in request.updates:
            read = codec.decode_table_entry(index, update.entity.table_entry)
            again = codec.encode(index, read).table_entry
            assert codec.decode_table_entry(index, again) == read, path.name
            assert len(again.match) == len(update.entity.table_entry.match), path.name
            count += 1
    assert count > 50
