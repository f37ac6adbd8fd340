"""Answers to reads: every wildcard, in messages that a client can take, and a client that takes none."""

from __future__ import annotations

import time
from collections.abc import Iterator

import grpc
import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server import Limits
from tests.integration.switch.client import (
    DATA,
    DEVICE_ID,
    INSERT,
    MODIFY,
    PATIENCE,
    Client,
    Names,
    Network,
    clone_session,
    code,
    exact,
    multicast_group,
    primary,
    program,
)

Entity = p4runtime_pb2.Entity


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


def group_with(size: int) -> Entity:
    entity = multicast_group(size, (1, 0))
    entity.packet_replication_engine_entry.multicast_group_entry.metadata = bytes(size)
    return entity


def test_large_entities_come_in_messages_that_every_client_takes(network: Network) -> None:
    with primary(network, "multicast") as client:
        entities = [group_with(size) for size in range(60_000, 60_100)]
        client.write(INSERT, *entities)
        request = p4runtime_pb2.ReadRequest(device_id=DEVICE_ID, entities=[multicast_group(0)])
        responses = list(client.stub.Read(request))
        assert [entity for each in responses for entity in each.entities] == entities
        assert max(each.ByteSize() for each in responses) < 2 << 20
        assert min(len(each.entities) for each in responses[:-1]) > 1


def is_full(client: Client) -> bool:
    """Whether the server refuses one more call."""
    try:
        client.get_config()
    except grpc.RpcError as error:
        return code(error) == grpc.StatusCode.RESOURCE_EXHAUSTED
    return False


def test_a_client_that_does_not_take_its_answer_is_not_waited_for() -> None:
    limits = Limits(streams=1, calls=2, subscriptions=0, stalled_ms=400)
    with Network([1], limits=limits) as network, primary(network, "multicast") as client:
        client.write(INSERT, *(group_with(size) for size in range(60_000, 60_060)))
        request = p4runtime_pb2.ReadRequest(device_id=DEVICE_ID, entities=[multicast_group(0)] * 10)
        stalled = [client.stub.Read(request) for _ in range(2)]
        for each in stalled:
            next(each)  # nothing more: what is on its way fills the windows, then the server waits
        end = time.monotonic() + PATIENCE
        while is_full(client):
            assert time.monotonic() < end, "a client that stalls holds its thread for ever"
            time.sleep(0.05)
        ended = 0
        for each in stalled:
            try:
                list(each)
            except grpc.RpcError:
                ended += 1
        assert ended > 0


def test_every_wildcard(network: Network) -> None:
    with primary(network, "rehearsal", DATA) as client:
        names = Names(program("rehearsal", DATA).p4info)
        client.write(INSERT, multicast_group(1, (1, 0)), multicast_group(2), clone_session(1, (2, 0)))
        entry = names.entry(
            "FrameIngress.exact_kind",
            exact(b"\x05"),
            action=names.action("FrameIngress.counted", b"\x02"),
            metadata=b"m",
        )
        client.write(INSERT, entry)
        tables = client.read(Entity(table_entry={}))
        assert entry in tables
        assert not any(each.table_entry.is_default_action for each in tables)
        defaults = client.read(Entity(table_entry={"is_default_action": True}))
        assert {each.table_entry.table_id for each in defaults} >= {each.table_entry.table_id for each in tables}
        assert client.read(Entity(table_entry={"metadata": b"m"})) == [entry]
        assert client.read(Entity(table_entry={"metadata": b"other"})) == []
        by_action = names.entry(
            "FrameIngress.exact_kind", action=p4runtime_pb2.Action(action_id=names.id("FrameIngress.counted"))
        )
        assert client.read(by_action) == [entry]
        assert len(client.read(multicast_group(0), clone_session(0))) == 3
        for kind, ids in (
            ("counter_entry", {"counter_id"}),
            ("meter_entry", {"meter_id"}),
            ("register_entry", {"register_id"}),
            ("direct_counter_entry", set[str]()),
            ("direct_meter_entry", set[str]()),
            ("action_profile_member", set[str]()),
            ("action_profile_group", set[str]()),
            ("value_set_entry", set[str]()),
            ("digest_entry", set[str]()),
        ):
            wanted = Entity()
            getattr(wanted, kind).SetInParent()
            found = client.read(wanted)
            assert all(each.WhichOneof("entity") == kind for each in found)
            for ident in ids:
                first = getattr(getattr(found[0], kind), ident)
                one = Entity()
                setattr(getattr(one, kind), ident, first)
                cells = client.read(one)
                assert cells == [each for each in found if getattr(getattr(each, kind), ident) == first]
                getattr(one, kind).index.index = 1
                assert client.read(one) == cells[1:2]


def test_roles_read_everything(network: Network) -> None:
    """Without role configs every role has the full pipeline: all entities belong to each (section 5.2)."""
    with primary(network, "multicast") as client, Client(network.switch.address, role="other") as other:
        assert other.status() == code_pb2.OK
        other.write(INSERT, multicast_group(1, (1, 0)))
        client.write(MODIFY, multicast_group(1, (2, 0)))
        for role in ("", "other", "nobody"):
            request = p4runtime_pb2.ReadRequest(device_id=DEVICE_ID, role=role, entities=[multicast_group(0)])
            [response] = client.stub.Read(request)
            assert list(response.entities) == [multicast_group(1, (2, 0))]
        client.role = "nobody"
        with pytest.raises(grpc.RpcError) as refused:
            client.write(INSERT, multicast_group(2))
        assert code(refused.value) == grpc.StatusCode.NOT_FOUND
