"""SetForwardingPipelineConfig and GetForwardingPipelineConfig, batches, and large reads."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from cais_tools.p4rt import code_pb2, p4info_pb2, p4runtime_pb2
from tests.integration.switch.client import (
    DELETE,
    INSERT,
    Client,
    Names,
    Network,
    SetConfig,
    code,
    exact,
    program,
    refused,
    text,
)

Kind = p4runtime_pb2.GetForwardingPipelineConfigRequest
Atomicity = p4runtime_pb2.WriteRequest


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2]) as network:
        yield network


@pytest.fixture
def client(network: Network) -> Iterator[Client]:
    with Client(network.switch.address) as client:
        assert client.status() == code_pb2.OK
        yield client


def rejected(client: Client, config: p4runtime_pb2.ForwardingPipelineConfig | None, action: int | None = None) -> str:
    """The text with which a config is refused as INVALID_ARGUMENT."""
    with pytest.raises(grpc.RpcError) as failed:
        client.load(config, SetConfig.VERIFY_AND_COMMIT if action is None else action)  # pyright: ignore[reportArgumentType]
    assert code(failed.value) == grpc.StatusCode.INVALID_ARGUMENT
    return text(failed.value)


def test_a_config_is_given_back_as_it_was_set(client: Client) -> None:
    config = program("counter")
    client.load(config)
    assert client.get_config().config == config
    only = client.get_config(Kind.COOKIE_ONLY).config
    assert (only.cookie.cookie, only.HasField("p4info"), only.p4_device_config) == (42, False, b"")
    assert client.get_config(Kind.P4INFO_AND_COOKIE).config.p4info == config.p4info
    device = client.get_config(Kind.DEVICE_CONFIG_AND_COOKIE).config
    assert (device.p4_device_config, device.HasField("p4info")) == (config.p4_device_config, False)
    config.ClearField("cookie")
    client.load(config)
    assert not client.get_config().config.HasField("cookie")


def test_configs_that_cannot_be_realized(client: Client) -> None:
    config = program("counter")
    client.load(config)
    assert "no config" in rejected(client, None)
    assert "no action" in rejected(client, config, SetConfig.UNSPECIFIED)
    assert "takes no config" in rejected(client, config, SetConfig.COMMIT)
    broken = p4runtime_pb2.ForwardingPipelineConfig(p4info=config.p4info)
    assert "no p4_device_config" in rejected(client, broken)
    for junk, says in (
        (b"\xff\xfe", "not even text"),
        (b"{", "no JSON"),
        (b"[]", "no compiled bmv2 program"),
        (b"{}", "no compiled bmv2 program"),
        (config.p4_device_config.replace(b'"ingress"', b'"MainControlImpl"'), "another architecture"),
    ):
        broken.p4_device_config = junk
        assert says in rejected(client, broken)
    assert client.get_config().config == config, "the old one still runs"


def test_p4info_of_another_program(client: Client) -> None:
    config = program("counter")
    config.p4info.CopyFrom(program("ternary").p4info)
    assert "no table ingress.ter" in rejected(client, config)
    config.p4info.CopyFrom(program("counter").p4info)
    config.p4info.tables[0].match_fields[0].match_type = p4info_pb2.MatchField.TERNARY
    assert "key sm.packet_length of table t_redirect is matched exact" in rejected(client, config)
    config.p4info.CopyFrom(program("counter").p4info)
    config.p4info.actions[1].preamble.name = "nothing_like_it"
    assert "no action nothing_like_it" in rejected(client, config)
    config.p4info.Clear()
    assert "the P4Info has no table t_redirect" in rejected(client, config)


def test_verify_changes_nothing(client: Client) -> None:
    client.load(program("counter"), SetConfig.VERIFY)
    assert not client.get_config().HasField("config")


def test_save_then_commit(network: Network, client: Client) -> None:
    client.load(program("loopback"))
    client.load(program("counter"), SetConfig.VERIFY_AND_SAVE)
    assert client.get_config().config == program("loopback"), "what runs"
    # Writes refer to the saved program, packets to the one that runs.
    names = Names(program("counter").p4info)
    entry = names.entry("t_redirect", exact(b"\x04"), action=names.action("port_redirect"))
    client.write(INSERT, entry)
    network.send(1, b"12345")
    assert network.receive(1) == [b"12345"]
    client.load(None, SetConfig.COMMIT)
    assert client.get_config().config == program("counter")
    network.send(1, b"12345", b"1234")
    assert network.receive(1) == [b"1234"]
    assert client.read(names.entry("t_redirect")) == [entry]
    with pytest.raises(grpc.RpcError) as failed:
        client.load(None, SetConfig.COMMIT)
    assert code(failed.value) == grpc.StatusCode.NOT_FOUND


def test_commit_clears_and_reconcile_keeps(network: Network, client: Client) -> None:
    client.load(program("counter"))
    names = Names(program("counter").p4info)
    entry = names.entry("t_redirect", exact(b"\x04"), action=names.action("port_redirect"), metadata=b"m")
    client.write(INSERT, entry)
    group = p4runtime_pb2.Entity()
    group.packet_replication_engine_entry.multicast_group_entry.multicast_group_id = 7
    client.write(INSERT, group)
    network.send(1, b"1234")
    network.receive(1)
    client.load(program("counter"), SetConfig.RECONCILE_AND_COMMIT)
    wanted = names.entry("t_redirect")
    wanted.table_entry.counter_data.SetInParent()
    [kept] = client.read(wanted)
    assert kept.table_entry.counter_data.packet_count == 1
    assert kept.table_entry.metadata == b"m"
    assert client.read(group) == [group]
    # Another program has no place for the entry: refused, and everything stays.
    assert "cannot keep a table_entry" in rejected(client, program("ternary"), SetConfig.RECONCILE_AND_COMMIT)
    assert len(client.read(names.entry("t_redirect"))) == 1
    network.send(1, b"1234")
    assert network.receive(1) == [b"1234"]
    client.load(program("counter"))
    assert client.read(names.entry("t_redirect")) == []


def test_all_or_none(client: Client) -> None:
    client.load(program("counter"))
    names = Names(program("counter").p4info)
    old = names.entry("t_redirect", exact(b"\x01"), action=names.action("port_redirect"), metadata=b"old")
    old.table_entry.counter_data.packet_count = 5
    client.write(INSERT, old)
    new = names.entry("t_redirect", exact(b"\x02"), action=names.action("port_redirect"))
    changed = p4runtime_pb2.Entity()
    changed.CopyFrom(old)
    changed.table_entry.metadata = b"new"
    changed.table_entry.counter_data.packet_count = 6
    update = p4runtime_pb2.Update
    for atomicity in (Atomicity.ROLLBACK_ON_ERROR, Atomicity.DATAPLANE_ATOMIC):
        batch = [
            update(type=INSERT, entity=new),
            update(type=update.MODIFY, entity=changed),
            update(type=DELETE, entity=old),
            update(type=INSERT, entity=new),
        ]
        found = refused(client.update, batch, atomicity=atomicity)
        assert [code for code, _ in found] == [*[code_pb2.ABORTED] * 3, code_pb2.ALREADY_EXISTS]
        wanted = names.entry("t_redirect")
        wanted.table_entry.counter_data.SetInParent()
        assert client.read(wanted) == [old]
    client.update(batch[:3], atomicity=Atomicity.DATAPLANE_ATOMIC)
    assert client.read(names.entry("t_redirect")) == [new]
    found = refused(client.update, batch)
    assert [code for code, _ in found] == [
        code_pb2.ALREADY_EXISTS,
        code_pb2.NOT_FOUND,
        code_pb2.NOT_FOUND,
        code_pb2.ALREADY_EXISTS,
    ]


def test_a_full_table_and_large_reads(client: Client) -> None:
    client.load(program("digest"))
    names = Names(program("digest").p4info)
    entries = [
        names.entry("ingress.smac", exact(number.to_bytes(2, "big").lstrip(b"\0")), action=names.action("NoAction"))
        for number in range(1, 4098)
    ]
    found = refused(client.write, INSERT, *entries)
    assert [code for code, _ in found] == [*[code_pb2.OK] * 4096, code_pb2.RESOURCE_EXHAUSTED]
    assert "is full" in found[-1][1]
    request = p4runtime_pb2.ReadRequest(device_id=client.device_id, entities=[names.entry("ingress.smac")])
    responses = list(client.stub.Read(request))
    assert len(responses) > 1
    assert [entity for response in responses for entity in response.entities] == entries[:-1]
    assert client.read(names.entry("ingress.smac", exact(b"\x05"))) == [entries[4]]
    assert client.read(names.entry("ingress.smac", exact(b"\x10\x01"))) == []


def test_entities_that_the_program_does_not_have(client: Client) -> None:
    client.load(program("counter"))
    for kind in ("counter_entry", "register_entry", "meter_entry", "digest_entry", "action_profile_member"):
        entity = p4runtime_pb2.Entity()
        message = getattr(entity, kind)
        message.SetInParent()
        assert client.read(entity) == [], f"all of no {kind}"
        setattr(message, {"action_profile_member": "action_profile_id"}.get(kind, kind.replace("entry", "id")), 5)
        with pytest.raises(grpc.RpcError) as failed:
            client.read(entity)
        assert "the P4Info has no" in text(failed.value)
        assert refused(client.write, INSERT, entity)[0][0] == code_pb2.INVALID_ARGUMENT
    extern = p4runtime_pb2.Entity()
    extern.extern_entry.SetInParent()
    assert refused(client.write, INSERT, extern)[0][0] == code_pb2.UNIMPLEMENTED
    untyped = p4runtime_pb2.Update(entity=extern)
    assert refused(client.update, [untyped])[0][0] == code_pb2.INVALID_ARGUMENT
