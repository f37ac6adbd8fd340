"""The P4Runtime service: gRPC in, `ControlPlane` calls, gRPC out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import grpc

from cais_tools.p4rt import code_pb2, p4runtime_pb2, p4runtime_pb2_grpc
from cais_tools.switch.server.control import ControlPlane
from cais_tools.switch.server.guard import Guard
from cais_tools.switch.server.profile import Profile
from cais_tools.switch.server.stalls import StallWatch
from cais_tools.switch.server.status import P4Error, abort, finish
from cais_tools.switch.server.streams import Client, stream_error

__all__ = ["P4RuntimeService"]

_LOG = logging.getLogger(__name__)


class P4RuntimeService(p4runtime_pb2_grpc.P4RuntimeServicer):
    def __init__(self, control: ControlPlane, profile: Profile, stalls: StallWatch, *, max_streams: int) -> None:
        self._control = control
        self._stalls = stalls
        self._profile = profile
        self._max_streams = max_streams
        self._clients: set[Client] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all streams: the switch goes away."""
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.close(P4Error(code_pb2.UNAVAILABLE, "the switch is shutting down"))

    def Write(  # noqa: N802 - gRPC's names
        self, request: p4runtime_pb2.WriteRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.WriteResponse:
        with Guard(context):
            errors = self._control.write(request)
            if any(errors):
                finish(context, self._profile.write_ending(errors))
        return p4runtime_pb2.WriteResponse()

    def Read(  # noqa: N802
        self, request: p4runtime_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> Iterator[p4runtime_pb2.ReadResponse]:
        with Guard(context):
            responses, errors = self._control.read(request)
            for response in responses:
                with self._stalls.waiting(context):
                    yield response
            if any(errors):
                finish(context, self._profile.read_ending(errors))

    def SetForwardingPipelineConfig(  # noqa: N802
        self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.SetForwardingPipelineConfigResponse:
        with Guard(context):
            self._control.set_config(request)
        return p4runtime_pb2.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(  # noqa: N802
        self, request: p4runtime_pb2.GetForwardingPipelineConfigRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.GetForwardingPipelineConfigResponse:
        with Guard(context):
            return self._control.get_config(request)
        raise AssertionError("unreachable: the guard ends the RPC")

    def Capabilities(  # noqa: N802
        self, request: p4runtime_pb2.CapabilitiesRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.CapabilitiesResponse:
        with Guard(context):
            # Stubs before 1.5.0 do not know the field.
            device_id = getattr(request, "device_id", 0)
            if device_id:
                self._control.check_device(device_id)
        return p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version=self._profile.api_version)

    def StreamChannel(  # noqa: N802
        self, request_iterator: Iterator[p4runtime_pb2.StreamMessageRequest], context: grpc.ServicerContext
    ) -> Iterator[p4runtime_pb2.StreamMessageResponse]:
        client = Client()
        with Guard(context):
            self._admit(client)
        try:
            if not context.add_callback(client.close):
                return
            reader = threading.Thread(target=self._read_stream, args=(client, request_iterator), daemon=True)
            reader.start()
            yield from client.messages()
        finally:
            with self._lock:
                self._clients.discard(client)
            self._control.leave(client)
        if client.error is not None:
            abort(context, client.error)

    def _admit(self, client: Client) -> None:
        with self._lock:
            if len(self._clients) >= self._max_streams:
                raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{self._max_streams} streams are open already")
            self._clients.add(client)

    def _read_stream(self, client: Client, requests: Iterator[p4runtime_pb2.StreamMessageRequest]) -> None:
        error: P4Error | None = None
        try:
            for request in requests:
                self._handle(client, request)
        except P4Error as refused:
            error = refused
        except Exception as broken:
            # gRPC raises where the client is gone; nobody is left to be told.
            _LOG.debug("a stream has ended: %r", broken)
        client.close(error)

    def _handle(self, client: Client, request: p4runtime_pb2.StreamMessageRequest) -> None:
        """Raises P4Error where the stream must end: only arbitration does that (section 16.7)."""
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            self._control.arbitrate(client, request.arbitration)
            return
        try:
            if kind == "packet":
                self._control.packet_out(client, request.packet)
            elif kind == "digest_ack":
                self._control.acknowledge(client, request.digest_ack)
            else:
                raise P4Error(code_pb2.UNIMPLEMENTED, f"stream messages of kind {kind} are not supported")
        except P4Error as error:
            if self._profile.reports_stream_errors:
                client.offer(stream_error(error, request))
        except Exception as error:
            _LOG.exception("a stream message failed")
            internal = P4Error(code_pb2.INTERNAL, f"{type(error).__name__}: {error}")
            client.offer(stream_error(internal, request))
