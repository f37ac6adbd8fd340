"""The gNMI service: gRPC in, state out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final

import grpc

from cais_tools.gnmi import gnmi_pb2
from cais_tools.p4rt import code_pb2
from cais_tools.switch.server.gnmi.conversation import End, Inbox, responses
from cais_tools.switch.server.gnmi.requests import ENCODINGS, MODEL, answer, check
from cais_tools.switch.server.gnmi.tree import Leaf, of_type, state_of
from cais_tools.switch.server.guard import Guard
from cais_tools.switch.server.stalls import StallWatch
from cais_tools.switch.server.status import P4Error

__all__ = ["GnmiService"]

_VERSION: Final = "0.10.0"


class GnmiService:
    """`temperature` is asked at each request and each sample. A subscription holds a thread as long as it lives."""

    def __init__(self, temperature: Callable[[], float | None], stalls: StallWatch, *, max_subscriptions: int) -> None:
        self._temperature = temperature
        self._stalls = stalls
        self._max_subscriptions = max_subscriptions
        self._inboxes: set[Inbox] = set()
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all subscriptions: the switch goes away."""
        with self._lock:
            inboxes = list(self._inboxes)
        for inbox in inboxes:
            inbox.put(P4Error(code_pb2.UNAVAILABLE, "the switch is shutting down"))

    def Capabilities(  # noqa: N802 - gRPC's names
        self, request: gnmi_pb2.CapabilityRequest, context: grpc.ServicerContext
    ) -> gnmi_pb2.CapabilityResponse:
        del request, context
        return gnmi_pb2.CapabilityResponse(
            supported_models=[MODEL], supported_encodings=ENCODINGS, gNMI_version=_VERSION
        )

    def Get(  # noqa: N802
        self, request: gnmi_pb2.GetRequest, context: grpc.ServicerContext
    ) -> gnmi_pb2.GetResponse:
        with Guard(context):
            check(request.prefix, request.path, request.encoding, request.use_models)
            leaves = of_type(self._leaves(), request.type)
            return gnmi_pb2.GetResponse(notification=[answer(request, path, leaves) for path in request.path])
        raise AssertionError("unreachable: the guard ends the RPC")

    def Subscribe(  # noqa: N802
        self, requests: Iterator[gnmi_pb2.SubscribeRequest], context: grpc.ServicerContext
    ) -> Iterator[gnmi_pb2.SubscribeResponse]:
        inbox = Inbox()
        with Guard(context):
            self._admit(inbox)
            try:
                if not context.add_callback(lambda: inbox.put(End.GONE)):
                    return
                threading.Thread(target=inbox.fill, args=(requests,), daemon=True).start()
                with self._stalls.waiting(context):
                    wanted = inbox.first()
                for response in responses(wanted, inbox, self._leaves):
                    with self._stalls.waiting(context):
                        yield response
            finally:
                with self._lock:
                    self._inboxes.discard(inbox)

    def _leaves(self) -> list[Leaf]:
        return state_of(self._temperature())

    def _admit(self, inbox: Inbox) -> None:
        with self._lock:
            if len(self._inboxes) >= self._max_subscriptions:
                raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{self._max_subscriptions} subscriptions are open already")
            self._inboxes.add(inbox)
