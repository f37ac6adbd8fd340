"""bmv2's packets over gRPC (`--dp-grpc-server-addr`): quicker to set up than interfaces, and in order."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.conformance.targets import DEVICE_ID, free_tcp_port, wait_until_it_answers

__all__ = ["Bmv2Ended", "Dataplane", "Sent", "bmv2"]

_TYPES = descriptor_pb2.FieldDescriptorProto
_FIELDS = (
    ("id", _TYPES.TYPE_UINT64),
    ("device_id", _TYPES.TYPE_UINT64),
    ("port", _TYPES.TYPE_UINT32),
    ("packet", _TYPES.TYPE_BYTES),
)
_PATIENCE = 10.0
_SETTLED = 0.1


class Sent(NamedTuple):
    """A frame that left: because of which packet, by which port."""

    ident: int
    port: int
    frame: bytes


class Bmv2Ended(Exception):
    """The process is gone: an assertion of its own, or a crash."""


def _message_class() -> Any:
    """p4.bm.PacketStreamRequest; the response has the same fields."""
    file = descriptor_pb2.FileDescriptorProto(name="dataplane.proto", package="p4.bm", syntax="proto3")
    message = file.message_type.add(name="Packet")
    for number, (name, kind) in enumerate(_FIELDS, 1):
        message.field.add(name=name, number=number, type=kind, label=_TYPES.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p4.bm.Packet"))


_Packet = _message_class()


class Dataplane:
    """All ports of a bmv2."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address, options=(("grpc.enable_http_proxy", 0),))
        grpc.channel_ready_future(self._channel).result(_PATIENCE)
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._frames: queue.SimpleQueue[Sent | None] = queue.SimpleQueue()
        self._call = self._open()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _open(self) -> Any:
        """The stream. bmv2 refuses it for a moment after its first program is loaded."""
        method: Callable[..., Any] = self._channel.stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream", _Packet.SerializeToString, _Packet.FromString
        )
        deadline = time.monotonic() + _PATIENCE
        while True:
            call = method(iter(self._requests.get, None))
            time.sleep(_SETTLED)
            if call.is_active():
                return call
            self._requests.put(None)  # ends the thread that waits for requests of the stream that is gone
            if time.monotonic() > deadline:
                raise Bmv2Ended

    def _read(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            for response in self._call:
                self._frames.put(Sent(response.id, response.port, response.packet))
        self._frames.put(None)

    def send(self, ident: int, port: int, frame: bytes) -> None:
        """`ident` (not 0) comes back with whatever leaves because of this frame."""
        self._requests.put(_Packet(id=ident, device_id=DEVICE_ID, port=port, packet=frame))

    def receive(self, count: int, timeout: float) -> list[Sent]:
        """The next `count` frames, fewer where they do not come in time. Raises Bmv2Ended."""
        frames: list[Sent] = []
        deadline = time.monotonic() + timeout
        while len(frames) < count:
            try:
                frame = self._frames.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return frames
            if frame is None:
                raise Bmv2Ended
            frames.append(frame)
        return frames

    def close(self) -> None:
        self._requests.put(None)
        self._call.cancel()
        self._channel.close()
        self._reader.join(_PATIENCE)


@contextlib.contextmanager
def bmv2(log: Path) -> Generator[tuple[str, str]]:
    """A simple_switch_grpc without a program: its P4Runtime address, and that of its ports.

    The ports answer once a program is loaded.
    """
    control, data = (f"127.0.0.1:{port}" for port in _free_ports())
    command = ["simple_switch_grpc", "--no-p4", "--device-id", str(DEVICE_ID), "--", "--priority-queues", "8"]
    command += ["--grpc-server-addr", control, "--dp-grpc-server-addr", data]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            wait_until_it_answers(control, process)
            yield control, data
        finally:
            process.kill()
            process.wait()


def _free_ports() -> tuple[int, int]:
    """Two different ones: the kernel may well offer the same again."""
    first = second = free_tcp_port()
    while second == first:
        second = free_tcp_port()
    return first, second
