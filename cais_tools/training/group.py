"""A group of ranks, as one of them sees it: operations one after another, each on the way that all have agreed on."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from cais_tools.errors import CaisError, UsageError
from cais_tools.training.errors import GroupFailed
from cais_tools.training.member import Given, Member, Way
from cais_tools.training.operations import Operation, Tensor
from cais_tools.training.schedule import Route
from cais_tools.training.star import Endpoints
from cais_tools.training.transit import SwitchPath
from cais_tools.training.usage import Usage
from cais_tools.worker import Counters, OperationInterrupted, ResultRefused

__all__ = ["Group", "GroupStats"]


@dataclass
class GroupStats:
    """Operations by the way they went; `reasons` says why how many of them stayed on the endpoints.

    `fallbacks` had begun on the switch and were done on the endpoints, `repeats` on the switch again, `handed_out` got
    their result from another rank.
    """

    on_switch: int = 0
    on_endpoints: int = 0
    fallbacks: int = 0
    repeats: int = 0
    handed_out: int = 0
    bytes_on_switch: int = 0
    bytes_on_endpoints: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])

    def copy(self) -> GroupStats:
        return replace(self, reasons=self.reasons.copy())


@dataclass(frozen=True, slots=True)
class _Task:
    operation: Operation
    future: Future[Tensor]
    deliver: Callable[[Tensor], None] | None


class Group:
    """Operations run in the order of their submission, in a thread of the group's own.

    `path` is None where this rank has no way to the switch; then all ranks stay on the endpoints. `usage` hears of
    every operation.
    """

    def __init__(
        self, member: Member, path: SwitchPath | None, endpoints: Endpoints, usage: Usage | None = None
    ) -> None:
        self._member, self._path, self._endpoints = member, path, endpoints
        self._usage = usage
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._pending: set[Future[Tensor]] = set()
        self._lock = threading.Lock()
        self._stats = GroupStats()
        self._proofs: set[int] = set()
        member.on_failure(self._give_up)
        self._thread = threading.Thread(target=self._work, name="cais-group", daemon=True)
        self._thread.start()

    @property
    def stats(self) -> GroupStats:
        return self._stats.copy()

    @property
    def counters(self) -> Counters:
        """Packets sent and received on the way through the switch."""
        return Counters() if self._path is None else self._path.counters

    def submit(self, operation: Operation, deliver: Callable[[Tensor], None] | None = None) -> Future[Tensor]:
        """Do `operation` after all that were submitted before; `deliver` is called with its result before anybody
        else gets it. The future raises GroupFailed when the group cannot go on.
        """
        self._member.check()
        future: Future[Tensor] = Future()
        with self._lock:
            self._pending.add(future)
        future.add_done_callback(self._forget)
        self._tasks.put(_Task(operation, future, deliver))
        if self._member.failure is not None:
            self._give_up(self._member.failure)
        return future

    def synchronize(self) -> None:
        """Wait for everything that has been submitted. Raises the first error."""
        with self._lock:
            pending = list(self._pending)
        for future in pending:
            future.result()

    def close(self, patience: float) -> None:
        """Finish what was submitted, and leave the group when the other ranks leave it, after `patience` seconds at
        the latest.
        """
        self._tasks.put(None)
        if self._member.failure is None:
            self._thread.join(patience)
            self._member.leave(patience)
        self.abort()

    def abort(self) -> None:
        """End at once: the other ranks raise RankLost."""
        self._member.close()
        self._endpoints.close()
        self._tasks.put(None)
        self._give_up(self._member.failure or GroupFailed("the group has been closed"))
        self._thread.join(1.0)

    def _forget(self, future: Future[Tensor]) -> None:
        with self._lock:
            self._pending.discard(future)

    def _give_up(self, error: GroupFailed) -> None:
        """Let go of everybody who waits, even where the worker itself hangs in somebody else's library."""
        self._endpoints.close()
        with self._lock:
            pending = list(self._pending)
        for future in pending:
            with contextlib.suppress(Exception):  # it has got its result in this very moment
                future.set_exception(error)

    # In the group's thread

    def _work(self) -> None:
        number = 0
        while (task := self._tasks.get()) is not None:
            try:
                result = self._perform(number, task.operation)
                if task.deliver is not None:
                    task.deliver(result)
            except BaseException as error:
                outcome: BaseException = error
                with contextlib.suppress(Exception):
                    task.future.set_exception(outcome)
            else:
                with contextlib.suppress(Exception):  # given up already
                    task.future.set_result(result)
            number += 1

    def _perform(self, number: int, operation: Operation) -> Tensor:
        fingerprint = operation.fingerprint(number)
        way = self._member.begin(number, operation.category, fingerprint)
        tried, began = False, time.monotonic()
        while True:
            self._prove_before(number, way)
            result = self._take(number, operation, way, fingerprint)
            if result is not None:
                self._count(operation, way.route, time.monotonic() - began, tried=tried)
                return result
            tried = True
            way = self._member.again(number, operation.category, way)

    def _take(self, number: int, operation: Operation, way: Way, fingerprint: int) -> Tensor | None:
        """The result by this way; None where it has led to nothing."""
        route = way.route
        if isinstance(route, Given):
            result = operation.result_from(route.data)
        elif route.is_switch and not operation.obstacle and self._path is not None:
            return self._through_switch(self._path, number, operation, way, route.epoch, fingerprint)
        else:
            try:
                result = self._endpoints.run(operation, number)
            except UsageError:  # on every rank alike, so the group can go on
                self._member.completed(number, None)
                raise
            except CaisError as error:
                raise self._member.failed(number, error.message) from error
        self._member.completed(number, None if operation.is_own else result.tobytes)
        return result

    def _through_switch(
        self, path: SwitchPath, number: int, operation: Operation, way: Way, epoch: int, fingerprint: int
    ) -> Tensor | None:
        try:
            with self._member.on_switch(path, way) as allowed:
                if not allowed:
                    return None
                result = path.run(operation, epoch, fingerprint)
                if not operation.is_own:
                    self._member.completed(number, result.tobytes)
        except OperationInterrupted:
            self._member.check()
            return None
        except ResultRefused as error:
            self._member.refused(number, error.message)
            return None
        except CaisError as error:
            raise self._member.failed(number, error.message) from error
        if operation.is_own and not self._member.commit(number, way):
            return None
        return result

    def _prove_before(self, number: int, way: Way) -> None:
        if isinstance(way.route, Given) or self._path is None:
            return
        segment = way.route.segment
        if not segment.prove or segment.first != number or segment.prove in self._proofs:
            return
        self._proofs.add(segment.prove)
        try:
            with self._member.on_switch(self._path, way) as allowed:
                wrong = self._path.prove(segment.prove_epoch) if allowed else "something else came in between"
        except CaisError as error:
            self._member.check()
            wrong = error.message
        self._member.proof(segment.prove, right=not wrong, text=wrong)

    def _count(self, operation: Operation, route: Route | Given, seconds: float, *, tried: bool) -> None:
        stats, size = self._stats, operation.array.nbytes
        reason = ""
        on_switch = not isinstance(route, Given) and route.is_switch and not operation.obstacle
        if isinstance(route, Given):
            stats.handed_out += 1
            reason = "another rank has handed the result out"
        elif on_switch:
            stats.on_switch += 1
            stats.repeats += tried
            stats.bytes_on_switch += size
        else:
            reason = operation.obstacle or route.reason
            stats.on_endpoints += 1
            stats.fallbacks += tried
            stats.bytes_on_endpoints += size
            stats.reasons[reason] += 1
        if self._usage is not None:
            self._usage.add(operation.category, on_switch, reason, seconds)
