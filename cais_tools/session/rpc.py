"""The calls of the P4Runtime service, each with a deadline and with errors of our family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import grpc

from cais_tools.errors import CaisError
from cais_tools.p4rt import code_pb2, p4runtime_pb2, p4runtime_pb2_grpc
from cais_tools.p4rt.status import code_name, decode_status, update_errors
from cais_tools.session.channel import open_channel
from cais_tools.session.errors import DeviceError, from_rpc, refused
from cais_tools.session.target import Target, Tls
from cais_tools.session.verdicts import Verdict, verdicts_of

__all__ = ["Rpc"]

_T = TypeVar("_T")
_GetConfig = p4runtime_pb2.GetForwardingPipelineConfigRequest
_SetConfig = p4runtime_pb2.SetForwardingPipelineConfigRequest

# Codes that say that the whole Write was refused, not single updates of it.
_WHOLE_WRITE = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "PERMISSION_DENIED", "UNIMPLEMENTED", "CANCELLED"})


class Rpc:
    """One channel and its stub. `explain` may replace an error by a better one (it gets error and what was done)."""

    def __init__(self, target: Target, tls: Tls | None, device_id: int, role: str, timeout: float) -> None:
        self.where = str(target)
        self.device_id = device_id
        self.role = role
        self.timeout = timeout
        self.explain: Callable[[grpc.RpcError, str], CaisError] = self._explain
        self._channel = open_channel(target, tls, timeout)
        self._stub = p4runtime_pb2_grpc.P4RuntimeStub(self._channel)

    def _explain(self, error: grpc.RpcError, doing: str) -> CaisError:
        return from_rpc(error, self.where, doing)

    def _do(self, doing: str, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except grpc.RpcError as error:
            raise self.explain(error, doing) from None

    def close(self) -> None:
        self._channel.close()

    def open_stream(
        self, requests: Iterator[p4runtime_pb2.StreamMessageRequest], timeout: float | None = None
    ) -> Iterator[p4runtime_pb2.StreamMessageResponse]:
        return iter(self._stub.StreamChannel(requests, timeout=timeout))

    def capabilities(self) -> str:
        """The version of P4Runtime that the server speaks; empty where it is too old to say."""
        request = p4runtime_pb2.CapabilitiesRequest()
        try:
            return self._stub.Capabilities(request, timeout=self.timeout).p4runtime_api_version
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return ""
            raise self.explain(error, "tell its version") from None

    def get_pipeline(self, *, cookie_only: bool = False) -> p4runtime_pb2.ForwardingPipelineConfig | None:
        """P4Info and cookie of what is loaded (never the device configuration), or None when nothing is.

        The specification wants an empty answer then, bmv2 answers FAILED_PRECONDITION.
        """
        kind = _GetConfig.COOKIE_ONLY if cookie_only else _GetConfig.P4INFO_AND_COOKIE
        request = _GetConfig(device_id=self.device_id, response_type=kind)
        try:
            response = self._stub.GetForwardingPipelineConfig(request, timeout=self.timeout)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                return None
            raise from_rpc(error, self.where, "show its pipeline") from None
        return response.config if response.HasField("config") else None

    def set_pipeline(
        self,
        config: p4runtime_pb2.ForwardingPipelineConfig,
        election_id: p4runtime_pb2.Uint128,
        *,
        verify_only: bool,
    ) -> None:
        request = _SetConfig(
            device_id=self.device_id,
            role=self.role,
            election_id=election_id,
            action=_SetConfig.VERIFY if verify_only else _SetConfig.VERIFY_AND_COMMIT,
            config=config,
        )
        doing = "verify the program" if verify_only else "load the program"
        deadline = 6 * self.timeout
        self._do(doing, lambda: self._stub.SetForwardingPipelineConfig(request, timeout=deadline))

    def start_write(
        self,
        updates: Sequence[p4runtime_pb2.Update],
        subjects: Sequence[object],
        election_id: p4runtime_pb2.Uint128,
        first: int = 0,
    ) -> Callable[[], list[Verdict]]:
        """Send a Write with CONTINUE_ON_ERROR, the only atomicity that every target has. What is returned waits for the
        verdicts on `subjects`, which are numbered from `first` on, and raises only when the switch refused the Write as
        a whole.
        """
        request = p4runtime_pb2.WriteRequest(
            device_id=self.device_id, role=self.role, election_id=election_id, updates=updates
        )
        call = self._stub.Write.future(request, timeout=self.timeout)
        return lambda: self._finish_write(call, subjects, first)

    def _finish_write(
        self, call: grpc.Future[p4runtime_pb2.WriteResponse], subjects: Sequence[object], first: int
    ) -> list[Verdict]:
        try:
            call.result()
        except grpc.RpcError as error:
            errors = update_errors(decode_status(error.trailing_metadata()))
            code = error.code().name
            if not errors and (code in _WHOLE_WRITE or code == "FAILED_PRECONDITION"):
                doing = str(subjects[0]) if len(subjects) == 1 else f"write {len(subjects)} updates"
                raise self.explain(error, doing) from None
            return verdicts_of(subjects, errors, code, " ".join((error.details() or "").split()), first)
        return [Verdict(place, subject) for place, subject in enumerate(subjects, first)]

    def read(self, entities: Sequence[p4runtime_pb2.Entity], doing: str) -> list[p4runtime_pb2.Entity]:
        """All that matches, however many responses it comes in. When one entity is asked for that is not there, that
        is no error: bmv2 and others answer NOT_FOUND to a multicast group that does not exist, and an empty answer to
        a table entry. Among several, NOT_FOUND ends the answer, and nobody knows what is missing from it.
        """
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id, role=self.role, entities=entities)
        found: list[p4runtime_pb2.Entity] = []
        try:
            for response in self._stub.Read(request, timeout=self.timeout):
                found.extend(response.entities)
        except grpc.RpcError as error:
            reasons = [each for each in update_errors(decode_status(error.trailing_metadata())) if each.canonical_code]
            if len(entities) == 1 and _is_not_found(error, reasons):
                return found
            refusal = self.explain(error, doing)
            if reasons and isinstance(refusal, DeviceError):
                refusal = refused(self.where, doing, code_name(reasons[0].canonical_code), reasons[0].message)
            raise refusal from None
        return found


def _is_not_found(error: grpc.RpcError, reasons: Sequence[p4runtime_pb2.Error]) -> bool:
    if not reasons:
        return error.code() is grpc.StatusCode.NOT_FOUND
    return all(each.canonical_code == code_pb2.NOT_FOUND for each in reasons)
