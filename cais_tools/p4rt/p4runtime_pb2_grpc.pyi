# ruff: noqa: N802
from collections.abc import Iterable, Iterator
from typing import Any

import grpc

from cais_tools.p4rt import p4runtime_pb2

class P4RuntimeStub:
    Write: grpc.UnaryUnaryMultiCallable[p4runtime_pb2.WriteRequest, p4runtime_pb2.WriteResponse]
    Read: grpc.UnaryStreamMultiCallable[p4runtime_pb2.ReadRequest, p4runtime_pb2.ReadResponse]
    SetForwardingPipelineConfig: grpc.UnaryUnaryMultiCallable[
        p4runtime_pb2.SetForwardingPipelineConfigRequest, p4runtime_pb2.SetForwardingPipelineConfigResponse
    ]
    GetForwardingPipelineConfig: grpc.UnaryUnaryMultiCallable[
        p4runtime_pb2.GetForwardingPipelineConfigRequest, p4runtime_pb2.GetForwardingPipelineConfigResponse
    ]
    StreamChannel: grpc.StreamStreamMultiCallable[
        p4runtime_pb2.StreamMessageRequest, p4runtime_pb2.StreamMessageResponse
    ]
    Capabilities: grpc.UnaryUnaryMultiCallable[p4runtime_pb2.CapabilitiesRequest, p4runtime_pb2.CapabilitiesResponse]
    def __init__(self, channel: grpc.Channel) -> None: ...

class P4RuntimeServicer:
    def Write(
        self, request: p4runtime_pb2.WriteRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.WriteResponse: ...
    def Read(
        self, request: p4runtime_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> Iterator[p4runtime_pb2.ReadResponse]: ...
    def SetForwardingPipelineConfig(
        self, request: p4runtime_pb2.SetForwardingPipelineConfigRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.SetForwardingPipelineConfigResponse: ...
    def GetForwardingPipelineConfig(
        self, request: p4runtime_pb2.GetForwardingPipelineConfigRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.GetForwardingPipelineConfigResponse: ...
    def StreamChannel(
        self, request_iterator: Iterator[p4runtime_pb2.StreamMessageRequest], context: grpc.ServicerContext
    ) -> Iterable[p4runtime_pb2.StreamMessageResponse]: ...
    def Capabilities(
        self, request: p4runtime_pb2.CapabilitiesRequest, context: grpc.ServicerContext
    ) -> p4runtime_pb2.CapabilitiesResponse: ...

def add_P4RuntimeServicer_to_server(servicer: P4RuntimeServicer, server: Any) -> None: ...
