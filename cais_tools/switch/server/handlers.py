"""A service's methods as gRPC gets them, with requests parsed here.

gRPC's own way with bytes that are no message leaves a call behind that never ends when they come on a stream, and the
server then never stops; it also writes a traceback for each. And it waits for the one request of a call for ever, in a
thread that others need: here all calls are streams to gRPC (on the wire they are the same), and the wait has an end.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# The stubs of grpc leave their own type arguments out.

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message

from cais_tools.p4rt import code_pb2
from cais_tools.switch.server.stalls import StallWatch
from cais_tools.switch.server.status import P4Error, abort

__all__ = ["service_handler"]


class _Malformed:
    """Stands for a request that could not be parsed."""

    def __init__(self, name: str) -> None:
        self.error = P4Error(code_pb2.INVALID_ARGUMENT, f"the request is no {name}: its bytes are damaged")


_Behaviour = Callable[[Any, grpc.ServicerContext], Any]


def service_handler(messages: Any, name: str, service: object, stalls: StallWatch) -> grpc.GenericRpcHandler:
    """What `grpc.Server` serves: the service of this name in a generated module, by the methods of an object. `stalls`
    ends the calls whose request does not come.
    """
    descriptor = messages.DESCRIPTOR.services_by_name[name]
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for method in descriptor.methods:
        behaviour: _Behaviour = getattr(service, method.name)
        parse = _parser(getattr(messages, method.input_type.name), method.input_type.full_name)
        if method.client_streaming:
            handler = grpc.stream_stream_rpc_method_handler(_checked_stream(behaviour), parse, _serialize)
        elif method.server_streaming:
            handler = grpc.stream_stream_rpc_method_handler(_checked(behaviour, stalls), parse, _serialize)
        else:
            handler = grpc.stream_unary_rpc_method_handler(_checked(behaviour, stalls), parse, _serialize)
        handlers[method.name] = handler
    return grpc.method_handlers_generic_handler(descriptor.full_name, handlers)


def _parser(kind: type[Message], name: str) -> Callable[[bytes], Message | _Malformed]:
    def parse(data: bytes) -> Message | _Malformed:
        try:
            return kind.FromString(data)
        except DecodeError:
            return _Malformed(name)

    return parse


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _checked(behaviour: _Behaviour, stalls: StallWatch) -> _Behaviour:
    """The behaviour of a call with one request, for gRPC to call with a stream of it."""

    def call(requests: Iterator[object], context: grpc.ServicerContext) -> Any:
        with stalls.waiting(context):
            request = next(requests, None)
        if request is None:
            abort(context, P4Error(code_pb2.INVALID_ARGUMENT, "the call has ended without a request"))
        if isinstance(request, _Malformed):
            abort(context, request.error)
        return behaviour(request, context)

    return call


def _checked_stream(behaviour: _Behaviour) -> _Behaviour:
    def call(requests: Iterator[object], context: grpc.ServicerContext) -> Any:
        return behaviour(_parsed(requests), context)

    return call


def _parsed(requests: Iterator[object]) -> Iterator[object]:
    """The requests, and P4Error at the first that is none."""
    for request in requests:
        if isinstance(request, _Malformed):
            raise request.error
        yield request
