"""One rank on one link: the loop that sends, waits and receives until an operation is done."""

from __future__ import annotations

import select
import threading
import time
from dataclasses import replace
from typing import Any, TypeVar

from numpy.typing import NDArray

from cais_tools.errors import UsageError
from cais_tools.links import Link
from cais_tools.wire.frames import Frames
from cais_tools.wire.header import Op
from cais_tools.wire.job import Job
from cais_tools.worker import collectives
from cais_tools.worker.config import Membership, Timing
from cais_tools.worker.errors import OperationInterrupted, OperationTimedOut, Progress
from cais_tools.worker.exchange import Counters, Exchange
from cais_tools.worker.pacing import Pacing
from cais_tools.worker.transfer import Rows, Transfer

__all__ = ["Endpoint"]

T = TypeVar("T")
Tensor = NDArray[Any]

# How soon an interruption is noticed, and for how long a full link is waited for before its frames count as lost.
_LONGEST_WAIT = 0.02
_LINK_FULL = 0.1
_BATCHES = 8  # batches of arrived frames that are taken in at once


class Endpoint:
    """A rank of a group. Every rank calls the same operations in the same order, with tensors of one shape and type.

    Inputs are not changed, results are new arrays, and nothing is returned before every packet is verified. After an
    error the ranks no longer agree on numbers: give all of them a new job (`adopt`) and repeat the operation.
    Not thread-safe, but for `interrupt`, `progress` and `counters`. Does not close the link.
    """

    def __init__(self, link: Link, member: Membership, job: Job, *, timing: Timing | None = None) -> None:
        self.member = member
        self.link = link
        self._timing = timing or Timing()
        self._pacing = Pacing(self._timing, member.window)
        self._counters = Counters()
        self._interrupted = threading.Event()
        self._poll = select.poll()
        self._poll.register(link.fileno(), select.POLLIN)
        self.adopt(job)

    def adopt(self, job: Job) -> None:
        """Begin a job: number packets from its first on, and forget what was under way."""
        self.job = job
        self._sent_in_job = 0
        self._exchange: Exchange | None = None
        self._in_step = True
        self._interrupted.clear()

    def interrupt(self) -> None:
        """End the operation that runs, or the next one, with OperationInterrupted; any thread may call this."""
        self._interrupted.set()

    @property
    def progress(self) -> Progress | None:
        """The operation that runs or ran last in this job; None before the first."""
        exchange = self._exchange
        return None if exchange is None else exchange.progress

    @property
    def counters(self) -> Counters:
        """A copy of what has been sent and received since the endpoint exists."""
        return replace(self._counters)

    def all_reduce(self, array: Tensor, *, op: Op = Op.ALLREDUCE, layer_id: int = 0, bfloat16: bool = False) -> Tensor:
        """Reduce over all ranks (see `collectives.all_reduce` for types and exactness). Same shape and type.

        With `bfloat16`, here and below, tensors are uint16 and hold the bits (torch: `tensor.view(torch.uint16)`).
        """
        return self.run(collectives.all_reduce(self.member, array, op, layer_id, bfloat16=bfloat16))

    def reduce_scatter(self, array: Tensor, *, layer_id: int = 0, bfloat16: bool = False) -> Tensor:
        """Sum over all ranks, of which each rank gets its part along the first dimension."""
        return self.run(collectives.reduce_scatter(self.member, array, layer_id, bfloat16=bfloat16))

    def reduce(self, array: Tensor, root: int, *, layer_id: int = 0, bfloat16: bool = False) -> Tensor | None:
        """Sum over all ranks, for `root` alone; the others get None."""
        return self.run(collectives.reduce(self.member, array, root, layer_id, bfloat16=bfloat16))

    def all_gather(self, array: Tensor, *, layer_id: int = 0) -> Tensor:
        """Every rank's array, stacked: shape (n, *array.shape)."""
        return self.run(collectives.all_gather(self.member, array, layer_id))

    def broadcast(self, array: Tensor, owner: int, *, layer_id: int = 0) -> Tensor:
        """The owner's array; the others' only say shape and type."""
        return self.run(collectives.broadcast(self.member, array, owner, layer_id))

    def run(self, plan: collectives.Plan[T], *, fingerprint: int = 0) -> T:
        """Carry out a plan of `collectives`.

        `fingerprint`, 32 bits, goes into every integrity tag: ranks that disagree about it refuse each other's results.

        Raises OperationTimedOut when no result comes for too long, ResultRefused when the switch holds a damaged
        result, OperationInterrupted after `interrupt`, UsageError for tensors that cannot be sent.
        """
        if not self._in_step:
            raise UsageError(
                f"rank {self.member.rank} is out of step with its group after an operation that failed",
                hint="give all ranks a new job (adopt) and repeat the operation",
            )
        try:
            transfer = next(plan)
            while True:
                transfer = plan.send(self._carry_out(transfer.marked(fingerprint)))
        except StopIteration as stop:
            return stop.value

    def _carry_out(self, transfer: Transfer) -> Rows:
        clock = time.monotonic
        exchange = self._exchange = Exchange(
            transfer,
            self.member,
            epoch=self.job.epoch,
            first=self.job.first_seq + self._sent_in_job,
            before=self._sent_in_job,
            pacing=self._pacing,
            timing=self._timing,
            counters=self._counters,
            now=clock(),
        )
        self._in_step = False
        while not exchange.complete:
            if self._interrupted.is_set():
                raise OperationInterrupted(f"rank {self.member.rank} was told to stop waiting")
            for frames in exchange.poll_transmit(clock()):
                self._send(frames)
            self._receive(exchange)
            now = clock()
            if not exchange.complete and exchange.waited(now) >= self._timing.timeout:
                raise OperationTimedOut(self.member, exchange.progress, exchange.waited(now))
        self._sent_in_job += transfer.packets
        self._in_step = True
        return exchange.results

    def _receive(self, exchange: Exchange) -> None:
        wait = min(max(exchange.wake_up() - time.monotonic(), 0.0), _LONGEST_WAIT)
        if not self._poll.poll(wait * 1000):
            return
        frames: list[bytes] = []
        for _ in range(_BATCHES):
            batch = self.link.recv()
            if not batch:
                break
            frames += batch
        if frames:
            exchange.receive(frames, time.monotonic())

    def _send(self, frames: Frames) -> None:
        """Hand all frames to the link; what does not fit in time is lost, and sent again as such."""
        taken = self.link.send_matrix(frames)
        if taken == len(frames):
            return
        give_up = time.monotonic() + _LINK_FULL
        while taken < len(frames) and time.monotonic() < give_up:
            time.sleep(0.0005)
            taken += self.link.send_matrix(frames[taken:])
