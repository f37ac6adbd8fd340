"""A small P4Runtime server that can be made to misbehave. Stores what is written, knows no packets."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc

from cais_tools.p4rt import code_pb2, p4runtime_pb2, p4runtime_pb2_grpc
from cais_tools.p4rt.status import DETAILS_KEY, batch_status

Entity = p4runtime_pb2.Entity


@dataclass
class Behaviour:
    """How the fake behaves.

    `bmv2`: its deviations. `details`: whether failing batches carry one error for each update. `ports`: that exist
    (None: all). `refuse`: tables (by last name) whose entries are refused; `refuse_match`: entries with this exact
    value in a key are. `mute`: the stream answers nothing. `clings`: the stream does not end when the client has
    nothing more to say.
    """

    bmv2: bool = False
    details: bool = True
    ports: frozenset[int] | None = None
    refuse: frozenset[str] = frozenset()
    refuse_match: bytes | None = None
    mute: bool = False
    clings: bool = False
    device_id: int = 0
    checks_device_late: bool = False
    """A wrong device id shows only when a program is loaded, as on bmv2."""
    lost_write: int = 0
    """How many Writes from now on one (and with `stays_lost` all after it) is carried out but not answered."""
    stays_lost: bool = False
    finds_nothing: bool = False
    """A Read ends with NOT_FOUND at the first thing that is not there."""


@dataclass
class _Client:
    out: queue.SimpleQueue[p4runtime_pb2.StreamMessageResponse | None] = field(default_factory=queue.SimpleQueue)
    election_id: int | None = None


class FakeSwitch(p4runtime_pb2_grpc.P4RuntimeServicer):
    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self.config: p4runtime_pb2.ForwardingPipelineConfig | None = None
        self.entities: dict[Any, Entity] = {}
        self.counters: dict[tuple[int, int], tuple[int, int]] = {}
        self.hits: dict[Any, tuple[int, int]] = {}
        self.writes: list[p4runtime_pb2.WriteRequest] = []
        self.packets_out: list[bytes] = []
        self.acks: list[int] = []
        self._lock = threading.RLock()
        self._clients: list[_Client] = []
        self._highest: int | None = None
        self._server: grpc.Server | None = None
        self.port = 0

    # -- life

    def start(self, port: int = 0) -> str:
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=[("grpc.so_reuseport", 0)])
        p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self._server.start()
        return self.address

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        with self._lock:
            for client in self._clients:
                client.out.put(None)
        if self._server is not None:
            self._server.stop(0).wait(5)

    def crash_and_come_back(self, *, keep_pipeline: bool = False) -> None:
        self.stop()
        with self._lock:
            self._clients, self._highest = [], None
            if not keep_pipeline:
                self.config, self.entities, self.counters = None, {}, {}
        self.start(self.port)

    # -- arbitration

    def StreamChannel(self, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        client = _Client()
        with self._lock:
            self._clients.append(client)
        threading.Thread(target=self._pump, args=(client, request_iterator, context), daemon=True).start()
        try:
            while (response := client.out.get()) is not None:
                if isinstance(response, Exception):
                    context.abort(response.args[0], response.args[1])
                yield response
        finally:
            self._leave(client)

    def _pump(self, client: _Client, requests: Any, context: Any) -> None:
        try:
            for request in requests:
                if self.behaviour.mute:
                    continue
                match request.WhichOneof("update"):
                    case "arbitration":
                        self._arbitrate(client, request.arbitration)
                    case "packet":
                        self.packets_out.append(request.packet.payload)
                    case "digest_ack":
                        self.acks.append(request.digest_ack.list_id)
                    case _:
                        pass
        except Exception as error:
            del error  # the stream was cancelled
        if not self.behaviour.clings:
            client.out.put(None)

    def _arbitrate(self, client: _Client, update: Any) -> None:
        election_id: int | None = None
        if update.HasField("election_id"):
            election_id = update.election_id.high << 64 | update.election_id.low
        elif self.behaviour.bmv2:
            election_id = 0
        with self._lock:
            others = [each for each in self._clients if each is not client]
            if update.device_id != self.behaviour.device_id and not self.behaviour.checks_device_late:
                self._abort(client, grpc.StatusCode.NOT_FOUND, "no such device")
                return
            if election_id is not None and any(each.election_id == election_id for each in others):
                self._abort(client, grpc.StatusCode.INVALID_ARGUMENT, "Election id already exists")
                return
            before = self._primary()
            client.election_id = election_id
            if election_id is not None:
                self._highest = max(self._highest or 0, election_id)
            self._notify(self._clients if self._primary() is not before else [client])

    def _abort(self, client: _Client, code: grpc.StatusCode, text: str) -> None:
        client.out.put(RuntimeError(code, text))  # pyright: ignore[reportArgumentType]

    def _primary(self) -> _Client | None:
        live = [each for each in self._clients if each.election_id is not None]
        if self.behaviour.bmv2:
            return max(live, key=lambda each: each.election_id or 0, default=None)
        return next((each for each in live if each.election_id == self._highest), None)

    def _notify(self, clients: list[_Client]) -> None:
        primary = self._primary()
        for client in list(clients):
            response = p4runtime_pb2.StreamMessageResponse()
            update = response.arbitration
            update.device_id = self.behaviour.device_id
            highest = primary.election_id if self.behaviour.bmv2 and primary else self._highest
            if highest is not None:
                update.election_id.high, update.election_id.low = highest >> 64, highest & (2**64 - 1)
            if client is primary:
                update.status.code = code_pb2.OK
            else:
                update.status.code = code_pb2.ALREADY_EXISTS if primary else code_pb2.NOT_FOUND
            client.out.put(response)

    def _leave(self, client: _Client) -> None:
        with self._lock:
            before = self._primary()
            if client in self._clients:
                self._clients.remove(client)
            if self._primary() is not before:
                self._notify(self._clients)

    def say(self, response: p4runtime_pb2.StreamMessageResponse) -> None:
        with self._lock:
            for client in self._clients:
                client.out.put(response)

    # -- calls

    def Capabilities(self, request: Any, context: Any) -> Any:  # noqa: N802
        return p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version="1.3.0")

    def _check(self, request: Any, context: Any) -> None:
        with self._lock:
            primary = self._primary()
        election_id = request.election_id.high << 64 | request.election_id.low
        if primary is None or primary.election_id != election_id:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "Not primary")

    def SetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._check(request, context)
        if request.device_id != self.behaviour.device_id:
            context.abort(grpc.StatusCode.UNKNOWN, "Error when trying to assign device")
        if request.action == request.VERIFY_AND_COMMIT:
            self.config = request.config
            self.entities, self.counters = {}, {}
        return p4runtime_pb2.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.config is None and self.behaviour.bmv2:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "No forwarding pipeline config set for this device")
        response = p4runtime_pb2.GetForwardingPipelineConfigResponse()
        if self.config is not None:
            if self.config.HasField("cookie"):
                response.config.cookie.CopyFrom(self.config.cookie)
            if request.response_type != request.COOKIE_ONLY:
                response.config.p4info.CopyFrom(self.config.p4info)
        return response

    def Write(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._check(request, context)
        if self.config is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "No forwarding pipeline config set for this device")
        self.writes.append(request)
        errors = [self._update(update) for update in request.updates]
        if self.behaviour.lost_write:
            self.behaviour.lost_write -= 1
            if not self.behaviour.lost_write:
                self.behaviour.lost_write = int(self.behaviour.stays_lost)
                context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        if any(error.canonical_code for error in errors):
            if self.behaviour.details:
                status = batch_status(errors)
                context.set_trailing_metadata([(DETAILS_KEY, status.SerializeToString())])
            context.abort(grpc.StatusCode.UNKNOWN, "")
        return p4runtime_pb2.WriteResponse()

    def _update(self, update: Any) -> p4runtime_pb2.Error:
        entity = update.entity
        if entity.WhichOneof("entity") == "counter_entry":
            entry = entity.counter_entry
            self.counters[entry.counter_id, entry.index.index] = (entry.data.packet_count, entry.data.byte_count)
            return p4runtime_pb2.Error()
        key, refusal = _key(entity), self._refusal(update)
        if refusal is not None:
            return p4runtime_pb2.Error(canonical_code=refusal, message="refused by the fake")
        if update.type == p4runtime_pb2.Update.INSERT and key in self.entities:
            return p4runtime_pb2.Error(canonical_code=code_pb2.ALREADY_EXISTS, message="Match entry exists")
        if update.type != p4runtime_pb2.Update.INSERT and key not in self.entities and not _is_default(entity):
            return p4runtime_pb2.Error(canonical_code=code_pb2.NOT_FOUND, message="Cannot find match entry")
        if update.type == p4runtime_pb2.Update.DELETE:
            del self.entities[key]
        else:
            self.entities[key] = Entity.FromString(entity.SerializeToString())
        return p4runtime_pb2.Error()

    def _refusal(self, update: Any) -> int | None:
        entity = update.entity
        if update.type == p4runtime_pb2.Update.DELETE:
            return None
        if entity.WhichOneof("entity") == "table_entry":
            values = [each.exact.value for each in entity.table_entry.match if each.HasField("exact")]
            if self._table_name(entity) in self.behaviour.refuse or self.behaviour.refuse_match in values:
                return code_pb2.RESOURCE_EXHAUSTED
            return None
        engine = entity.packet_replication_engine_entry
        ports = {replica.egress_port for replica in engine.multicast_group_entry.replicas}
        known = self.behaviour.ports
        return code_pb2.INVALID_ARGUMENT if known is not None and not ports <= known else None

    def _table_name(self, entity: Any) -> str:
        assert self.config is not None
        names = {each.preamble.id: each.preamble.name for each in self.config.p4info.tables}
        return names[entity.table_entry.table_id].rpartition(".")[2]

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.config is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "No forwarding pipeline config set for this device")
        for wanted in request.entities:
            response = p4runtime_pb2.ReadResponse(entities=list(self._matching(wanted)))
            if not response.entities and self.behaviour.finds_nothing:
                context.abort(grpc.StatusCode.NOT_FOUND, "there is no such thing")
            yield response

    def _matching(self, wanted: Any) -> Iterator[Entity]:
        kind = wanted.WhichOneof("entity")
        if kind == "counter_entry":
            yield from self._cells(wanted.counter_entry)
            return
        for key, entity in list(self.entities.items()):
            if entity.WhichOneof("entity") != kind:
                continue
            if kind == "table_entry":
                asked, have = wanted.table_entry, entity.table_entry
                by_key = bool(asked.match) or asked.is_default_action
                if (by_key and key != _key(wanted)) or (asked.table_id and asked.table_id != have.table_id):
                    continue
                entity = Entity.FromString(entity.SerializeToString())
                if asked.HasField("counter_data"):
                    packets, size = self.hits.get(key, (0, 0))
                    entity.table_entry.counter_data.packet_count = packets
                    entity.table_entry.counter_data.byte_count = size
            elif not _pre_matches(wanted, entity):
                continue
            yield entity

    def _cells(self, wanted: Any) -> Iterator[Entity]:
        assert self.config is not None
        sizes = {each.preamble.id: each.size for each in self.config.p4info.counters}
        cells = [wanted.index.index] if wanted.HasField("index") else range(sizes[wanted.counter_id])
        for cell in cells:
            packets, size = self.counters.get((wanted.counter_id, cell), (0, 0))
            entity = Entity()
            entry = entity.counter_entry
            entry.counter_id = wanted.counter_id
            entry.index.index = cell
            entry.data.packet_count, entry.data.byte_count = packets, size
            yield entity

    def count(self, name: str, cell: int, packets: int, size: int = 0) -> None:
        """Set a counter cell, by the last part of the counter's name."""
        assert self.config is not None
        for each in self.config.p4info.counters:
            if each.preamble.name.rpartition(".")[2] == name:
                self.counters[each.preamble.id, cell] = (packets, size)

    def names(self) -> list[str]:
        """The kinds of all stored entities, sorted: last names of tables, and multicast."""
        return sorted(
            self._table_name(each) if each.WhichOneof("entity") == "table_entry" else "multicast"
            for each in self.entities.values()
        )


def _is_default(entity: Any) -> bool:
    return bool(entity.table_entry.is_default_action)


def _key(entity: Any) -> Any:
    if entity.WhichOneof("entity") == "table_entry":
        entry = entity.table_entry
        match = tuple(sorted(each.SerializeToString() for each in entry.match))
        return "table", entry.table_id, entry.is_default_action, match, entry.priority
    engine = entity.packet_replication_engine_entry
    if engine.WhichOneof("type") == "multicast_group_entry":
        return "multicast", engine.multicast_group_entry.multicast_group_id
    return "clone", engine.clone_session_entry.session_id


def _pre_matches(wanted: Any, entity: Any) -> bool:
    asked, have = wanted.packet_replication_engine_entry, entity.packet_replication_engine_entry
    if asked.WhichOneof("type") != have.WhichOneof("type"):
        return False
    if asked.WhichOneof("type") == "multicast_group_entry":
        number = asked.multicast_group_entry.multicast_group_id
        return number in (0, have.multicast_group_entry.multicast_group_id)
    number = asked.clone_session_entry.session_id
    return number in (0, have.clone_session_entry.session_id)
