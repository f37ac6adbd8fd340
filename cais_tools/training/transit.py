"""A rank's way through the switch: its endpoint, with the job of the day, as the watch over it wants to see it."""

from __future__ import annotations

import threading

import numpy as np

from cais_tools.links import Link
from cais_tools.training.operations import Operation, Tensor
from cais_tools.wire import Job
from cais_tools.wire.header import Op
from cais_tools.worker import Counters, Endpoint, Membership, Timing, collectives

__all__ = ["SwitchPath"]

_PACKETS = 4
_PROOF_SECONDS = 0.3
_PROOF_LAYER = 0x7FFF


class SwitchPath:
    """One rank on its link to the switch. `run` and `prove` are for one thread; the rest for any.

    Raises OperationInterrupted, ResultRefused.
    """

    def __init__(self, link: Link, membership: Membership, timing: Timing) -> None:
        self.link = link
        self._membership = membership
        self._epoch = 0
        self._endpoint = Endpoint(link, membership, Job.of_epoch(0), timing=timing)

    @property
    def counters(self) -> Counters:
        return self._endpoint.counters

    def run(self, operation: Operation, epoch: int, fingerprint: int) -> Tensor:
        """Do it in the job `epoch`; a new one begins with it."""
        self._adopt(epoch)
        return self._endpoint.run(operation.plan(self._membership), fingerprint=fingerprint)

    def prove(self, epoch: int) -> str:
        """Reduce a test vector in a new job; what is wrong with the sum, if anything."""
        member = self._membership
        vectors = [_test_vector(rank, member.lanes) for rank in range(member.ranks)]
        self._adopt(epoch)
        patience = threading.Timer(_PROOF_SECONDS, self._endpoint.interrupt)
        patience.start()
        try:
            plan = collectives.all_reduce(member, vectors[member.rank], Op.ALLREDUCE, _PROOF_LAYER)
            total = self._endpoint.run(plan)
        finally:
            patience.cancel()
            patience.join()
        wrong = np.flatnonzero(total != np.sum(vectors, axis=0, dtype=np.int32))
        return f"{len(wrong)} of {len(total)} elements of the test vector are wrong" if len(wrong) else ""

    def _adopt(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._epoch = epoch
            self._endpoint.adopt(Job.of_epoch(epoch))

    def interrupt(self) -> None:
        self._endpoint.interrupt()

    def waits_for(self) -> tuple[int, int] | None:
        progress = self._endpoint.progress
        if progress is None or progress.done >= progress.packets:
            return None
        return progress.waiting_for, progress.done


def _test_vector(rank: int, lanes: int) -> Tensor:
    """Values that differ by rank, lane and packet, and whose sums wrap."""
    numbers = np.arange(_PACKETS * lanes, dtype=np.uint32)
    return (numbers * np.uint32(0x9E3779B1) + np.uint32((rank + 1) * 0x01000193)).view(np.int32)
