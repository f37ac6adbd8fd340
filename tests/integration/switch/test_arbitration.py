"""Arbitration over gRPC, and what a server without a program answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import grpc
import pytest

from cais_tools.errors import Unreachable, UsageError
from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from cais_tools.switch.server.control import ControlPlane
from tests.integration.switch.client import DEVICE_ID, INSERT, Client, SetConfig, code, text


@pytest.fixture
def address() -> Iterator[str]:
    with EmbeddedSwitch(SwitchConfig(grpc_address="127.0.0.1:0", device_id=DEVICE_ID)) as switch:
        yield switch.address


def write_code(client: Client) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as failed:
        client.write(INSERT, p4runtime_pb2.Entity())
    return code(failed.value)


def test_primary_and_backup_and_who_may_write(address: str) -> None:
    with Client(address, 5) as first:
        assert first.status() == code_pb2.OK
        with Client(address, 9) as second:
            assert second.status() == code_pb2.OK
            update = first.receive("arbitration")
            assert update.status.code == code_pb2.ALREADY_EXISTS
            assert update.election_id.low == 9
            assert update.device_id == DEVICE_ID
            assert write_code(first) == grpc.StatusCode.PERMISSION_DENIED
            # The primary is let through: it fails for another reason.
            assert write_code(second) == grpc.StatusCode.FAILED_PRECONDITION
        assert first.status() == code_pb2.NOT_FOUND
        assert write_code(first) == grpc.StatusCode.PERMISSION_DENIED
        first.arbitrate(9)
        assert first.status() == code_pb2.OK
        assert write_code(first) == grpc.StatusCode.FAILED_PRECONDITION


def test_the_same_election_id_twice(address: str) -> None:
    with Client(address, 5) as first:
        assert first.status() == code_pb2.OK
        with Client(address, 5) as second:
            assert second.ended_with() == grpc.StatusCode.INVALID_ARGUMENT
        assert first.nothing_received()


def test_a_wrong_device_id(address: str) -> None:
    with Client(address, 5, device_id=4) as client:
        assert client.ended_with() == grpc.StatusCode.NOT_FOUND
        for call in (
            lambda: client.write(INSERT, p4runtime_pb2.Entity()),
            lambda: client.read(p4runtime_pb2.Entity()),
            lambda: client.load(p4runtime_pb2.ForwardingPipelineConfig()),
            client.get_config,
        ):
            with pytest.raises(grpc.RpcError) as failed:
                call()
            assert code(failed.value) == grpc.StatusCode.NOT_FOUND
            assert f"this is device {DEVICE_ID}" in text(failed.value)


def test_roles_have_primaries_of_their_own(address: str) -> None:
    with Client(address, 5) as everything, Client(address, 5, role="stats") as stats:
        assert everything.status() == code_pb2.OK
        update = stats.receive("arbitration")
        assert (update.status.code, update.role.name) == (code_pb2.OK, "stats")
        assert write_code(stats) == grpc.StatusCode.FAILED_PRECONDITION
        stats.role = "unknown"
        assert write_code(stats) == grpc.StatusCode.NOT_FOUND


def test_more_streams_than_the_server_holds(address: str) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(address, number)) for number in range(1, 17)]
        for client in clients:
            client.receive("arbitration")
        extra = stack.enter_context(Client(address, 99))
        assert extra.ended_with() == grpc.StatusCode.RESOURCE_EXHAUSTED
        # Calls still get through.
        assert clients[0].get_config() == p4runtime_pb2.GetForwardingPipelineConfigResponse()
        clients.pop().close()
        with contextlib.suppress(grpc.RpcError):
            stack.enter_context(Client(address, 100)).receive("arbitration")


def test_without_a_program(address: str) -> None:
    with Client(address) as client:
        assert client.status() == code_pb2.OK
        assert not client.get_config().HasField("config")
        with pytest.raises(grpc.RpcError) as failed:
            client.read(p4runtime_pb2.Entity())
        assert code(failed.value) == grpc.StatusCode.FAILED_PRECONDITION
        with pytest.raises(grpc.RpcError) as failed:
            client.load(None, SetConfig.COMMIT)
        assert code(failed.value) == grpc.StatusCode.NOT_FOUND
        client.send(p4runtime_pb2.StreamMessageRequest(packet=p4runtime_pb2.PacketOut(payload=b"lost")))
        error = client.receive("error")
        assert error.canonical_code == code_pb2.FAILED_PRECONDITION
        assert error.packet_out.packet_out.payload == b"lost"


def test_stream_messages_of_a_backup(address: str) -> None:
    with Client(address, 5) as first, Client(address, 4) as second:
        assert first.status() == code_pb2.OK
        while second.status() != code_pb2.ALREADY_EXISTS:
            pass
        second.send(p4runtime_pb2.StreamMessageRequest(packet=p4runtime_pb2.PacketOut(payload=b"no")))
        assert second.receive("error").canonical_code == code_pb2.PERMISSION_DENIED
        second.send(p4runtime_pb2.StreamMessageRequest(digest_ack=p4runtime_pb2.DigestListAck(digest_id=1)))
        error = second.receive("error")
        assert error.canonical_code == code_pb2.PERMISSION_DENIED
        assert error.digest_list_ack.digest_list_ack.digest_id == 1
        second.send(p4runtime_pb2.StreamMessageRequest())
        assert second.receive("error").canonical_code == code_pb2.UNIMPLEMENTED


def test_capabilities(address: str) -> None:
    with Client(address) as client:
        assert client.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest()).p4runtime_api_version == "1.4.1"


def test_the_switch_that_stops_ends_its_streams() -> None:
    with EmbeddedSwitch(SwitchConfig(grpc_address="127.0.0.1:0", device_id=DEVICE_ID)) as switch:
        client = Client(switch.address)
        assert client.status() == code_pb2.OK
    assert client.ended_with() == grpc.StatusCode.UNAVAILABLE
    client.close()


def test_a_role_with_a_config_is_refused(address: str) -> None:
    with Client(address) as client:
        assert client.status() == code_pb2.OK
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id, request.arbitration.election_id.low = DEVICE_ID, 1
        request.arbitration.role.config.type_url = "example.org/filter"
        client.send(request)
        assert client.ended_with() == grpc.StatusCode.INVALID_ARGUMENT


def test_a_port_that_is_taken(address: str) -> None:
    with pytest.raises(Unreachable, match=f"cannot listen at {address}") as refused:
        EmbeddedSwitch(SwitchConfig(grpc_address=address)).start()
    assert "--grpc" in (refused.value.hint or "")


def test_the_network_is_not_let_in_without_permission() -> None:
    with pytest.raises(UsageError, match="without TLS"):
        EmbeddedSwitch(SwitchConfig(grpc_address="0.0.0.0:0")).start()
    with EmbeddedSwitch(SwitchConfig(grpc_address="0.0.0.0:0", insecure=True)) as switch:
        assert not switch.address.endswith(":0")


def test_bytes_that_are_no_grpc_do_not_end_the_server(address: str) -> None:
    import socket

    host, _, port = address.rpartition(":")
    for junk in (b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) * 50):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(junk)
    with Client(address) as client:
        assert client.status() == code_pb2.OK
        # A message that is no message.
        raw = client._channel.unary_unary("/p4.v1.P4Runtime/Write", bytes, bytes)
        with pytest.raises(grpc.RpcError):
            raw(b"\xff\xff\xff\xff")
        assert not client.get_config().HasField("config")


def test_a_fault_of_ours_is_an_internal_error_and_not_the_end(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    with Client(address) as client:
        assert client.status() == code_pb2.OK
        with monkeypatch.context() as patch:
            for name in ("get_config", "read", "write", "set_config", "packet_out"):
                patch.setattr(ControlPlane, name, fail)
            for call in (
                client.get_config,
                lambda: client.read(p4runtime_pb2.Entity()),
                lambda: client.write(INSERT, p4runtime_pb2.Entity()),
                lambda: client.load(p4runtime_pb2.ForwardingPipelineConfig()),
            ):
                with pytest.raises(grpc.RpcError) as failed:
                    call()
                assert code(failed.value) == grpc.StatusCode.INTERNAL
                assert text(failed.value) == "ZeroDivisionError: by zero"
            client.send(p4runtime_pb2.StreamMessageRequest(packet=p4runtime_pb2.PacketOut()))
            assert client.receive("error").canonical_code == code_pb2.INTERNAL
        assert client.get_config() == p4runtime_pb2.GetForwardingPipelineConfigResponse()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"ports": {0: "cable:0:9001"}}, "port 0 does not exist"),
        ({"ports": {511: "cable:0:9001"}}, "port 511 does not exist"),
        ({"ports": {510: "cable:0:9001"}}, "is the CPU port"),
        ({"device_id": 0}, "ids start at 1"),
        ({"device_id": -1, "profile": "bmv2"}, "ids start at 0"),
        ({"queue_depth": 0}, "holds nothing"),
        ({"cpu_port": 600}, "CPU port 600"),
        ({"grpc_address": "127.0.0.1"}, "cannot listen"),
    ],
)
def test_a_config_that_cannot_be(config: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        EmbeddedSwitch(SwitchConfig(**config)).start()  # pyright: ignore[reportArgumentType]


def test_a_start_that_fails_leaves_nothing_open(address: str) -> None:
    # The second switch gets its cable, then fails on the address: the cable is free again.
    switch = EmbeddedSwitch(SwitchConfig(grpc_address=address, ports={1: "cable:0:9"}))
    with pytest.raises(Unreachable):
        switch.start()
    assert switch.ports == {}
