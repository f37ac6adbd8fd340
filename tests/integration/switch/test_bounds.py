"""What clients may take of the server is bounded, and nothing that they send ends it."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Generator

import grpc
import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server import Limits
from tests.integration.switch.client import (
    DATA,
    DEVICE_ID,
    INSERT,
    PATIENCE,
    Client,
    Network,
    SetConfig,
    code,
    primary,
    program,
    text,
)

_SERVICE = "/p4.v1.P4Runtime/"


@contextlib.contextmanager
def limited(**limits: int) -> Generator[str]:
    with Network([1], limits=Limits(**limits)) as network:
        yield network.switch.address


def is_served(address: str) -> bool:
    """Whether a client is let in, once the server has noticed that the others are gone."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with Client(address) as client, contextlib.suppress(grpc.RpcError):
            return client.status() == code_pb2.OK
    return False


def test_connections() -> None:
    with limited(connections=3) as address:
        host, _, port = address.rpartition(":")
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
            extra = stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
            # Those that are served get HTTP/2 settings; this one is closed.
            with contextlib.suppress(ConnectionResetError):
                assert extra.recv(1) == b""
        assert is_served(address)


def test_a_connection_that_says_nothing() -> None:
    with limited(handshake_ms=300) as address:
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as silent:
            while silent.recv(4096):
                pass


def test_streams() -> None:
    with limited(streams=2) as address, contextlib.ExitStack() as stack:
        for number in (1, 2):
            stack.enter_context(Client(address, number)).receive("arbitration")
        extra = stack.enter_context(Client(address, 3))
        assert extra.ended_with() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert not extra.get_config().HasField("config")


def test_calls_at_the_same_time() -> None:
    with Network([1], limits=Limits(streams=1, calls=2, subscriptions=0)) as network:
        address = network.switch.address
        busy = threading.Barrier(3)
        release = threading.Event()

        def blocked(_: object) -> None:
            busy.wait(PATIENCE)
            release.wait(PATIENCE)

        with Client(address) as client, pytest.MonkeyPatch.context() as patch:
            assert client.status() == code_pb2.OK
            patch.setattr("cais_tools.switch.server.control.ControlPlane.get_config", lambda _, r: blocked(r))
            waiting = [
                client.stub.GetForwardingPipelineConfig.future(  # pyright: ignore[reportFunctionMemberAccess]
                    p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=DEVICE_ID)
                )
                for _ in range(2)
            ]
            busy.wait(PATIENCE)
            with pytest.raises(grpc.RpcError) as refused:
                client.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest())
            assert code(refused.value) == grpc.StatusCode.RESOURCE_EXHAUSTED
            release.set()
            for call in waiting:
                call.exception()
        assert is_served(address)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One of HTTP/2 (RFC 9113, section 4.1)."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(4, 1, 0)


def call_without_a_request(stream: int) -> bytes:
    """The HEADERS of a Write; DATA never comes. All fields are literals (RFC 7541, section 6.2.2)."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": _SERVICE + "Write",
        ":authority": "switch",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    block = b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in field) for field in fields.items())
    return frame(1, 4, stream, block)


def test_calls_whose_request_never_comes() -> None:
    with limited(streams=2, calls=2, stalled_ms=400) as address:
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as idle:
            idle.sendall(_HELLO)
            idle.sendall(b"".join(call_without_a_request(2 * number + 1) for number in range(10)))
            assert is_served(address)


def test_connections_that_call_nothing() -> None:
    with limited(connections=2, idle_ms=300) as address, contextlib.ExitStack() as stack:
        host, _, port = address.rpartition(":")
        for _ in range(2):
            idle = stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
            idle.sendall(_HELLO)
        assert is_served(address)


def test_clients_that_have_vanished() -> None:
    """Their machine is gone: the connection is open, but nobody answers."""
    with limited(connections=1, silent_ms=1000) as address, contextlib.ExitStack() as stack:
        host, _, port = address.rpartition(":")
        gone = stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
        gone.sendall(_HELLO + call_without_a_request(1))
        assert is_served(address)


def test_a_call_that_ends_without_a_request() -> None:
    with Network([1]) as network, Client(network.switch.address) as client:
        write = client._channel.stream_unary(_SERVICE + "Write", bytes, bytes)
        with pytest.raises(grpc.RpcError) as refused:
            write(iter(()))
        assert code(refused.value) == grpc.StatusCode.INVALID_ARGUMENT
        assert "without a request" in text(refused.value)


def test_messages() -> None:
    with limited(message_bytes=100_000) as address, Client(address) as client:
        assert client.status() == code_pb2.OK
        config = program("control", DATA)
        client.load(config)
        config.p4_device_config += b" " * 100_000
        with pytest.raises(grpc.RpcError) as refused:
            client.load(config)
        assert code(refused.value) == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.get_config().HasField("config")


def test_packet_outs() -> None:
    with Network([1], limits=Limits(packet_bytes=100)) as network, primary(network, "control", DATA) as client:

        def send(payload: bytes) -> None:
            # egress_port 1 and padding
            packet = p4runtime_pb2.PacketOut(payload=payload)
            packet.metadata.add(metadata_id=1, value=b"\x01")
            packet.metadata.add(metadata_id=2, value=b"\x00")
            client.send(p4runtime_pb2.StreamMessageRequest(packet=packet))

        send(b"x" * 101)
        error = client.receive("error")
        assert error.canonical_code == code_pb2.RESOURCE_EXHAUSTED
        assert "101 bytes; the most is 100" in error.message
        send(b"x" * 100)
        assert network.receive(1) == [b"x" * 100]


def test_bytes_that_are_no_message() -> None:
    """Random bytes to every RPC, and requests that were damaged: an error each time, or nothing, and still there."""
    draw = random.Random(5)
    config = program("control", DATA)
    update = p4runtime_pb2.Update(type=INSERT, entity={"table_entry": {"table_id": 1}})
    known = {
        "Write": p4runtime_pb2.WriteRequest(device_id=DEVICE_ID, election_id={"low": 1}, updates=[update]),
        "Read": p4runtime_pb2.ReadRequest(device_id=DEVICE_ID, entities=[{"table_entry": {}}]),
        "SetForwardingPipelineConfig": SetConfig(
            device_id=DEVICE_ID, election_id={"low": 1}, action=SetConfig.VERIFY_AND_COMMIT, config=config
        ),
        "GetForwardingPipelineConfig": p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=DEVICE_ID),
        "Capabilities": p4runtime_pb2.CapabilitiesRequest(),
    }
    with Network([1]) as network, Client(network.switch.address) as client:
        assert client.status() == code_pb2.OK
        client.load(config)
        channel = client._channel
        for _ in range(60):
            for name, message in known.items():
                data = bytearray(message.SerializeToString() if draw.random() < 0.7 else draw.randbytes(40))
                for _ in range(draw.randint(1, 4)):
                    if data:
                        data[draw.randrange(len(data))] = draw.randrange(256)
                with contextlib.suppress(grpc.RpcError):
                    if name == "Read":
                        list(channel.unary_stream(_SERVICE + name, bytes, bytes)(bytes(data)))
                    else:
                        channel.unary_unary(_SERVICE + name, bytes, bytes)(bytes(data))
        streams = channel.stream_stream(_SERVICE + "StreamChannel", bytes, bytes)
        for _ in range(30):
            with contextlib.suppress(grpc.RpcError):
                list(streams(iter([draw.randbytes(draw.randint(0, 60)) for _ in range(3)])))
        client.load(config)
        assert client.get_config().config == config


def test_a_request_with_everything_wrong_says_so() -> None:
    with Network([1]) as network, Client(network.switch.address) as client:
        assert client.status() == code_pb2.OK
        config = program("control", DATA)
        config.p4_device_config = b"[" * 100_000
        with pytest.raises(grpc.RpcError) as refused:
            client.load(config)
        assert code(refused.value) == grpc.StatusCode.INVALID_ARGUMENT, text(refused.value)
