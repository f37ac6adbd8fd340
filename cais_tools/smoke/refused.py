"""What exactly is wrong with a result that a rank refused again and again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cais_tools.smoke.cause import Evidence, likely_cause
from cais_tools.smoke.plan import Step
from cais_tools.smoke.rehearsal import payloads, rehearse
from cais_tools.smoke.report import Mismatch
from cais_tools.worker import Membership, ResultRefused
from cais_tools.worker.transfer import Rows, Transfer

__all__ = ["explain_refused"]


def explain_refused(
    step: Step,
    error: ResultRefused,
    members: Sequence[Membership],
    *,
    header_group_id: int | None,
    frame: Path | None,
) -> Mismatch | None:
    """Compare the last refused payload with the reference; None where it is right, or where there is none.

    The operation must have been the first of its job, as repetitions are. `expected` and `got` are the words that
    travel: of a sum of floats, integers in units of the block.
    """
    found = _packet(step, members, error.packet)
    if error.payload is None or found is None:
        return None
    transfers, result, index = found
    wrong = np.flatnonzero(result[index] != error.payload)
    if not len(wrong):
        return None
    lane = int(wrong[0])
    rank, ports = error.member.rank, error.member.ports
    cause = likely_cause(
        Evidence(
            op=transfers[0].op,
            expected=result[index],
            got=error.payload,
            shares=[payloads(transfer)[index] for transfer in transfers],
            elsewhere={
                f"chunk {chunk} of rank {rank}": result[other]
                for other, chunk in enumerate(transfers[0].chunk_ids.tolist())
                if other != index
            },
            ports=[ports[other] for other in range(len(members))],
            group_id=error.member.group_id,
            header_group_id=header_group_id,
        )
    )
    return Mismatch(
        step=step.number,
        operation=step.operation.name,
        rank=rank,
        chunk=error.chunk_id,
        lane=lane,
        expected=int(result[index, lane]),
        got=int(error.payload[lane]),
        cause=cause,
        frame=frame,
    )


def _packet(step: Step, members: Sequence[Membership], packet: int) -> tuple[list[Transfer], Rows, int] | None:
    """The transfers of all ranks that the packet belongs to, their result, and its index in them."""
    for transfers, result in rehearse(step, members):
        if packet < transfers[0].packets:
            return transfers, result, packet
        packet -= transfers[0].packets
    return None
