"""A group's leader at the other end of its stream: what it has said, and what it is still to answer."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cais_tools.controller.convert import decision_to, operation_from, settings_to
from cais_tools.controller.policy import Decision
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.scoring import OperationClass, Path

__all__ = ["Leader", "Totals"]


@dataclass(slots=True)
class Totals:
    """Operations of the group since it exists, as its leaders have counted them."""

    on_switch: int = 0
    on_endpoints: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])


class Leader:
    """`say` and the rest may be called from any thread; `directives` is for the one that serves the stream."""

    def __init__(self, hello: pb.Hello) -> None:
        self.epoch = hello.epoch
        self.next_operation = hello.next_operation
        self.path = Path(hello.path)
        self.reason = hello.reason
        self.totals = Totals()
        self._seen: dict[OperationClass, None] = {}
        self._outbox: queue.SimpleQueue[pb.Directive | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._requests = int(time.monotonic() * 1000) % (1 << 30)
        self._answered: dict[int, threading.Event] = {}
        self._from_operation: dict[int, int] = {}

    def directives(self) -> Iterator[pb.Directive]:
        """What the leader is to hear, until `close`."""
        while (directive := self._outbox.get()) is not None:
            yield directive

    def close(self) -> None:
        self._outbox.put(None)

    def say(self, directive: pb.Directive) -> None:
        self._outbox.put(directive)

    def block(self, first: int, count: int, decision: Decision) -> None:
        """Hand a decision out; `count` 0: only for the leader to know."""
        self.say(pb.Directive(block=pb.Block(first=first, count=count, decision=decision_to(decision))))

    def force(self, path: Path, reason: str, *, awaited: bool = True) -> int:
        """Put the group on a path from its next operation on: the number of the request, for `wait_for` if awaited."""
        with self._lock:
            self._requests += 1
            request = self._requests
            if awaited:
                self._answered[request] = threading.Event()
        self.say(pb.Directive(force=pb.Force(request=request, path=pb.Path.ValueType(path), reason=reason)))
        return request

    def settings(self, values: Mapping[str, float]) -> None:
        """Tell the settings that hold for the group."""
        self.say(pb.Directive(settings=settings_to(values)))

    def prove(self, epoch: int) -> int:
        """Have the switch add up a test vector: the number of the request."""
        with self._lock:
            self._requests += 1
            request = self._requests
        self.say(pb.Directive(prove=pb.Prove(request=request, epoch=epoch)))
        return request

    def changed(self, changed: pb.Changed) -> None:
        """Take in that a forced path holds."""
        with self._lock:
            event = self._answered.get(changed.request)
            if event is not None:
                self._from_operation[changed.request] = changed.from_operation
                event.set()

    def wait_for(self, request: int, seconds: float) -> int | None:
        """From which operation on a forced path holds; None where the leader has not answered in time."""
        event = self._answered[request]
        holds = event.wait(max(seconds, 0.0))
        with self._lock:
            self._answered.pop(request, None)
            return self._from_operation.pop(request, None) if holds else None

    def used(self, usage: pb.Usage) -> None:
        """Take in what the group has done."""
        self.next_operation = max(self.next_operation, usage.next_operation)
        for done in usage.done:
            if done.path == pb.PATH_SWITCH:
                self.totals.on_switch += done.operations
            else:
                self.totals.on_endpoints += done.operations
                self.totals.reasons[done.reason] += done.operations
        self.saw([operation_from(done.operation) for done in usage.done])

    def saw(self, classes: list[OperationClass]) -> None:
        with self._lock:
            self._seen.update(dict.fromkeys(classes))

    def take_seen(self) -> tuple[OperationClass, ...]:
        """The classes that were used since the last call."""
        with self._lock:
            seen, self._seen = self._seen, {}
        return tuple(seen)
