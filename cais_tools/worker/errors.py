"""What can go wrong with an operation.

DeadlineExceeded
└── OperationTimedOut     no result for too long
CheckFailed
└── ResultRefused         the stored result is damaged: all ranks repeat the operation under new numbers
CaisError
└── OperationInterrupted  another rank's trouble ended it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cais_tools.errors import CaisError, CheckFailed, DeadlineExceeded
from cais_tools.wire.header import Op
from cais_tools.worker.config import Membership

__all__ = ["OperationInterrupted", "OperationTimedOut", "Progress", "ResultRefused"]


@dataclass(frozen=True)
class Progress:
    """How far a rank is. `sent_in_job` counts the packets sent since the job began, each once."""

    op: Op
    layer_id: int
    packets: int
    sent: int
    done: int
    waiting_for: int
    """First packet of the job that has no result yet, counted from 0 like `sent_in_job`."""
    sent_in_job: int


class OperationTimedOut(DeadlineExceeded):
    """No new result for `waited` seconds.

    A rank cannot see who is missing; whoever sees all ranks fills it in (`with_missing`).
    """

    def __init__(
        self, member: Membership, progress: Progress, waited: float, missing: Mapping[int, str] | None = None
    ) -> None:
        self.member = member
        self.progress = progress
        self.waited = waited
        self.missing = dict(missing or {})
        what = f"{progress.op.label} in group {member.group_id}, layer {progress.layer_id}"
        state = f"{progress.done} of {progress.packets} packets done, no result for {waited:.3g} s"
        silent = "; ".join(f"{member.describe_rank(rank)} {why}" for rank, why in sorted(self.missing.items()))
        super().__init__(
            f"{what}: {member.describe_rank(member.rank)} has {state}" + (f"; {silent}" if silent else ""),
            hint=self._advice(),
        )

    def with_missing(self, missing: Mapping[int, str]) -> OperationTimedOut:
        """Return the error with the ranks that are missing, each with what is known about it."""
        return OperationTimedOut(self.member, self.progress, self.waited, missing)

    def _advice(self) -> str:
        if self.missing:
            ports = sorted({self.member.ports[rank] for rank in self.missing if rank in self.member.ports})
            which = f" of port {', '.join(map(str, ports))}" if ports else ""
            return f"check the link{which}, its number on the switch, and that the process of the rank still runs"
        members = ", ".join(self.member.describe_rank(rank) for rank in sorted(self.member.ports))
        return (
            "check that the switch still runs, that it has a rule for this operation, and that the group has exactly "
            f"these members{': ' + members if members else ''} (cais dump-rules, cais show-stats)"
        )


class ResultRefused(CheckFailed):
    """A result was damaged twice, so what the switch has stored is bad: repeat the operation under new numbers.

    `packet` is its number in the job, from 0; `payload`, shape (lanes,), is what it brought, None if nothing.
    """

    def __init__(
        self,
        member: Membership,
        *,
        op: Op,
        layer_id: int,
        chunk_id: int,
        seq_num: int,
        packet: int,
        payload: NDArray[np.int32] | None,
        cause: str,
    ) -> None:
        self.member = member
        self.op = op
        self.layer_id = layer_id
        self.chunk_id = chunk_id
        self.seq_num = seq_num
        self.packet = packet
        self.payload = payload
        self.cause = cause
        super().__init__(
            f"{op.label} in group {member.group_id}, layer {layer_id}, chunk {chunk_id} (seq_num {seq_num}): "
            f"{member.describe_rank(member.rank)} refused the result twice: {cause}",
            hint="all ranks have to repeat the operation under new numbers",
        )


class OperationInterrupted(CaisError):
    """Another rank of the group could not go on, so this one stopped waiting."""
