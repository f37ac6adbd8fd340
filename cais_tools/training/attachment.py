"""The leader's stream to the controller: open as long as there is one, and opened again when it is back."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.training import directives as d
from cais_tools.training.convert import directive_from, report_to
from cais_tools.training.hub import Hub
from cais_tools.training.usage import Usage

__all__ = ["Attachment"]

_AGAIN = 0.5
_USAGE = 1.0
_FAREWELL = 1.0


class Attachment:
    """Runs in threads of its own. `attach` is the stub's stream; `report` may be called from any thread."""

    def __init__(self, attach: Callable[..., Any], job_id: str, group_id: int, hub: Hub, usage: Usage) -> None:
        self._attach, self._job_id, self._group_id = attach, job_id, group_id
        self._hub, self._usage = hub, usage
        self._outbox: queue.SimpleQueue[pb.LeaderMessage | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._call: Any = None
        self._thread = threading.Thread(target=self._run, name="cais-attach", daemon=True)
        self._thread.start()

    def report(self, report: d.Report) -> None:
        """Tell the controller, if it is there: what it does not hear of, it learns from the next Hello."""
        self._outbox.put(report_to(report))

    def close(self) -> None:
        self._ended.set()
        self._outbox.put(None)
        self._thread.join(_FAREWELL)
        if self._call is not None:
            self._call.cancel()
        self._thread.join(_FAREWELL)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._outbox = queue.SimpleQueue()
            try:
                self._call = self._attach(self._messages(self._outbox))
                for message in self._call:
                    self._hub.controller(attached=True)
                    directive = directive_from(message)
                    if directive is not None:
                        self._hub.directive(directive)
            except grpc.RpcError:
                pass
            self._hub.controller(attached=False)
            self._outbox.put(None)
            self._ended.wait(_AGAIN)

    def _messages(self, outbox: queue.SimpleQueue[pb.LeaderMessage | None]) -> Iterator[pb.LeaderMessage]:
        yield self._hello()
        told = time.monotonic()
        while True:
            try:
                message = outbox.get(timeout=_USAGE)
                if message is None:
                    yield self._used()
                    return
                yield message
            except queue.Empty:
                pass
            if time.monotonic() - told >= _USAGE:
                told = time.monotonic()
                yield self._used()

    def _used(self) -> pb.LeaderMessage:
        coordinator = self._hub.coordinator
        return pb.LeaderMessage(usage=self._usage.take(coordinator.next_operation if coordinator else 0))

    def _hello(self) -> pb.LeaderMessage:
        hello = pb.Hello(job_id=self._job_id, group_id=self._group_id)
        coordinator = self._hub.coordinator
        if coordinator is not None:
            hello.epoch = coordinator.epoch
            hello.next_operation = coordinator.next_operation
            decision = coordinator.decision
            hello.path = pb.PATH_SWITCH if decision.offload else pb.PATH_ENDPOINT
            hello.reason = decision.reason
        return pb.LeaderMessage(hello=hello)
