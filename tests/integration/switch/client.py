"""A bare P4Runtime client, and hosts on cables: the tests of the switch do without our session library."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import select
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc
import pytest

from cais_tools.links import Link
from cais_tools.links.cable import Cable
from cais_tools.p4rt import p4info_pb2, p4runtime_pb2, p4runtime_pb2_grpc
from cais_tools.p4rt.p4info import parse_p4info
from cais_tools.p4rt.status import decode_status, update_errors
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig

PROGRAMS = Path(__file__).parents[4] / "shared" / "conformance" / "p4runtime"
DATA = Path(__file__).parent / "data"
DEVICE_ID = 3
PATIENCE = 20.0

INSERT = p4runtime_pb2.Update.INSERT
MODIFY = p4runtime_pb2.Update.MODIFY
DELETE = p4runtime_pb2.Update.DELETE
SetConfig = p4runtime_pb2.SetForwardingPipelineConfigRequest


def program(name: str, folder: Path = PROGRAMS) -> p4runtime_pb2.ForwardingPipelineConfig:
    """A program of the conformance data; the test is skipped where there is none."""
    json, info = folder / f"{name}.json", folder / f"{name}.p4info.txtpb"
    if not json.exists():
        pytest.skip(f"{json} is not there")
    config = p4runtime_pb2.ForwardingPipelineConfig(
        p4info=parse_p4info(info.read_text()), p4_device_config=json.read_bytes()
    )
    config.cookie.cookie = 42
    return config


class Client:
    """One StreamChannel with an election id, and the calls that go with it."""

    def __init__(
        self, address: str, election_id: int | None = 1, *, device_id: int = DEVICE_ID, role: str = ""
    ) -> None:
        self.device_id = device_id
        self.election_id = election_id
        self.role = role
        self._channel = grpc.insecure_channel(
            address, options=(("grpc.enable_http_proxy", 0), ("grpc.max_metadata_size", 1 << 22))
        )
        self.stub = self.stub_of(self._channel)
        self._requests: queue.SimpleQueue[p4runtime_pb2.StreamMessageRequest | None] = queue.SimpleQueue()
        self._responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._call = self.stub.StreamChannel(iter(self._requests.get, None))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.arbitrate(election_id)

    @staticmethod
    def stub_of(channel: grpc.Channel) -> p4runtime_pb2_grpc.P4RuntimeStub:
        return p4runtime_pb2_grpc.P4RuntimeStub(channel)

    def _read(self) -> None:
        try:
            for response in self._call:
                self._responses.put(response)
            self._responses.put(None)
        except grpc.RpcError as error:
            self._responses.put(error)

    def arbitrate(self, election_id: int | None) -> None:
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = self.device_id
        if election_id is not None:
            request.arbitration.election_id.high = election_id >> 64
            request.arbitration.election_id.low = election_id & (2**64 - 1)
        if self.role:
            request.arbitration.role.name = self.role
        self.election_id = election_id
        self.send(request)

    def send(self, request: p4runtime_pb2.StreamMessageRequest) -> None:
        self._requests.put(request)

    def receive(self, kind: str) -> Any:
        """The next stream message, which must be of that kind. Raises the stream's error."""
        response = self._responses.get(timeout=PATIENCE)
        if isinstance(response, grpc.RpcError):
            raise response
        assert response is not None, "the stream has ended"
        assert response.WhichOneof("update") == kind, response
        return getattr(response, kind)

    def nothing_received(self) -> bool:
        return self._responses.empty()

    def ended_with(self) -> grpc.StatusCode:
        """The status of a stream that the server has ended, or is about to."""
        response = None
        while not isinstance(response, grpc.RpcError):
            response = self._responses.get(timeout=PATIENCE)
        return code(response)

    def status(self) -> int:
        """The code of the next arbitration message."""
        return self.receive("arbitration").status.code

    def _sign(self, request: Any) -> Any:
        request.device_id = self.device_id
        request.role = self.role
        if self.election_id is not None:
            request.election_id.high = self.election_id >> 64
            request.election_id.low = self.election_id & (2**64 - 1)
        return request

    def load(
        self,
        config: p4runtime_pb2.ForwardingPipelineConfig | None,
        action: p4runtime_pb2.SetForwardingPipelineConfigRequest.Action = SetConfig.VERIFY_AND_COMMIT,
    ) -> None:
        self.stub.SetForwardingPipelineConfig(self._sign(SetConfig(action=action, config=config)))

    def get_config(self, kind: int = 0) -> p4runtime_pb2.GetForwardingPipelineConfigResponse:
        request = p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=self.device_id)
        request.response_type = kind  # pyright: ignore[reportAttributeAccessIssue]
        return self.stub.GetForwardingPipelineConfig(request)

    def write(self, kind: p4runtime_pb2.Update.Type, *entities: p4runtime_pb2.Entity, atomicity: int = 0) -> None:
        self.update([p4runtime_pb2.Update(type=kind, entity=entity) for entity in entities], atomicity=atomicity)

    def update(self, updates: Sequence[p4runtime_pb2.Update], *, atomicity: int = 0) -> None:
        request = p4runtime_pb2.WriteRequest(updates=updates)
        request.atomicity = atomicity  # pyright: ignore[reportAttributeAccessIssue]
        self.stub.Write(self._sign(request))

    def read(self, *entities: p4runtime_pb2.Entity) -> list[p4runtime_pb2.Entity]:
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id, entities=entities)
        return [entity for response in self.stub.Read(request) for entity in response.entities]

    def close(self) -> None:
        self._requests.put(None)
        self._call.cancel()
        self._channel.close()
        self._reader.join(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def code(error: BaseException) -> grpc.StatusCode:
    assert isinstance(error, grpc.RpcError)
    return error.code()  # pyright: ignore[reportAttributeAccessIssue]


def text(error: BaseException) -> str:
    return error.details()  # pyright: ignore[reportAttributeAccessIssue]


def verdicts(error: BaseException) -> list[p4runtime_pb2.Error]:
    """The p4.v1.Error of each update, from the trailer."""
    trailers = error.trailing_metadata()  # pyright: ignore[reportAttributeAccessIssue]
    status = decode_status(trailers)
    assert status is not None, "no details"
    return list(update_errors(status))


def refused(call: Callable[..., object], *arguments: Any, **options: Any) -> list[tuple[int, str]]:
    """(code, message) of each update of a write that must fail."""
    with pytest.raises(grpc.RpcError) as failed:
        call(*arguments, **options)
    assert code(failed.value) == grpc.StatusCode.UNKNOWN, text(failed.value)
    return [(verdict.canonical_code, verdict.message) for verdict in verdicts(failed.value)]


class Names:
    """Entities by the names of a P4Info."""

    def __init__(self, p4info: p4info_pb2.P4Info) -> None:
        self._p4info = p4info

    def id(self, name: str) -> int:
        info = self._p4info
        for each in (
            *info.tables,
            *info.actions,
            *info.action_profiles,
            *info.counters,
            *info.meters,
            *info.registers,
            *info.digests,
            *info.value_sets,
        ):
            if each.preamble.name == name:
                return each.preamble.id
        raise KeyError(name)

    def action(self, name: str, *values: bytes) -> p4runtime_pb2.Action:
        action = p4runtime_pb2.Action(action_id=self.id(name))
        for number, value in enumerate(values, 1):
            action.params.add(param_id=number, value=value)
        return action

    def entry(
        self, table: str, *match: p4runtime_pb2.FieldMatch, action: p4runtime_pb2.Action | None = None, **fields: Any
    ) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entity.table_entry.CopyFrom(p4runtime_pb2.TableEntry(table_id=self.id(table), match=match, **fields))
        if action is not None:
            entity.table_entry.action.action.CopyFrom(action)
        return entity


def exact(value: bytes, field_id: int = 1) -> p4runtime_pb2.FieldMatch:
    return p4runtime_pb2.FieldMatch(field_id=field_id, exact=p4runtime_pb2.FieldMatch.Exact(value=value))


def multicast_group(ident: int, *replicas: tuple[int, int]) -> p4runtime_pb2.Entity:
    """(port, instance) of each replica."""
    entity = p4runtime_pb2.Entity()
    entry = entity.packet_replication_engine_entry.multicast_group_entry
    entry.multicast_group_id = ident
    for port, instance in replicas:
        entry.replicas.add(port=bytes([port]), instance=instance)
    return entity


def clone_session(ident: int, *replicas: tuple[int, int], length: int = 0) -> p4runtime_pb2.Entity:
    """(port, instance) of each replica; `length` truncates clones."""
    entity = p4runtime_pb2.Entity()
    entry = entity.packet_replication_engine_entry.clone_session_entry
    entry.session_id = ident
    entry.packet_length_bytes = length
    for port, instance in replicas:
        entry.replicas.add(egress_port=port, instance=instance)
    return entity


class Wires:
    """The hosts' ends of a switch's ports, and what tests do with them."""

    def __init__(self, hosts: Mapping[int, Link]) -> None:
        self.hosts = hosts

    def send(self, port: int, *frames: bytes) -> None:
        assert self.hosts[port].send(frames) == len(frames)

    def receive(self, port: int, count: int = 1) -> list[bytes]:
        """The next `count` frames that leave by a port."""
        host = self.hosts[port]
        frames: list[bytes] = []
        end = time.monotonic() + PATIENCE
        while len(frames) < count:
            ready, _, _ = select.select([host], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"only {len(frames)} of {count} frames left by port {port}"
            frames += host.recv()
        assert len(frames) == count, frames
        return frames

    def receive_any(self, ports: Sequence[int], count: int) -> list[int]:
        """How many of the next `count` frames leave by each of these ports."""
        found = dict.fromkeys(ports, 0)
        end = time.monotonic() + PATIENCE
        while sum(found.values()) < count:
            ready, _, _ = select.select([self.hosts[port] for port in ports], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"only {found} of {count} frames came"
            for port in ports:
                found[port] += len(self.hosts[port].recv())
        return [found[port] for port in ports]

    def silent(self, *ports: int) -> bool:
        """Whether nothing waits at those ports; meaningful once a later packet has come through."""
        return not any(self.hosts[port].recv() for port in ports)


class Network(Wires):
    """A switch with hosts on cables at its ports."""

    def __init__(self, ports: Sequence[int], **config: Any) -> None:
        self.cables = {number: Cable() for number in ports}
        super().__init__(self.cables)
        links = {number: f"cable:0:{host.local_port}" for number, host in self.cables.items()}
        self.switch = EmbeddedSwitch(
            SwitchConfig(grpc_address="127.0.0.1:0", ports=links, device_id=DEVICE_ID, **config)
        )

    def start(self) -> None:
        self.switch.start()
        for number, host in self.cables.items():
            host.connect(int(self.switch.ports[number].split(":")[1]))

    def restart(self) -> None:
        """Another switch at the same address, with nothing loaded."""
        config = dataclasses.replace(self.switch.config, grpc_address=self.switch.address)
        self.switch.stop()
        self.switch = EmbeddedSwitch(config)
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.switch.stop()
        for host in self.cables.values():
            host.close()


@contextlib.contextmanager
def primary(network: Network, name: str, folder: Path = PROGRAMS) -> Generator[Client]:
    """A primary client with a program loaded."""
    with Client(network.switch.address) as client:
        assert client.status() == 0
        client.load(program(name, folder))
        yield client
