"""The ranks' plans in lockstep, with a perfect switch in between: no sockets, no threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cais_tools.smoke.collective import plan_of
from cais_tools.smoke.plan import Step, Tensor
from cais_tools.smoke.reference import combine
from cais_tools.worker.config import Membership
from cais_tools.worker.transfer import Rows, Transfer

Spoil = Callable[[Transfer, Rows], Rows]


def run_step(
    step: Step, lanes: int, spoil: Spoil = lambda _, rows: rows
) -> tuple[list[Tensor | None], list[list[Transfer]]]:
    """What each rank gets, and the transfers of all ranks. `spoil` may change what the switch sends out."""
    plans = [plan_of(step, Membership(0, rank, step.ranks, 64, lanes)) for rank in range(step.ranks)]
    sent: list[list[Transfer]] = []
    results: list[Tensor | None] = [None] * step.ranks
    transfers = [next(plan) for plan in plans]
    while True:
        sent.append(transfers)
        rows = spoil(transfers[0], combine(transfers[0].op, [_filled(each, lanes) for each in transfers]))
        following: list[Transfer] = []
        for rank, plan in enumerate(plans):
            try:
                following.append(plan.send(rows))
            except StopIteration as stop:
                results[rank] = stop.value
        if not following:
            return results, sent
        transfers = following


def _filled(transfer: Transfer, lanes: int) -> Rows:
    rows = np.zeros((transfer.packets, lanes), np.int32)
    rows[slice(None) if transfer.filled is None else transfer.filled] = transfer.payload
    return rows
