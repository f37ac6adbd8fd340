"""All ranks of a group in one process, a thread for each: who repeats damaged operations, and who knows who is missing.

Over several machines this is the controller's part (design, section 6).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from cais_tools.errors import CaisError
from cais_tools.wire.job import Job
from cais_tools.worker.config import Patience
from cais_tools.worker.endpoint import Endpoint
from cais_tools.worker.errors import OperationInterrupted, OperationTimedOut, ResultRefused

__all__ = ["LocalGroup"]

T = TypeVar("T")


class LocalGroup:
    """The ranks' endpoints, by rank, and how a new job is agreed with the switch.

    `renew` gives the group's entry on the switch another epoch and returns the job that goes with it. `heard` returns
    the frames that the switch has received so far, by port; it finds out whose frames do not arrive.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        renew: Callable[[], Job],
        heard: Callable[[], Mapping[int, int]] | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.endpoints = list(endpoints)
        self.repeats = 0
        """How many times an operation was done again under new numbers."""
        self._renew = renew
        self._heard = heard
        self._patience = patience or Patience()
        self._stopped = threading.Event()
        self._in_step = True
        self._threads = ThreadPoolExecutor(len(self.endpoints), thread_name_prefix="rank")

    def run(self, call: Callable[[Endpoint], T]) -> list[T]:
        """Call `call(endpoint)` for all ranks at once and return what it returns, by rank.

        When a rank refuses a result or waits too long, all of them repeat the whole call under a new job: `call` must
        not change its inputs. Raises OperationTimedOut, naming the ranks that are missing, or ResultRefused when the
        group's patience is at an end, OperationInterrupted after `stop`.
        """
        heard_before: Mapping[int, int] = {}
        repeats = time_outs = 0
        while True:
            if not self._in_step:
                self._begin_job()
            values, errors = self._attempt(call)
            if not errors:
                return values
            error = max(errors, key=_weight)
            time_outs += isinstance(error, OperationTimedOut)
            hopeless = repeats == self._patience.repeats or time_outs > self._patience.time_outs
            if hopeless or not isinstance(error, (OperationTimedOut, ResultRefused)):
                if isinstance(error, OperationTimedOut):
                    error = error.with_missing(self._missing(error, heard_before))
                raise error
            if time_outs:
                heard_before = self._frames_heard()
            repeats += 1
            self.repeats += 1

    def stop(self) -> None:
        """End what runs, and whatever would run from now on, with OperationInterrupted; any thread may call this."""
        self._stopped.set()
        self._interrupt()

    def close(self) -> None:
        """End the threads. The links stay open."""
        self.stop()
        self._threads.shutdown()

    def _attempt(self, call: Callable[[Endpoint], T]) -> tuple[list[T], list[BaseException]]:
        futures = [self._threads.submit(self._guarded, call, endpoint) for endpoint in self.endpoints]
        try:
            wait(futures)
        except BaseException:
            # Ctrl-C: the threads must not outlive the one that waits for them.
            self._interrupt()
            wait(futures)
            raise
        errors = [error for error in map(Future[T].exception, futures) if error is not None]
        self._in_step = not errors
        return [] if errors else [future.result() for future in futures], errors

    def _guarded(self, call: Callable[[Endpoint], T], endpoint: Endpoint) -> T:
        try:
            return call(endpoint)
        except BaseException:
            self._interrupt()
            raise

    def _interrupt(self) -> None:
        self._in_step = False
        for endpoint in self.endpoints:
            endpoint.interrupt()

    def _begin_job(self) -> None:
        self._check_stopped()
        job = self._renew()
        for endpoint in self.endpoints:
            endpoint.adopt(job)
        # `adopt` forgets interrupts; of a `stop` that comes after this line the endpoints know themselves.
        self._check_stopped()
        self._in_step = True

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise OperationInterrupted(f"group {self.endpoints[0].member.group_id} was stopped")

    def _frames_heard(self) -> Mapping[int, int]:
        # This only explains a failure, so it must not become one.
        with contextlib.suppress(CaisError):
            if self._heard is not None:
                return dict(self._heard())
        return {}

    def _missing(self, error: OperationTimedOut, heard_before: Mapping[int, int]) -> dict[int, str]:
        """Return the ranks that keep the others waiting, and why we think so."""
        missing: dict[int, str] = {}
        # Asking takes time, so it is done only around the last attempt.
        heard_now = self._frames_heard()
        for endpoint in self.endpoints:
            member = endpoint.member
            port = member.ports.get(member.rank)
            if port is not None and port in heard_now and heard_now[port] == heard_before.get(port, 0):
                missing[member.rank] = "has sent frames of which none has reached the switch"
            progress = endpoint.progress
            if progress is None or progress.sent_in_job <= error.progress.waiting_for:
                missing[member.rank] = "has not sent its share"
        return missing


def _weight(error: BaseException) -> int:
    """Rank errors by how much they explain: an interruption is only the echo of another rank's error."""
    order = (OperationInterrupted, ResultRefused, OperationTimedOut, CaisError)
    return next((weight for weight, kind in enumerate(order) if isinstance(error, kind)), len(order))
