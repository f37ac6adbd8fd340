"""Damaged P4Runtime messages for a running switch: it says what is wrong with them, and goes on."""

from __future__ import annotations

import random
import select
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import grpc

from cais_tools.links import Link
from cais_tools.p4rt import code_pb2, p4info_pb2, p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.p4rt.status import decode_status, update_errors
from cais_tools.session.pipeline import Pipeline
from tests.conformance.fuzz.messages import damaged_message, entities
from tests.conformance.fuzz.mutate import damaged_json
from tests.conformance.fuzz.subjects import P4RUNTIME
from tests.conformance.fuzz.values import ValuePool
from tests.conformance.fuzz.watch import Crash
from tests.integration.switch.client import DEVICE_ID, Client, Network, SetConfig

__all__ = ["PROGRAMS", "check_alive", "crash_grpc", "read_program"]

PROGRAMS = (
    "action_profile",
    "clone",
    "counter",
    "digest",
    "meter",
    "multicast",
    "optional",
    "packet_io",
    "simple_router",
    "ternary",
)
_ECHO = "loopback"
"""Sends every packet back, so that it shows whether packets are forwarded."""
_SERVICE = "/p4.v1.P4Runtime/"
_TIMEOUT = 20.0
_HIGHEST = (1 << 128) - (1 << 32)
"""Election ids from here on are higher than those of damaged messages, and each than those before."""
_FRAME = bytes(range(64))
_OURS = (code_pb2.INTERNAL, code_pb2.UNKNOWN)
"""Codes that say that the switch did not know what happened."""
_UNKNOWN = grpc.StatusCode.UNKNOWN
_FATAL = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def read_program(name: str) -> Pipeline:
    info = P4RUNTIME / f"{name}.p4info.txtpb"
    return Pipeline((P4RUNTIME / f"{name}.json").read_bytes(), P4InfoIndex.parse(info.read_bytes(), str(info)), name)


def crash_grpc(names: Sequence[str], count: int, seed: int, profile: Literal["spec", "bmv2"] = "spec") -> list[Crash]:
    """`count` messages to a switch for each of some programs; what should not have been answered.

    Raises AssertionError where the switch no longer answers or forwards.
    """
    crashes: list[Crash] = []
    with Network([1, 2], profile=profile) as network:
        for number, name in enumerate(names):
            with _Attack(network, _HIGHEST + 2 * number, random.Random(f"{seed} {name}"), read_program(name)) as attack:
                crashes += attack.run(count)
            check_alive(network, _HIGHEST + 2 * number + 1)
    return crashes


def check_alive(network: Network, election_id: int) -> None:
    """The switch answers, takes a program, and forwards; none of its threads has met an exception."""
    with Client(network.switch.address, election_id) as client:
        assert client.status() == code_pb2.OK
        client.load(read_program(_ECHO).message())
        network.send(1, _FRAME)
        assert _arrives(network.hosts[1], _FRAME), "no packets are forwarded"
    assert network.switch.device.failures == 0, "packets have raised exceptions"


def _arrives(host: Link, frame: bytes) -> bool:
    """Wait for a frame, behind whatever else is still under way."""
    end = time.monotonic() + _TIMEOUT
    while select.select([host], [], [], max(0.0, end - time.monotonic()))[0]:
        if frame in host.recv():
            return True
    return False


class _Attack:
    """Raw bytes in, answers judged."""

    def __init__(self, network: Network, election_id: int, rng: random.Random, pipeline: Pipeline) -> None:
        self._client = Client(network.switch.address, election_id)
        self._channel = grpc.insecure_channel(network.switch.address, options=(("grpc.enable_http_proxy", 0),))
        self._network = network
        # bmv2 itself says UNKNOWN for whatever its target refuses.
        self._ours = _OURS if network.switch.config.profile == "spec" else _OURS[:1]
        self._election = election_id
        self._rng = rng
        self._pipeline = pipeline
        self._entities = entities(pipeline, ValuePool(pipeline.config, rng), rng)

    def __enter__(self) -> Self:
        assert self._client.status() == code_pb2.OK
        self._client.load(self._pipeline.message())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()
        self._client.close()

    def run(self, count: int) -> Iterator[Crash]:
        for _ in range(count):
            if self._rng.random() < 0.04:
                yield from self._unary("SetForwardingPipelineConfig", self._damaged_config())
                # It may have been taken: the next messages are for it.
                for _ in range(5):
                    yield from self._message()
                self._client.load(self._pipeline.message())
            else:
                yield from self._message()

    def _message(self) -> Iterator[Crash]:
        kind = self._rng.choices(("Write", "Read", "Stream"), (6, 3, 1))[0]
        if kind == "Write":
            yield from self._unary("Write", damaged_message(self._write(), self._rng))
        elif kind == "Read":
            yield from self._read(damaged_message(self._wanted(), self._rng))
        else:
            yield from self._stream()
        self._network.send(1, self._rng.randbytes(self._rng.randrange(1, 100)))

    # --- requests ---

    def _write(self) -> p4runtime_pb2.WriteRequest:
        request = p4runtime_pb2.WriteRequest(device_id=DEVICE_ID)
        request.election_id.high, request.election_id.low = divmod(self._election, 1 << 64)
        for _ in range(self._rng.randrange(1, 4)):
            kind = self._rng.choice((1, 1, 2, 3))
            request.updates.add(type=kind, entity=self._rng.choice(self._entities))  # pyright: ignore[reportArgumentType]
        return request

    def _wanted(self) -> p4runtime_pb2.ReadRequest:
        chosen = self._rng.choices(self._entities, k=self._rng.randrange(1, 3))
        return p4runtime_pb2.ReadRequest(device_id=DEVICE_ID, entities=chosen)

    def _damaged_config(self) -> bytes:
        request = SetConfig(device_id=DEVICE_ID, action=SetConfig.VERIFY_AND_COMMIT)
        request.election_id.high, request.election_id.low = divmod(self._election, 1 << 64)
        request.config.CopyFrom(self._pipeline.message())
        if self._rng.random() < 0.5:
            damaged = damaged_json(self._pipeline.config.decode(), self._rng)
            request.config.p4_device_config = damaged.encode()
            return request.SerializeToString()
        return damaged_message(request, self._rng)

    def _stream_message(self) -> p4runtime_pb2.StreamMessageRequest:
        request = p4runtime_pb2.StreamMessageRequest()
        kind = self._rng.choice(("arbitration", "packet", "digest_ack", "other"))
        if kind == "arbitration":
            request.arbitration.device_id = DEVICE_ID
            request.arbitration.election_id.low = self._rng.randrange(1 << 40)
            request.arbitration.role.name = "other"  # the default role's primary stays who it is
        elif kind == "packet":
            request.packet.payload = self._rng.randbytes(30)
            request.packet.metadata.add(metadata_id=1, value=b"\1")
        elif kind == "digest_ack":
            request.digest_ack.digest_id = self._rng.choice([1, *(each.preamble.id for each in self._digests())])
        else:
            request.other.type_url = "type.googleapis.com/p4.v1.Entity"
        return request

    def _digests(self) -> Iterable[p4info_pb2.Digest]:
        return self._pipeline.p4info.digests

    # --- calls ---

    def _unary(self, method: str, data: bytes) -> Iterator[Crash]:
        call = self._channel.unary_unary(f"{_SERVICE}{method}", _same, _same)
        try:
            call(data, timeout=_TIMEOUT)
        except grpc.RpcError as error:
            yield from self._judge(method, data, error)

    def _read(self, data: bytes) -> Iterator[Crash]:
        call = self._channel.unary_stream(f"{_SERVICE}Read", _same, _same)
        try:
            for _ in call(data, timeout=_TIMEOUT):
                pass
        except grpc.RpcError as error:
            yield from self._judge("Read", data, error)

    def _stream(self) -> Iterator[Crash]:
        """Some messages on the primary's stream, and some on one of their own, which may be ended for them."""
        data = [damaged_message(self._stream_message(), self._rng) for _ in range(4)]
        call = self._channel.stream_stream(f"{_SERVICE}StreamChannel", _same, _same)
        try:
            for response in call(iter(data), timeout=_TIMEOUT):
                message = p4runtime_pb2.StreamMessageResponse.FromString(response)
                if message.error.canonical_code in self._ours:
                    yield Crash(f"stream {[each.hex() for each in data]}", message.error.message)
        except grpc.RpcError as error:
            yield from self._judge("StreamChannel", b"".join(data), error)
        request = self._stream_message()
        if request.WhichOneof("update") != "arbitration":
            self._client.send(request)

    def _judge(self, method: str, data: bytes, error: Any) -> Iterator[Crash]:
        """A code of ours is a crash. Write and Read say UNKNOWN for a batch, with a code for each of its elements."""
        what = f"{method} {data.hex()[:2000]} of {self._pipeline.name}"
        details = list(update_errors(decode_status(error.trailing_metadata())))
        if error.code() in _FATAL or (error.code() is _UNKNOWN and not details and code_pb2.UNKNOWN in self._ours):
            yield Crash(what, f"{error.code().name}: {error.details()}")
        for each in details:
            if each.canonical_code in self._ours:
                yield Crash(what, each.message)


def _same(data: bytes) -> bytes:
    return data
