"""The control plane of one device: its clients, its pipelines, and what they may do. Knows messages, not gRPC.

Calls come from many threads; one lock serializes them (P4Runtime 1.4, section 12.1: strictly serializable). The
device's own lock is taken within it, for a few updates at a time, so that packets go on meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from itertools import islice

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.device import Device
from cais_tools.switch.refusals import StateError
from cais_tools.switch.server.arbitration import ElectionId, Notification, election_id_of, role_name
from cais_tools.switch.server.entities import Ports, Undo
from cais_tools.switch.server.notifier import Notifier
from cais_tools.switch.server.packetio import frame_of
from cais_tools.switch.server.pipeline import Pipeline, build_pipeline, reconcile
from cais_tools.switch.server.profile import Profile
from cais_tools.switch.server.status import P4Error, as_p4_error, invalid
from cais_tools.switch.server.streams import Client

__all__ = ["ControlPlane"]

_LOG = logging.getLogger(__name__)

# Updates, or entities read, for one turn of the device's lock.
_TURN = 64
_Action = p4runtime_pb2.SetForwardingPipelineConfigRequest
_Errors = list["P4Error | None"]


class ControlPlane:
    def __init__(self, device: Device, device_id: int, profile: Profile, *, packet_bytes: int = 16 << 10) -> None:
        self._device = device
        self._device_id = device_id
        self._profile = profile
        self._packet_bytes = packet_bytes
        self._ports = Ports(device.port_numbers, device.cpu_port, must_exist=profile.ports_must_exist)
        self._arbitration = profile.arbitration(device_id)
        self._lock = threading.RLock()
        self._running: Pipeline | None = None
        self._saved: Pipeline | None = None
        self._primaries: tuple[Client, ...] = ()
        self.notifier = Notifier(self._deliver, self._idle)
        device.on_packet_in = self.notifier.packet_in
        device.on_digest = lambda digest: self.notifier.digest(digest.name, digest.values)

    # --- clients ---

    def arbitrate(self, client: Client, message: p4runtime_pb2.MasterArbitrationUpdate) -> None:
        """Raises P4Error where the client's stream must end."""
        # Under the lock of writes: those that have begun are over before another client is primary (section 5.3).
        with self._lock:
            self._notify(self._arbitration.update(client, message))

    def leave(self, client: Client) -> None:
        with self._lock:
            self._notify(self._arbitration.leave(client))

    def _notify(self, notifications: Sequence[Notification]) -> None:
        self._primaries = tuple(_client(primary) for primary in self._arbitration.primaries())
        for client, notification in notifications:
            _client(client).send(notification)

    def packet_out(self, client: Client, packet: p4runtime_pb2.PacketOut) -> None:
        """Raises P4Error."""
        pipeline = self._for_primary(client)
        if len(packet.payload) > self._packet_bytes:
            size, most = len(packet.payload), self._packet_bytes
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"a packet-out of {size} bytes; the most is {most}")
        if not self._device.packet_out(frame_of(packet, pipeline.schema.packet_out)):
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, "too many packet-outs wait already")

    def acknowledge(self, client: Client, ack: p4runtime_pb2.DigestListAck) -> None:
        """Raises P4Error."""
        pipeline = self._for_primary(client)
        pipeline.digests.acknowledge(pipeline.schema.digest(ack.digest_id).id, ack.list_id)

    # Packets do not wait for the lock, which a large read may hold: they use what `_notify` and `_install` leave.

    def _for_primary(self, client: Client) -> Pipeline:
        if client not in self._primaries:
            raise P4Error(code_pb2.PERMISSION_DENIED, "only the primary client may send this")
        pipeline = self._running
        if pipeline is None:
            raise self._profile.no_pipeline()
        return pipeline

    def _deliver(self, message: p4runtime_pb2.StreamMessageResponse) -> None:
        for client in self._primaries:
            client.offer(message)

    def _idle(self) -> list[p4runtime_pb2.TableEntry]:
        with self._lock:
            pipeline = self._running
            if pipeline is None or not pipeline.store.tables.has_timeouts:
                return []
            with self._device.lock:
                return pipeline.store.tables.idle()

    def _check_writer(
        self, request: p4runtime_pb2.WriteRequest | p4runtime_pb2.SetForwardingPipelineConfigRequest
    ) -> None:
        role = role_name(request.role, request.role_id)
        self._arbitration.check_writer(request.device_id, role, _election_id(request))

    # --- pipelines ---

    def set_config(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest) -> None:
        """Raises P4Error (section 14)."""
        with self._lock:
            self._check_writer(request)
            if self._profile.settles_config(request):
                return
            try:
                self._apply_config(request)
            except P4Error as error:
                raise self._profile.config_failure(request, error) from error

    def _apply_config(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest) -> None:
        action = request.action
        if action == _Action.COMMIT:
            self._commit_saved(request)
            return
        if action not in (
            _Action.VERIFY,
            _Action.VERIFY_AND_SAVE,
            _Action.VERIFY_AND_COMMIT,
            _Action.RECONCILE_AND_COMMIT,
        ):
            raise invalid("the request has no action")
        if not request.HasField("config"):
            raise invalid("the request has no config")
        pipeline = build_pipeline(request.config, self._ports, self._device.clock, self._profile)
        if action == _Action.VERIFY_AND_SAVE:
            self._saved = pipeline
        elif action == _Action.VERIFY_AND_COMMIT:
            self._commit(pipeline)
        elif action == _Action.RECONCILE_AND_COMMIT:
            with self._device.lock:
                if self._running is not None:
                    reconcile(self._running, pipeline)
                self._install(pipeline)

    def _commit_saved(self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest) -> None:
        if request.HasField("config"):
            raise invalid("COMMIT takes no config: it commits the one that was saved")
        if self._saved is None:
            raise P4Error(code_pb2.NOT_FOUND, "no config was saved: VERIFY_AND_SAVE comes before COMMIT")
        # What was written since it was saved went into its own state already.
        self._commit(self._saved)

    def _commit(self, pipeline: Pipeline) -> None:
        with self._device.lock:
            self._install(pipeline)

    def _install(self, pipeline: Pipeline) -> None:
        self._device.install(pipeline.engine)
        self._running, self._saved = pipeline, None
        self.notifier.use(pipeline.schema, pipeline.digests)
        _LOG.info("program %s runs", pipeline.engine.program.name)

    def get_config(
        self, request: p4runtime_pb2.GetForwardingPipelineConfigRequest
    ) -> p4runtime_pb2.GetForwardingPipelineConfigResponse:
        """Raises P4Error (section 15). Without a pipeline `config` is unset."""
        with self._lock:
            looks_loaded = self._profile.looks_loaded(request.device_id)
            if not looks_loaded:
                self._arbitration.check_device(request.device_id)
            saved = self._saved if self._profile.reports_saved_config else None
            pipeline = (saved or self._running) if request.device_id == self._device_id else None
        if pipeline is None and looks_loaded:
            return p4runtime_pb2.GetForwardingPipelineConfigResponse(config={})
        if pipeline is None:
            return self._profile.config_of_nothing()
        response = p4runtime_pb2.GetForwardingPipelineConfigResponse()
        kinds = p4runtime_pb2.GetForwardingPipelineConfigRequest
        wanted, config = request.response_type, pipeline.config
        if wanted in (kinds.ALL, kinds.P4INFO_AND_COOKIE):
            response.config.p4info.CopyFrom(config.p4info)
        if wanted in (kinds.ALL, kinds.DEVICE_CONFIG_AND_COOKIE):
            response.config.p4_device_config = config.p4_device_config
        response.config.SetInParent()
        if config.HasField("cookie"):
            response.config.cookie.CopyFrom(config.cookie)
        return response

    def _pipeline(self) -> Pipeline:
        """The one that requests refer to: the saved one, where there is one (section 14, VERIFY_AND_SAVE)."""
        pipeline = self._saved or self._running
        if pipeline is None:
            raise self._profile.no_pipeline()
        return pipeline

    # --- write and read ---

    def write(self, request: p4runtime_pb2.WriteRequest) -> _Errors:
        """The verdict on each update, None where it was applied. Raises P4Error where none was tried (section 12)."""
        with self._lock:
            self._check_writer(request)
            self._arbitration.check_device(request.device_id)
            pipeline = self._pipeline()
            if self._profile.all_or_none(request):
                return self._write_all(pipeline, request.updates)
            return self._write_each(pipeline, request.updates)

    def _write_each(self, pipeline: Pipeline, updates: Sequence[p4runtime_pb2.Update]) -> _Errors:
        errors: _Errors = []
        for start in range(0, len(updates), _TURN):
            with self._device.lock:
                errors += [_attempt(pipeline, update)[1] for update in updates[start : start + _TURN]]
        return errors

    def _write_all(self, pipeline: Pipeline, updates: Sequence[p4runtime_pb2.Update]) -> _Errors:
        """All or none. No pass of a packet comes in between, so this is both ROLLBACK_ON_ERROR and DATAPLANE_ATOMIC.

        A packet that waits in an output queue has its ingress before the batch and its egress after it.
        """
        undos: list[Undo] = []
        with self._device.lock:
            for index, update in enumerate(updates):
                undo, error = _attempt(pipeline, update)
                if undo is not None:
                    undos.append(undo)
                    continue
                for each in reversed(undos):
                    each()
                rolled_back = P4Error(code_pb2.ABORTED, f"not applied: update {index} failed")
                return [error if place == index else rolled_back for place in range(len(updates))]
        return [None] * len(updates)

    def read(self, request: p4runtime_pb2.ReadRequest) -> tuple[list[p4runtime_pb2.ReadResponse], _Errors]:
        """Responses, and the verdict on each request of the batch. Raises P4Error where none was tried (section 13)."""
        entities: list[p4runtime_pb2.Entity] = []
        errors: _Errors = []
        with self._lock:
            self._arbitration.check_device(request.device_id)
            pipeline = self._pipeline()
            for wanted in request.entities:
                try:
                    entities += self._collect(pipeline.read(wanted))
                    errors.append(None)
                except Exception as error:
                    errors.append(_error(error))
                    if self._profile.stops_reads_at_failure:
                        break
        return self._profile.responses(entities), errors

    def _collect(self, found: Iterator[p4runtime_pb2.Entity]) -> list[p4runtime_pb2.Entity]:
        entities: list[p4runtime_pb2.Entity] = []
        while True:
            with self._device.lock:
                some = list(islice(found, _TURN))
            if not some:
                return entities
            entities += some

    def check_device(self, device_id: int) -> None:
        self._arbitration.check_device(device_id)


def _attempt(pipeline: Pipeline, update: p4runtime_pb2.Update) -> tuple[Undo | None, P4Error | None]:
    try:
        return pipeline.write(update), None
    except Exception as error:
        return None, _error(error)


def _error(error: Exception) -> P4Error:
    """What to tell the client; a fault of ours is logged too, and never ends the process."""
    if isinstance(error, P4Error | StateError):
        return as_p4_error(error)
    _LOG.error("a request failed", exc_info=error)
    return P4Error(code_pb2.INTERNAL, f"{type(error).__name__}: {error}")


def _client(client: object) -> Client:
    if not isinstance(client, Client):
        raise TypeError(f"{client!r} is no client")
    return client


def _election_id(
    request: p4runtime_pb2.WriteRequest | p4runtime_pb2.SetForwardingPipelineConfigRequest,
) -> ElectionId | None:
    return election_id_of(request.election_id) if request.HasField("election_id") else None
