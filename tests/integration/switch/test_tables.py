"""Table entries of every match kind, their direct resources, const entries."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.integration.switch.client import (
    DELETE,
    INSERT,
    MODIFY,
    PATIENCE,
    Names,
    Network,
    SetConfig,
    exact,
    primary,
    program,
    refused,
)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


def ternary(value: bytes, mask: bytes) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=1, ternary=p4runtime_pb2.FieldMatch.Ternary(value=value, mask=mask))


def test_reads_by_priority(network: Network) -> None:
    with primary(network, "ternary") as client:
        names = Names(program("ternary").p4info)
        action = names.action("ingress.send_1")
        low = names.entry("ingress.ter", ternary(b"\x12\x00", b"\xff\x00"), priority=5, action=action)
        high = names.entry("ingress.ter", ternary(b"\x12\x34", b"\xff\xff"), priority=9, action=action)
        client.write(INSERT, low, high)
        assert client.read(names.entry("ingress.ter", priority=9)) == [high]


def test_ternary_entries_that_cannot_be(network: Network) -> None:
    with primary(network, "ternary") as client:
        names = Names(program("ternary").p4info)
        match, action = ternary(b"\x12\x34", b"\xff\xff"), names.action("ingress.send_1")
        client.write(INSERT, names.entry("ingress.ter", match, priority=1, action=action))
        entries = [
            (names.entry("ingress.ter", match, action=action), code_pb2.INVALID_ARGUMENT, "needs a priority"),
            (names.entry("ingress.ter", match, priority=1, action=action), code_pb2.ALREADY_EXISTS, "already"),
            (names.entry("ingress.ter", match, priority=2), code_pb2.INVALID_ARGUMENT, "no action"),
            (
                names.entry("ingress.ter", ternary(b"\x01", b"\x00"), priority=2, action=action),
                code_pb2.INVALID_ARGUMENT,
                "leave the field out",
            ),
            (
                names.entry("ingress.ter", match, priority=2, action=action, is_const=True),
                code_pb2.INVALID_ARGUMENT,
                "is_const",
            ),
            (
                names.entry("ingress.ter", match, priority=2, action=p4runtime_pb2.Action(action_id=77)),
                code_pb2.INVALID_ARGUMENT,
                "no action with id 77",
            ),
            (p4runtime_pb2.Entity(), code_pb2.INVALID_ARGUMENT, "not set"),
        ]
        good = names.entry("ingress.ter", match, priority=3, action=action)
        found = refused(client.write, INSERT, *[entity for entity, _, _ in entries], good)
        assert [code for code, _ in found] == [*[code for _, code, _ in entries], code_pb2.OK]
        for (_, message), (_, _, says) in zip(found, entries, strict=False):
            assert says in message
        assert len(client.read(names.entry("ingress.ter"))) == 2, "the good one of the batch was applied"
        missing = names.entry("ingress.ter", match, priority=8, action=action)
        assert refused(client.write, MODIFY, missing)[0][0] == code_pb2.NOT_FOUND
        assert refused(client.write, DELETE, missing)[0][0] == code_pb2.NOT_FOUND


def test_direct_counters(network: Network) -> None:
    with primary(network, "counter") as client:
        names = Names(program("counter").p4info)
        entry = names.entry("t_redirect", exact(b"\x10"), action=names.action("port_redirect"))
        client.write(INSERT, entry)
        network.send(1, b"x" * 16, b"y" * 16)
        assert network.receive(1, 2) == [b"x" * 16, b"y" * 16]
        with_counter = p4runtime_pb2.Entity()
        with_counter.CopyFrom(entry)
        with_counter.table_entry.counter_data.packet_count = 2
        with_counter.table_entry.counter_data.byte_count = 32
        wanted = names.entry("t_redirect")
        assert client.read(wanted) == [entry]
        wanted.table_entry.counter_data.SetInParent()
        assert client.read(wanted) == [with_counter]
        direct = p4runtime_pb2.Entity()
        direct.direct_counter_entry.table_entry.CopyFrom(names.entry("t_redirect", exact(b"\x10")).table_entry)
        [found] = client.read(direct)
        assert found.direct_counter_entry.data == with_counter.table_entry.counter_data
        direct.direct_counter_entry.data.packet_count = 100
        client.write(MODIFY, direct)
        network.send(1, b"z" * 16)
        network.receive(1)
        everything = p4runtime_pb2.Entity()
        everything.direct_counter_entry.SetInParent()
        [found] = client.read(everything)
        assert found.direct_counter_entry.data.packet_count == 101
        assert refused(client.write, INSERT, direct)[0][0] == code_pb2.INVALID_ARGUMENT
        direct.direct_counter_entry.table_entry.match[0].exact.value = b"\x11"
        assert refused(client.write, MODIFY, direct)[0][0] == code_pb2.NOT_FOUND


def test_direct_meters(network: Network) -> None:
    with primary(network, "meter") as client:
        names = Names(program("meter").p4info)
        entry = names.entry("ingress.t_redirect", exact(b"\x01"), action=names.action("ingress.port_redirect"))
        config = entry.table_entry.meter_config
        config.cir, config.cburst, config.pir, config.pburst = 10, 1, 100, 5
        client.write(INSERT, entry)
        wanted = names.entry("ingress.t_redirect")
        wanted.table_entry.meter_config.SetInParent()
        assert client.read(wanted) == [entry]
        direct = p4runtime_pb2.Entity()
        direct.direct_meter_entry.table_entry.CopyFrom(names.entry("ingress.t_redirect", exact(b"\x01")).table_entry)
        assert client.read(direct)[0].direct_meter_entry.config == config
        client.write(MODIFY, direct)
        assert not client.read(wanted)[0].table_entry.HasField("meter_config")
        wanted.table_entry.meter_counter_data.SetInParent()
        direct.direct_meter_entry.counter_data.SetInParent()
        client.write(MODIFY, entry)
        network.send(1, *[b"\x01"] * 3)
        network.receive(1, 3)
        colours = client.read(wanted)[0].table_entry.meter_counter_data
        assert client.read(direct)[0].direct_meter_entry.counter_data == colours
        counted = [colours.green, colours.yellow, colours.red]
        assert sum(each.packet_count for each in counted) == sum(each.byte_count for each in counted) == 3
        direct.direct_meter_entry.config.CopyFrom(config)
        direct.direct_meter_entry.counter_data.green.packet_count = 1
        assert "can only be set to 0" in refused(client.write, MODIFY, direct)[0][1]
        direct.direct_meter_entry.counter_data.Clear()
        client.write(MODIFY, direct)
        assert client.read(wanted)[0].table_entry.meter_counter_data.green.packet_count == 0
        entry.table_entry.meter_counter_data.red.byte_count = 1
        assert refused(client.write, MODIFY, entry)[0][0] == code_pb2.INVALID_ARGUMENT
        entry.table_entry.ClearField("meter_counter_data")
        config.pir = 5
        message = refused(client.write, MODIFY, entry)[0][1]
        assert "below the committed rate" in message
        network.send(1, b"through")
        assert network.receive(1) == [b"through"]


def ipv4(destination: bytes, ttl: int = 64) -> bytes:
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20, 0, 0, ttl, 17, 0, bytes(4), destination)
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + (~total & 0xFFFF).to_bytes(2, "big") + header[12:]


def test_simple_router(network: Network) -> None:
    with primary(network, "simple_router") as client:
        names = Names(program("simple_router").p4info)
        route = p4runtime_pb2.FieldMatch(
            field_id=1, lpm=p4runtime_pb2.FieldMatch.LPM(value=b"\x0a\x00\x01\x00", prefix_len=24)
        )
        hop = b"\x0a\x00\x01\x63"
        client.write(
            INSERT,
            names.entry("ipv4_lpm", route, action=names.action("set_nhop", hop, b"\x02")),
            names.entry("forward", exact(hop), action=names.action("set_dmac", b"\x02\x00\x00\x00\x00\x63")),
            names.entry("send_frame", exact(b"\x02"), action=names.action("rewrite_mac", b"\x04\x00\x00\x00\x00\x01")),
        )
        network.send(1, bytes(12) + b"\x08\x00" + ipv4(b"\x0a\x00\x01\x07") + b"payload")
        expected = (
            b"\x02\x00\x00\x00\x00\x63\x04\x00\x00\x00\x00\x01\x08\x00" + ipv4(b"\x0a\x00\x01\x07", 63) + b"payload"
        )
        assert network.receive(2) == [expected]
        # Nothing but an all-wrong entry is refused for its priority.
        wrong = names.entry("ipv4_lpm", route, priority=1, action=names.action("_drop"))
        assert "takes no priority" in refused(client.write, INSERT, wrong)[0][1]
        default = names.entry("ipv4_lpm", action=names.action("_drop"), is_default_action=True)
        client.write(MODIFY, default)
        assert client.read(names.entry("ipv4_lpm", is_default_action=True)) == [default]
        assert refused(client.write, INSERT, default)[0][0] == code_pb2.INVALID_ARGUMENT
        not_for_entries = names.entry("forward", exact(b"\x01"), action=names.action("NoAction"))
        assert refused(client.write, INSERT, not_for_entries)[0][0] == code_pb2.PERMISSION_DENIED
        client.write(MODIFY, names.entry("ipv4_lpm", is_default_action=True))
        [reset] = client.read(names.entry("ipv4_lpm", is_default_action=True))
        assert reset.table_entry.action.action.action_id == names.id("NoAction")
        assert len(client.read(p4runtime_pb2.Entity(table_entry={}))) == 3, "all tables"


def test_indirect_counters() -> None:
    with Network([1]) as network, primary(network, "../stf/issue1566-bmv2") as client:
        entity = p4runtime_pb2.Entity()
        entry = entity.counter_entry
        entry.counter_id = 314274935
        assert len(client.read(entity)) == 65536
        entry.counter_id = 0
        assert len(client.read(entity)) == 65536
        entry.counter_id, entry.index.index = 314274935, 5
        entry.data.packet_count, entry.data.byte_count = 7, 700
        client.write(MODIFY, entity)
        assert client.read(entity) == [entity]
        entry.index.index = 6
        assert client.read(entity)[0].counter_entry.data.packet_count == 0
        for kind, index, expected in (
            (MODIFY, 65536, code_pb2.OUT_OF_RANGE),
            (MODIFY, -1, code_pb2.INVALID_ARGUMENT),
            (INSERT, 5, code_pb2.INVALID_ARGUMENT),
            (DELETE, 5, code_pb2.INVALID_ARGUMENT),
        ):
            entry.index.index = index
            assert refused(client.write, kind, entity)[0][0] == expected
        entry.ClearField("index")
        entry.data.packet_count = 1
        client.write(MODIFY, entity)
        assert {found.counter_entry.data.packet_count for found in client.read(entity)} == {1}


def test_registers() -> None:
    with Network([1]) as network, primary(network, "../stf/issue1814-1-bmv2") as client:
        names = Names(program("../stf/issue1814-1-bmv2").p4info)
        entity = p4runtime_pb2.Entity()
        entry = entity.register_entry
        entry.register_id, entry.index.index, entry.data.bitstring = 377042504, 0, b"\x01"
        everything = p4runtime_pb2.Entity(register_entry=p4runtime_pb2.RegisterEntry(register_id=0))
        assert {found.register_entry.data.bitstring for found in client.read(everything)} == {b"\x00"}
        forward = names.entry("IngressImpl.debug_table", exact(b"\x00"), action=names.action("IngressImpl.forward"))
        drop = names.entry("IngressImpl.debug_table", exact(b"\x01"), action=names.action("IngressImpl.drop"))
        client.write(INSERT, forward, drop)
        network.send(1, b"\x01" * 8)
        assert network.receive(1) == [b"\x01" * 8]
        client.write(MODIFY, entity)
        assert client.read(entity) == [entity]
        network.send(1, b"\x02" * 8)  # the register is 1 now: dropped
        entry.data.bitstring = b"\x00"
        end = time.monotonic() + PATIENCE
        while network.switch.stats()[1].received < 2 and time.monotonic() < end:
            time.sleep(0.001)
        client.write(MODIFY, entity)
        network.send(1, b"\x03" * 8)
        assert network.receive(1) == [b"\x03" * 8]
        entry.data.bitstring = b"\x02"
        assert "does not fit into 1 bits" in refused(client.write, MODIFY, entity)[0][1]
        entry.index.index = 10**6
        assert refused(client.write, MODIFY, entity)[0][0] == code_pb2.OUT_OF_RANGE
        assert refused(client.write, INSERT, entity)[0][0] == code_pb2.INVALID_ARGUMENT


def test_const_entries_can_be_read_and_nothing_else() -> None:
    with Network([1]) as network, primary(network, "../stf/table-entries-priority-bmv2") as client:
        names = Names(program("../stf/table-entries-priority-bmv2").p4info)
        entries = client.read(names.entry("ingress.t_ternary"))
        assert len(entries) == 3
        assert all(entity.table_entry.is_const and entity.table_entry.priority > 0 for entity in entries)
        assert len({entity.table_entry.priority for entity in entries}) == 3
        [entity] = client.read(names.entry("ingress.t_ternary", priority=entries[0].table_entry.priority))
        assert entity == entries[0]
        entity.table_entry.is_const = False
        for kind in (INSERT, MODIFY, DELETE):
            assert refused(client.write, kind, entity)[0][0] == code_pb2.PERMISSION_DENIED
        entity.table_entry.is_const = True
        assert refused(client.write, DELETE, entity)[0][0] == code_pb2.INVALID_ARGUMENT
        # Commit and reconcile leave them alone.
        client.load(program("../stf/table-entries-priority-bmv2"), SetConfig.RECONCILE_AND_COMMIT)
        assert client.read(names.entry("ingress.t_ternary")) == entries
