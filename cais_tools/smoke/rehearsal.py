"""A step without a network: the plans of all ranks in lockstep, NumPy in the place of the switch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cais_tools.smoke.collective import plan_of
from cais_tools.smoke.plan import Step
from cais_tools.smoke.reference import combine
from cais_tools.wire import Op
from cais_tools.worker.config import Membership
from cais_tools.worker.transfer import Rows, Transfer

__all__ = ["payloads", "rehearse"]

_IDENTITY = {Op.ALLREDUCE_MAX: -(2**31), Op.ALLREDUCE_MIN: 2**31 - 1, Op.ALLREDUCE_PRODUCT: 1}


def rehearse(step: Step, members: Sequence[Membership]) -> Iterator[tuple[list[Transfer], Rows]]:
    """The transfers of all ranks, one by one, and the result that a switch would give them, shape (packets, lanes)."""
    plans = [plan_of(step, member) for member in members]
    try:
        transfers = [next(plan) for plan in plans]
        while True:
            result = combine(transfers[0].op, [payloads(transfer) for transfer in transfers])
            yield transfers, result
            transfers = [plan.send(result) for plan in plans]
    except StopIteration:
        return


def payloads(transfer: Transfer) -> Rows:
    """The payload of every packet, the identity element where this rank only joins."""
    if transfer.filled is None:
        return transfer.payload
    rows = np.full((transfer.packets, transfer.payload.shape[1]), _IDENTITY.get(transfer.op, 0), np.int32)
    rows[transfer.filled] = transfer.payload
    return rows
