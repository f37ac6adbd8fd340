"""Packet-ins, packet-outs, digests and idle time-outs: what goes over the stream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.integration.switch.client import (
    DELETE,
    INSERT,
    MODIFY,
    Client,
    Names,
    Network,
    exact,
    primary,
    program,
    refused,
)


def packet_out(payload: bytes) -> p4runtime_pb2.StreamMessageRequest:
    return p4runtime_pb2.StreamMessageRequest(packet=p4runtime_pb2.PacketOut(payload=payload))


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


def test_a_packet_out_with_metadata_that_there_is_not(network: Network) -> None:
    with primary(network, "loopback") as client:
        client.send(p4runtime_pb2.StreamMessageRequest(packet=p4runtime_pb2.PacketOut(metadata=[{"metadata_id": 1}])))
        error = client.receive("error")
        assert error.canonical_code == code_pb2.INVALID_ARGUMENT
        assert error.HasField("packet_out")


def test_every_primary_hears_of_packets_and_no_backup() -> None:
    with Network([1], cpu_port=64) as network, Client(network.switch.address, 1) as backup:
        assert backup.status() == code_pb2.OK
        with Client(network.switch.address, 2) as client:
            assert client.status() == code_pb2.OK
            assert backup.status() == code_pb2.ALREADY_EXISTS
            client.load(program("packet_io"))
            with Client(network.switch.address, 1, role="stats") as other:
                assert other.status() == code_pb2.OK
                network.send(1, b"for both")
                assert client.receive("packet").payload == b"for both"
                assert other.receive("packet").payload == b"for both"
                assert backup.nothing_received()


def digest(names: Names, **config: int) -> p4runtime_pb2.Entity:
    entity = p4runtime_pb2.Entity()
    entity.digest_entry.digest_id = names.id("L2_digest")
    for name, value in config.items():
        setattr(entity.digest_entry.config, name, value)
    return entity


def learn(network: Network, mac: bytes) -> None:
    network.send(1, b"\x01" * 6 + mac + b"\xab\xab")
    network.receive(1)


def test_digests(network: Network) -> None:
    with primary(network, "digest") as client:
        names = Names(program("digest").p4info)
        learn(network, b"\x02\x00\x00\x00\x00\x01")  # nobody asked
        entity = digest(names, max_list_size=1, ack_timeout_ns=int(3600e9))
        client.write(INSERT, entity)
        assert client.read(digest(names)) == [entity]
        learn(network, b"\x11\x22\x33\x44\x55\x66")
        learn(network, b"\x11\x22\x33\x44\x55\x66")  # not acknowledged yet: no news
        learn(network, b"\x02\x00\x00\x00\x00\x02")
        first, second = client.receive("digest"), client.receive("digest")
        assert [member.bitstring for member in first.data[0].struct.members] == [b"\x11\x22\x33\x44\x55\x66", b"\x01"]
        assert second.data[0].struct.members[0].bitstring == b"\x02\x00\x00\x00\x00\x02"
        assert first.digest_id == names.id("L2_digest")
        ack = p4runtime_pb2.DigestListAck(digest_id=first.digest_id, list_id=first.list_id)
        client.send(p4runtime_pb2.StreamMessageRequest(digest_ack=ack))
        ack.digest_id = 1
        client.send(p4runtime_pb2.StreamMessageRequest(digest_ack=ack))
        assert client.receive("error").canonical_code == code_pb2.INVALID_ARGUMENT
        learn(network, b"\x11\x22\x33\x44\x55\x66")
        assert client.receive("digest").list_id > second.list_id
        client.write(MODIFY, digest(names, max_timeout_ns=50_000_000, max_list_size=100))
        learn(network, b"\x02\x00\x00\x00\x00\x03")
        learn(network, b"\x02\x00\x00\x00\x00\x04")
        count = 0
        while count < 2:  # one list, unless this machine was very slow between the two
            count += len(client.receive("digest").data)
        client.write(DELETE, digest(names))
        assert refused(client.write, MODIFY, digest(names))[0][0] == code_pb2.NOT_FOUND


def test_idle_time_outs(network: Network) -> None:
    with primary(network, "digest") as client:
        names = Names(program("digest").p4info)
        mac = b"\x02\x00\x00\x00\x00\x05"
        entry = names.entry(
            "ingress.smac", exact(mac), action=names.action("NoAction"), idle_timeout_ns=1001, metadata=b"mine"
        )
        client.write(INSERT, entry)
        [idle] = client.receive("idle_timeout_notification").table_entry
        assert (idle.match[0].exact.value, idle.idle_timeout_ns, idle.metadata) == (mac, 1001, b"mine")
        wanted = names.entry("ingress.smac")
        wanted.table_entry.time_since_last_hit.SetInParent()
        [found] = client.read(wanted)
        assert found.table_entry.HasField("time_since_last_hit")
        assert found.table_entry.idle_timeout_ns == 1001
