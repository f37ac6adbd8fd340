"""The programs with which simple_switch_grpc is tested: what each is for works over P4Runtime and with packets."""

from __future__ import annotations

import struct
from collections.abc import Generator

import pytest

from cais_tools.p4rt import p4runtime_pb2
from tests.conformance.services import KINDS, PORTS, Switch, padded, running
from tests.integration.switch.client import (
    DELETE,
    MODIFY,
    PROGRAMS,
    clone_session,
    exact,
    multicast_group,
)

pytestmark = pytest.mark.skipif(not PROGRAMS.is_dir(), reason=f"the conformance data is not there: {PROGRAMS}")


@pytest.fixture(scope="module", params=KINDS)
def switch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Switch]:
    with running(request.param, tmp_path_factory.mktemp("bmv2") / "log") as switch:
        yield switch


def test_ternary(switch: Switch) -> None:
    def match(value: bytes, mask: bytes) -> p4runtime_pb2.FieldMatch:
        return p4runtime_pb2.FieldMatch(field_id=1, ternary=p4runtime_pb2.FieldMatch.Ternary(value=value, mask=mask))

    switch.load("ternary")
    low = switch.entry(
        "ingress.ter", match(b"\x12\x00", b"\xff\x00"), priority=5, action=switch.action("ingress.send_1")
    )
    high = switch.entry(
        "ingress.ter", match(b"\x12\x34", b"\xff\xff"), priority=9, action=switch.action("ingress.send_2")
    )
    switch.insert(low, high)
    switch.send(3, b"\x12\x34", b"\x12\x35")
    switch.comes(2, b"\x12\x34")
    switch.comes(1, b"\x12\x35")
    assert switch.read(switch.entry("ingress.ter")) == [low, high]
    switch.client.write(DELETE, high)
    switch.send(3, b"\x12\x34")
    switch.comes(1, b"\x12\x34")


def test_optional(switch: Switch) -> None:
    switch.load("optional")
    match = p4runtime_pb2.FieldMatch(field_id=1, optional=p4runtime_pb2.FieldMatch.Optional(value=b"\xab\xcd"))
    one = switch.entry("ingress.opt", match, priority=10, action=switch.action("ingress.send_1"))
    rest = switch.entry("ingress.opt", priority=1, action=switch.action("ingress.send_2"))
    switch.insert(one, rest)
    switch.send(3, b"\xab\xcd", b"\xab\xce")
    switch.comes(1, b"\xab\xcd")
    switch.comes(2, b"\xab\xce")
    assert switch.read(switch.entry("ingress.opt")) == [one, rest]


def test_counter(switch: Switch) -> None:
    switch.load("counter")
    entry = switch.entry("t_redirect", exact(b"\x14"), action=switch.action("port_redirect"))
    switch.insert(entry)
    switch.send(1, b"one", b"two")
    switch.comes(1, b"one", b"two")
    wanted = switch.entry("t_redirect")
    wanted.table_entry.counter_data.SetInParent()
    [found] = switch.read(wanted)
    assert (found.table_entry.counter_data.packet_count, found.table_entry.counter_data.byte_count) == (2, 40)
    direct = p4runtime_pb2.Entity()
    direct.direct_counter_entry.table_entry.CopyFrom(switch.entry("t_redirect", exact(b"\x14")).table_entry)
    direct.direct_counter_entry.data.packet_count = 100
    switch.client.write(MODIFY, direct)
    switch.send(1, b"three")
    switch.comes(1, b"three")
    [found] = switch.read(direct)
    assert found.direct_counter_entry.data.packet_count == 101


def test_meter(switch: Switch) -> None:
    switch.load("meter")
    entry = switch.entry("ingress.t_redirect", exact(b"\x01"), action=switch.action("ingress.port_redirect"))
    config = entry.table_entry.meter_config
    config.cir, config.cburst, config.pir, config.pburst = 10, 1, 100, 5
    switch.insert(entry)
    wanted = switch.entry("ingress.t_redirect")
    wanted.table_entry.meter_config.SetInParent()
    assert switch.read(wanted) == [entry]
    switch.send(1, b"through")
    switch.comes(1, b"through")
    direct = p4runtime_pb2.Entity()
    direct.direct_meter_entry.table_entry.CopyFrom(switch.entry("ingress.t_redirect", exact(b"\x01")).table_entry)
    assert switch.read(direct)[0].direct_meter_entry.config == config
    switch.client.write(MODIFY, direct)
    assert not switch.read(wanted)[0].table_entry.HasField("meter_config")


def replicas(entry: p4runtime_pb2.MulticastGroupEntry | p4runtime_pb2.CloneSessionEntry) -> set[tuple[int, int]]:
    """(port, instance) of each."""
    return {(int.from_bytes(each.port, "big") or each.egress_port, each.instance) for each in entry.replicas}


def test_multicast(switch: Switch) -> None:
    switch.load("multicast")
    switch.insert(multicast_group(10, (1, 1), (2, 2)))
    switch.send(1, b"\x00\x0a")
    switch.comes(1, b"\x00\x01")
    switch.comes(2, b"\x00\x02")
    switch.client.write(MODIFY, multicast_group(10, (1, 1), (2, 2), (3, 3)))
    switch.send(1, b"\x00\x0a")
    for port in PORTS:
        switch.comes(port, bytes([0, port]))
    [found] = switch.read(multicast_group(0))
    assert replicas(found.packet_replication_engine_entry.multicast_group_entry) == {(1, 1), (2, 2), (3, 3)}
    switch.client.write(DELETE, multicast_group(10))
    switch.insert(multicast_group(11, (2, 7)))
    switch.send(1, b"\x00\x0a", b"\x00\x0b")
    switch.comes(2, b"\x00\x07")
    assert switch.silent(1, 3)


def test_clone(switch: Switch) -> None:
    switch.load("clone")
    switch.insert(clone_session(10, (2, 1)))
    switch.send(1, b"\x00\x0a")
    switch.comes(1, b"\x00\x00")
    switch.comes(2, b"\x00\x01")
    switch.client.write(MODIFY, clone_session(10, (2, 1), (3, 2)))
    switch.send(1, b"\x00\x0a")
    switch.comes(1, b"\x00\x00")
    switch.comes(2, b"\x00\x01")
    switch.comes(3, b"\x00\x02")
    [found] = switch.read(clone_session(10))
    assert replicas(found.packet_replication_engine_entry.clone_session_entry) == {(2, 1), (3, 2)}
    switch.client.write(DELETE, clone_session(10))
    switch.send(1, b"\x00\x0a")
    switch.comes(1, b"\x00\x00")
    assert switch.silent(2, 3)


def test_digest(switch: Switch) -> None:
    switch.load("digest")
    digest = p4runtime_pb2.Entity()
    digest.digest_entry.digest_id = switch.names.id("L2_digest")
    digest.digest_entry.config.max_list_size = 1
    digest.digest_entry.config.ack_timeout_ns = int(3600e9)
    switch.insert(digest)
    assert switch.read(digest) == [digest]

    def learn(address: bytes) -> None:
        switch.send(1, b"\x01" * 6 + address + b"\xab\xab")
        switch.comes(1, b"\x01" * 6 + address + b"\xab\xab")

    first, second = b"\x11\x22\x33\x44\x55\x66", b"\x02\x00\x00\x00\x00\x02"
    learn(first)
    learn(first)  # not acknowledged yet: no news
    learn(second)
    lists = [switch.client.receive("digest") for _ in range(2)]
    values = [[member.bitstring for member in each.data[0].struct.members] for each in lists]
    assert values == [[first, b"\x01"], [second, b"\x01"]]
    ack = p4runtime_pb2.DigestListAck(digest_id=lists[0].digest_id, list_id=lists[0].list_id)
    switch.client.send(p4runtime_pb2.StreamMessageRequest(digest_ack=ack))
    known = switch.entry("ingress.smac", exact(second), action=switch.action("NoAction"))
    switch.insert(known)
    learn(second)  # the table knows this one
    while switch.client.nothing_received():  # the acknowledgement is on its way
        learn(first)
    assert switch.client.receive("digest").data[0].struct.members[0].bitstring == first
    switch.client.write(DELETE, digest)


def test_action_profile(switch: Switch) -> None:
    switch.load("action_profile")
    profile = switch.names.id("ActProfWS")

    def member(number: int, port: bytes) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entity.action_profile_member.action_profile_id = profile
        entity.action_profile_member.member_id = number
        entity.action_profile_member.action.CopyFrom(switch.action("send", port))
        return entity

    def group(*members: int) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entity.action_profile_group.action_profile_id, entity.action_profile_group.group_id = profile, 5
        for number in members:
            entity.action_profile_group.members.add(member_id=number, weight=1)
        return entity

    switch.insert(member(1, b"\x01"), member(2, b"\x02"))
    switch.insert(group(1, 2))
    entry = switch.entry("IndirectWS", exact(b"\xab"))
    entry.table_entry.action.action_profile_group_id = 5
    switch.insert(entry)
    assert min(switch.spread()) > 0
    assert switch.read(switch.entry("IndirectWS")) == [entry]
    switch.client.write(MODIFY, group(2))
    assert switch.spread() == [0, 60]
    switch.client.write(MODIFY, member(2, b"\x01"))
    assert switch.spread() == [60, 0]
    entry.table_entry.action.action_profile_member_id = 1
    switch.client.write(MODIFY, entry)
    switch.client.write(DELETE, group())
    assert switch.spread() == [60, 0]


def test_action_profile_in_one_shot(switch: Switch) -> None:
    switch.load("action_profile")
    entry = switch.entry("IndirectWS", exact(b"\xab"))
    actions = entry.table_entry.action.action_profile_action_set.action_profile_actions
    for port in (1, 2):
        actions.add(action=switch.action("send", bytes([port])), weight=1)
    switch.insert(entry)
    assert min(switch.spread()) > 0
    assert switch.read(switch.entry("IndirectWS")) == [entry]
    switch.client.write(DELETE, entry)
    assert switch.read(switch.entry("IndirectWS")) == []


def test_packet_io(switch: Switch) -> None:
    switch.load("packet_io")
    switch.send(1, b"first", b"second")
    assert [switch.client.receive("packet").payload for _ in range(2)] == [padded(b"first"), padded(b"second")]


def test_loopback(switch: Switch) -> None:
    switch.load("loopback")
    switch.send(2, b"back")
    switch.comes(2, b"back")
    packet = p4runtime_pb2.PacketOut(payload=padded(b"out and in"))
    switch.client.send(p4runtime_pb2.StreamMessageRequest(packet=packet))
    assert switch.client.receive("packet").payload == packet.payload


def ipv4(destination: bytes, ttl: int) -> bytes:
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20, 0, 0, ttl, 17, 0, bytes(4), destination)
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + (~total & 0xFFFF).to_bytes(2, "big") + header[12:]


def test_simple_router(switch: Switch) -> None:
    switch.load("simple_router")
    route = p4runtime_pb2.FieldMatch(
        field_id=1, lpm=p4runtime_pb2.FieldMatch.LPM(value=b"\x0a\x00\x01\x00", prefix_len=24)
    )
    hop = b"\x0a\x00\x01\x63"
    entries = [
        switch.entry("ipv4_lpm", route, action=switch.action("set_nhop", hop, b"\x02")),
        switch.entry("forward", exact(hop), action=switch.action("set_dmac", b"\x02\x00\x00\x00\x00\x63")),
        switch.entry("send_frame", exact(b"\x02"), action=switch.action("rewrite_mac", b"\x04\x00\x00\x00\x00\x01")),
    ]
    switch.insert(*entries)
    switch.send(1, bytes(12) + b"\x08\x00" + ipv4(b"\x0a\x00\x01\x07", 64) + b"payload")
    addresses = b"\x02\x00\x00\x00\x00\x63\x04\x00\x00\x00\x00\x01"
    switch.comes(2, addresses + b"\x08\x00" + ipv4(b"\x0a\x00\x01\x07", 63) + b"payload")
    default = switch.entry("ipv4_lpm", action=switch.action("_drop"), is_default_action=True)
    switch.client.write(MODIFY, default)
    assert switch.read(switch.entry("ipv4_lpm", is_default_action=True)) == [default]
    found = switch.read(p4runtime_pb2.Entity(table_entry={}))
    assert sorted(map(str, found)) == sorted(map(str, entries)), "all tables"
