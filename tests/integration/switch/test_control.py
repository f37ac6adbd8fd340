"""data/control.p4: controller headers, value sets, initial entries, indirect counters and meters, signed registers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.integration.switch.client import (
    DATA,
    DELETE,
    INSERT,
    MODIFY,
    Client,
    Names,
    Network,
    SetConfig,
    exact,
    program,
    refused,
)

CONFIG = program("control", DATA)
NAMES = Names(CONFIG.p4info)
ROUTE = "FrameIngress.route"


def frame(kind: int, number: int, flags: int = 0, payload: bytes = b"..") -> bytes:
    return (kind << 4 | flags).to_bytes(2, "big") + number.to_bytes(2, "big") + payload


def kind_match(value: bytes) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=1, ternary=p4runtime_pb2.FieldMatch.Ternary(value=value, mask=b"\x0f\xff"))


def numbers(low: bytes, high: bytes) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=2, range=p4runtime_pb2.FieldMatch.Range(low=low, high=high))


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


@pytest.fixture
def client(network: Network) -> Iterator[Client]:
    with Client(network.switch.address) as client:
        assert client.status() == code_pb2.OK
        client.load(CONFIG)
        yield client


def test_packet_out_and_in_with_metadata(network: Network, client: Client) -> None:
    request = p4runtime_pb2.StreamMessageRequest()
    request.packet.payload = frame(7, 1)
    request.packet.metadata.add(metadata_id=1, value=b"\x02")
    request.packet.metadata.add(metadata_id=2, value=b"\x00")
    client.send(request)
    assert network.receive(2) == [frame(7, 1)]
    request.packet.metadata[0].value = b"\x02\x00"
    client.send(request)
    error = client.receive("error")
    assert error.canonical_code == code_pb2.INVALID_ARGUMENT
    assert "egress_port = 0x200 does not fit" in error.message
    assert error.packet_out.packet_out == request.packet
    del request.packet.metadata[0]
    client.send(request)
    assert "needs a value for egress_port" in client.receive("error").message
    client.write(
        INSERT, NAMES.entry(ROUTE, kind_match(b"\x07"), priority=50, action=NAMES.action("FrameIngress.to_cpu"))
    )
    network.send(3, frame(7, 1))
    packet = client.receive("packet")
    assert packet.payload == frame(7, 1)
    assert [(each.metadata_id, each.value) for each in packet.metadata] == [(1, b"\x03"), (2, b"\x05")]


def test_initial_entries_can_be_changed(network: Network, client: Client) -> None:
    first, second = client.read(NAMES.entry(ROUTE))
    assert first.table_entry.priority > second.table_entry.priority > 0
    assert not first.table_entry.is_const
    assert list(first.table_entry.match) == [kind_match(b"\x01"), numbers(b"\x00", b"\x63")]
    assert list(second.table_entry.match) == [kind_match(b"\x02")]
    first.table_entry.action.action.params[0].value = b"\x03"
    client.write(MODIFY, first)
    network.send(1, frame(1, 99), frame(1, 100), frame(2, 0))
    assert network.receive(3) == [frame(1, 99)]
    assert network.receive(2) == [frame(2, 0)]
    client.load(CONFIG, SetConfig.RECONCILE_AND_COMMIT)
    assert client.read(NAMES.entry(ROUTE)) == [first, second]
    client.write(DELETE, first)
    client.load(CONFIG, SetConfig.RECONCILE_AND_COMMIT)
    assert client.read(NAMES.entry(ROUTE)) == [second], "what was deleted does not come back"
    client.load(CONFIG)
    assert len(client.read(NAMES.entry(ROUTE))) == 2


def test_scopes_of_actions(client: Client) -> None:
    only_default = NAMES.entry(ROUTE, kind_match(b"\x05"), priority=9, action=NAMES.action("FrameIngress.discard"))
    assert refused(client.write, INSERT, only_default)[0][0] == code_pb2.PERMISSION_DENIED
    only_table = NAMES.entry(ROUTE, is_default_action=True, action=NAMES.action("FrameIngress.to_cpu"))
    assert refused(client.write, MODIFY, only_table)[0][0] == code_pb2.PERMISSION_DENIED
    both = NAMES.entry(ROUTE, is_default_action=True, action=NAMES.action("FrameIngress.send", b"\x02"), metadata=b"m")
    client.write(MODIFY, both)
    assert client.read(NAMES.entry(ROUTE, is_default_action=True)) == [both]
    for broken in (
        NAMES.entry(ROUTE, kind_match(b"\x05"), is_default_action=True, action=NAMES.action("FrameIngress.discard")),
        NAMES.entry(ROUTE, is_default_action=True, priority=1, action=NAMES.action("FrameIngress.discard")),
    ):
        assert refused(client.write, MODIFY, broken)[0][0] == code_pb2.INVALID_ARGUMENT


def test_filters(client: Client) -> None:
    entries = [
        NAMES.entry(
            ROUTE,
            kind_match(bytes([kind])),
            priority=100 + kind % 2,
            action=NAMES.action("FrameIngress.send", b"\x01") if kind < 5 else NAMES.action("FrameIngress.to_cpu"),
            metadata=b"even" if kind % 2 == 0 else b"",
            controller_metadata=kind,
        )
        for kind in (3, 4, 5, 6)
    ]
    client.write(INSERT, *entries)
    assert client.read(NAMES.entry(ROUTE, priority=100)) == [entries[1], entries[3]]
    assert client.read(NAMES.entry(ROUTE, metadata=b"even")) == [entries[1], entries[3]]
    assert client.read(NAMES.entry(ROUTE, controller_metadata=5)) == [entries[2]]
    wanted = NAMES.entry(ROUTE, action=p4runtime_pb2.Action(action_id=NAMES.id("FrameIngress.to_cpu")))
    assert client.read(wanted) == entries[2:]
    assert client.read(NAMES.entry(ROUTE, kind_match(b"\x04"))) == [entries[1]]
    assert client.read(NAMES.entry(ROUTE, kind_match(b"\x04"), priority=100)) == [entries[1]]
    assert client.read(NAMES.entry(ROUTE, kind_match(b"\x04"), priority=101)) == []
    changed = p4runtime_pb2.Entity()
    changed.CopyFrom(entries[0])
    changed.table_entry.ClearField("action")
    changed.table_entry.metadata = b"new"
    client.write(MODIFY, changed)
    [found] = client.read(NAMES.entry(ROUTE, metadata=b"new"))
    assert found.table_entry.action == entries[0].table_entry.action, "an action left out stays"


def test_the_size_is_that_of_the_p4info(client: Client) -> None:
    # The JSON has the number of initial entries there, 2.
    action = NAMES.action("FrameIngress.send", b"\x01")
    entries = [NAMES.entry(ROUTE, numbers(b"\x05", b"\x06"), priority=each, action=action) for each in range(1, 8)]
    found = [code for code, _ in refused(client.write, INSERT, *entries)]
    assert found == [*[code_pb2.OK] * 6, code_pb2.RESOURCE_EXHAUSTED]


def test_a_range_entry_the_wrong_way_round_and_a_duplicate_with_other_bytes(client: Client) -> None:
    action = NAMES.action("FrameIngress.send", b"\x01")
    client.write(INSERT, NAMES.entry(ROUTE, numbers(b"\x05", b"\x06"), priority=9, action=action))
    again = NAMES.entry(ROUTE, numbers(b"\x00\x05", b"\x00\x06"), priority=9, action=action)
    assert refused(client.write, INSERT, again)[0][0] == code_pb2.ALREADY_EXISTS
    wrong = NAMES.entry(ROUTE, numbers(b"\x06", b"\x05"), priority=9, action=action)
    assert refused(client.write, INSERT, wrong)[0][0] == code_pb2.INVALID_ARGUMENT


def test_counters_count_packets_and_bytes(network: Network, client: Client) -> None:
    network.send(1, frame(1, 0), frame(1, 1), frame(2, 0, payload=b"longer"))
    network.receive(1, 2)
    network.receive(2)
    entity = p4runtime_pb2.Entity()
    entity.counter_entry.counter_id = NAMES.id("FrameIngress.kinds")
    counted = {
        each.counter_entry.index.index: (each.counter_entry.data.packet_count, each.counter_entry.data.byte_count)
        for each in client.read(entity)
    }
    assert len(counted) == 16
    assert (counted[1], counted[2], counted[3]) == ((2, 12), (1, 10), (0, 0))
    direct = p4runtime_pb2.Entity()
    direct.direct_counter_entry.table_entry.table_id = NAMES.id(ROUTE)
    assert [each.direct_counter_entry.data.packet_count for each in client.read(direct)] == [2, 1]


def test_meters(network: Network, client: Client) -> None:
    entity = p4runtime_pb2.Entity()
    entry = entity.meter_entry
    entry.meter_id, entry.index.index = NAMES.id("FrameIngress.rate"), 3
    entry.config.cir, entry.config.cburst, entry.config.pir, entry.config.pburst = 1, 1, 1, 2
    client.write(MODIFY, entity)
    assert client.read(entity) == [entity]
    network.send(1, *[frame(1, number, flags=3) for number in range(3)])
    # Green, yellow, red stand in the flags now.
    assert network.receive(1, 3) == [frame(1, number, flags=number) for number in range(3)]
    entry.ClearField("config")
    client.write(MODIFY, entity)
    assert client.read(entity) == [entity]
    entry.ClearField("index")
    assert len(client.read(entity)) == 4
    entry.index.index = 4
    assert refused(client.write, MODIFY, entity)[0][0] == code_pb2.OUT_OF_RANGE


def test_signed_and_wide_registers(network: Network, client: Client) -> None:
    entity = p4runtime_pb2.Entity()
    entry = entity.register_entry
    entry.register_id, entry.index.index, entry.data.bitstring = NAMES.id("FrameIngress.signed_values"), 0, b"\xfd\x1d"
    client.write(MODIFY, entity)
    assert client.read(entity) == [entity]
    network.send(1, frame(1, 0))
    assert network.receive(1) == [frame(1, 0, flags=15)], "the program found a negative value"
    entry.data.bitstring = b"\x08\x00"
    assert "int<12>" in refused(client.write, MODIFY, entity)[0][1]
    entry.register_id = NAMES.id("FrameIngress.last_seen")
    [found] = client.read(entity)
    assert int.from_bytes(found.register_entry.data.bitstring, "big") > 0
    entry.ClearField("index")
    entry.data.bitstring = b"\x01\x02\x03\x04\x05\x06"
    client.write(MODIFY, entity)
    values = [each.register_entry.data.bitstring for each in client.read(entity)]
    assert values == [b"\x01\x02\x03\x04\x05\x06"] * 8
    entry.data.bool = True
    assert "holds a bitstring" in refused(client.write, MODIFY, entity)[0][1]


def test_value_sets(network: Network, client: Client) -> None:
    entity = p4runtime_pb2.Entity()
    entry = entity.value_set_entry
    entry.value_set_id = NAMES.id("FrameParser.specials")
    assert client.read(entity) == [entity]
    flags = p4runtime_pb2.FieldMatch(field_id=2, ternary=p4runtime_pb2.FieldMatch.Ternary(value=b"\x04", mask=b"\x04"))
    entry.members.add(match=[exact(b"\x01"), flags])
    client.write(MODIFY, entity)
    assert client.read(entity) == [entity]
    network.send(1, frame(1, 0, flags=4), frame(1, 0, flags=12), frame(1, 0, flags=8))
    assert network.receive(1, 3) == [frame(1, 0, flags=9), frame(1, 0, flags=9), frame(1, 0)]
    entry.members.add(match=[exact(b"\x01"), flags])
    assert refused(client.write, MODIFY, entity)[0][0] == code_pb2.ALREADY_EXISTS
    entry.members[1].match[0].exact.value = b"\x02"
    for number in range(3, 6):
        entry.members.add(match=[exact(bytes([number]))])
    assert refused(client.write, MODIFY, entity)[0][0] == code_pb2.RESOURCE_EXHAUSTED
    assert refused(client.write, INSERT, entity)[0][0] == code_pb2.INVALID_ARGUMENT
    del entry.members[:]
    client.write(MODIFY, entity)
    network.send(1, frame(1, 0, flags=4))
    assert network.receive(1) == [frame(1, 0)]
