"""The StreamChannel: one thread that keeps it open, bids for primary on it and hands on what arrives."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.session.election import Election

__all__ = ["Stream"]

Request = p4runtime_pb2.StreamMessageRequest
Response = p4runtime_pb2.StreamMessageResponse

_RETRY_S = 0.25
_GRACE_S = 0.5
_JOIN_S = 5.0


class Stream:
    """Keeps one StreamChannel open until `close`.

    The callbacks run in the stream's thread: `on_response` with everything but arbitration, `on_primary` when that
    changes, `on_lost` when an open stream breaks, `on_back` when it is open and arbitrated again.
    """

    def __init__(
        self,
        open_call: Callable[[Iterator[Request]], Any],
        election: Election,
        *,
        on_response: Callable[[Response], None],
        on_primary: Callable[[bool, str], None],
        on_lost: Callable[[str], None],
        on_back: Callable[[], None],
    ) -> None:
        self.election = election
        self._open_call = open_call
        self._on_response = on_response
        self._on_primary = on_primary
        self._on_lost = on_lost
        self._on_back = on_back
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._call: Any = None
        self._failure: grpc.RpcError | None = None
        self._was_settled = False
        self._is_lost = False
        self._thread = threading.Thread(target=self._run, name="p4runtime-stream", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait_settled(self, timeout: float) -> grpc.RpcError | None:
        """Wait for the switch's answer to our bid; the error that ended the stream instead, if one did.

        Raises TimeoutError when neither comes.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self.election.settled or self._failure is not None, timeout):
                raise TimeoutError
            return None if self.election.settled else self._failure

    def send(self, request: Request) -> None:
        self._requests.put(request)

    def close(self) -> None:
        """End the stream and its thread. Never blocks for long, whatever the switch does."""
        with self._changed:
            self._closing.set()
            call, requests = self._call, self._requests
        # The switch ends the stream when it has taken all that was sent; one that does not is not waited for.
        requests.put(None)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_GRACE_S)
            if call is not None:
                call.cancel()
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while not self._closing.is_set():
            error = self._serve()
            if self._closing.is_set():
                return
            self._lose(error)
            self._closing.wait(_RETRY_S)

    def _serve(self) -> grpc.RpcError | None:
        """Open the stream once and read it to its end."""
        requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        requests.put(Request(arbitration=self.election.opening()))
        with self._changed:
            if self._closing.is_set():
                return None
            self._requests = requests
            self._call = call = self._open_call(iter(requests.get, None))
        try:
            for response in call:
                if response.WhichOneof("update") == "arbitration":
                    self._arbitrate(response.arbitration)
                else:
                    self._on_response(response)
        except grpc.RpcError as error:
            return error
        finally:
            requests.put(None)  # lets gRPC's thread that reads the requests end
        return None

    def _arbitrate(self, update: p4runtime_pb2.MasterArbitrationUpdate) -> None:
        before = self.election.primary
        reply = self.election.heard(update)
        if reply is not None:
            self.send(Request(arbitration=reply))
        if not self.election.settled:
            return
        with self._changed:
            self._failure = None
            was_settled, self._was_settled = self._was_settled, True
            is_lost, self._is_lost = self._is_lost, False
            self._changed.notify_all()
        if was_settled and before != self.election.primary:
            self._on_primary(self.election.primary, self.election.reason)
        if is_lost:
            self._on_back()

    def _lose(self, error: grpc.RpcError | None) -> None:
        reason = "the switch ended the stream" if error is None else f"{error.code().name} {error.details() or ''}"
        self.election.lost(reason.strip())
        with self._changed:
            # A stream that the switch ends with OK right away is a failure too.
            self._failure = error or _Ended()
            report = self._was_settled and not self._is_lost
            self._is_lost = self._is_lost or self._was_settled
            self._changed.notify_all()
        if report:
            self._on_lost(reason.strip())


class _Ended(grpc.RpcError):
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "Socket closed"
