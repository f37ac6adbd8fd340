"""Multicast groups and clone sessions: the entities, and the packets."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from cais_tools.p4rt import code_pb2
from tests.integration.switch.client import (
    DELETE,
    INSERT,
    MODIFY,
    Network,
    clone_session,
    code,
    multicast_group,
    primary,
    refused,
)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


def test_multicast_groups_that_cannot_be(network: Network) -> None:
    with primary(network, "multicast") as client:
        client.write(INSERT, multicast_group(1, (1, 0)))
        for kind, entity, expected, says in (
            (INSERT, multicast_group(2, (1, 0), (9, 0)), code_pb2.INVALID_ARGUMENT, "group 2: there is no port 9"),
            (INSERT, multicast_group(2, (0, 0)), code_pb2.INVALID_ARGUMENT, "ports start at 1"),
            (INSERT, multicast_group(2, (1, 5), (1, 5)), code_pb2.INVALID_ARGUMENT, "same port and instance twice"),
            (INSERT, multicast_group(2, (1, 0x10000)), code_pb2.INVALID_ARGUMENT, "16 bits"),
            (INSERT, multicast_group(0, (1, 0)), code_pb2.INVALID_ARGUMENT, "ids start at 1"),
            (INSERT, multicast_group(0x10000, (1, 0)), code_pb2.OUT_OF_RANGE, "ids end at"),
            (INSERT, multicast_group(1, (1, 0)), code_pb2.ALREADY_EXISTS, "exists already"),
            (MODIFY, multicast_group(2, (1, 0)), code_pb2.NOT_FOUND, "no multicast group 2"),
            (DELETE, multicast_group(2), code_pb2.NOT_FOUND, "no multicast group 2"),
        ):
            [(found, message)] = refused(client.write, kind, entity)
            assert found == expected, message
            assert says in message
        assert "1, 2, 3" in refused(client.write, MODIFY, multicast_group(1, (9, 0)))[0][1]
        assert client.read(multicast_group(0)) == [multicast_group(1, (1, 0))]
        with pytest.raises(grpc.RpcError) as failed:
            client.read(multicast_group(1), multicast_group(2))
        assert code(failed.value) == grpc.StatusCode.UNKNOWN


def test_metadata_of_a_group_and_the_cpu_port_as_replica(network: Network) -> None:
    with primary(network, "multicast") as client:
        entity = multicast_group(5, (1, 0))
        entry = entity.packet_replication_engine_entry.multicast_group_entry
        entry.metadata = b"cookie"
        entry.replicas.add(port=b"\x00\x01\xfe", instance=1)
        client.write(INSERT, entity)
        entry.replicas[1].port = b"\x01\xfe"
        assert client.read(multicast_group(5)) == [entity]
        network.send(1, b"\x00\x05")
        assert client.receive("packet").payload == b"\x00\x01"


def test_clone(network: Network) -> None:
    with primary(network, "clone") as client:
        client.write(INSERT, clone_session(10, (2, 1)))
        network.send(1, b"\x00\x0adata")
        assert network.receive(1) == [b"\x00\x00data"]
        assert network.receive(2) == [b"\x00\x01data"]
        client.write(MODIFY, clone_session(10, (2, 1), (3, 2), length=4))
        network.send(1, b"\x00\x0adata")
        assert [network.receive(port) for port in (1, 2, 3)] == [[b"\x00\x00data"], [b"\x00\x01da"], [b"\x00\x02da"]]
        assert (
            client.read(clone_session(10))
            == client.read(clone_session(0))
            == [clone_session(10, (2, 1), (3, 2), length=4)]
        )
        client.write(DELETE, clone_session(10))
        network.send(1, b"\x00\x0adata")
        assert network.receive(1) == [b"\x00\x00data"]
        assert network.silent(2, 3)
        [(found, message)] = refused(client.write, INSERT, clone_session(1, (44, 0)))
        assert (found, "no port 44" in message) == (code_pb2.INVALID_ARGUMENT, True)
        assert refused(client.write, INSERT, clone_session(40000, (1, 0)))[0][0] == code_pb2.OUT_OF_RANGE


def test_backup_replicas(network: Network) -> None:
    with primary(network, "multicast") as client:
        entity = multicast_group(2, (1, 1), (2, 2))
        replica = entity.packet_replication_engine_entry.multicast_group_entry.replicas[0]
        if "backup_replicas" not in replica.DESCRIPTOR.fields_by_name:
            pytest.skip("these stubs do not have backup replicas")
        for port, instance, says in ((1, 5, "same port as backup"), (2, 2, "instance twice"), (9, 0, "no port 9")):
            replica.ClearField("backup_replicas")
            replica.backup_replicas.add(port=bytes([port]), instance=instance)
            [(found, message)] = refused(client.write, INSERT, entity)
            assert found == code_pb2.INVALID_ARGUMENT
            assert says in message
        replica.ClearField("backup_replicas")
        replica.backup_replicas.add(port=b"\x02", instance=7)
        replica.backup_replicas.add(port=b"\x03", instance=8)
        client.write(INSERT, entity)
        assert client.read(multicast_group(2)) == [entity]
        device = network.switch.device
        for down, expected in (
            (set[int](), {1: [1], 2: [2]}),
            ({1}, {2: [2, 7]}),
            ({1, 2}, {2: [2], 3: [8]}),
            (set[int](), {1: [1], 2: [2]}),
        ):
            device.set_down_ports(frozenset(down))
            network.send(3, b"\x00\x02")
            for port, instances in expected.items():
                frames = network.receive(port, len(instances))
                assert sorted(frames) == [bytes([0, instance]) for instance in instances]
        session = clone_session(1, (1, 0))
        replicas = session.packet_replication_engine_entry.clone_session_entry.replicas
        replicas[0].backup_replicas.add(port=b"\x02")
        assert refused(client.write, INSERT, session)[0][0] == code_pb2.UNIMPLEMENTED
