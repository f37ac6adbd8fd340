"""From a refused payload to the lane that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cais_tools.smoke.plan import OPERATIONS, Plan, Step
from cais_tools.smoke.refused import explain_refused
from cais_tools.smoke.rehearsal import payloads, rehearse
from cais_tools.smoke.report import Mismatch
from cais_tools.worker import Membership, ResultRefused

LANES, RANKS = 16, 4
PORTS = {rank: rank + 5 for rank in range(RANKS)}
MEMBERS = [Membership(0, rank, RANKS, 64, LANES, PORTS) for rank in range(RANKS)]


def _step(name: str) -> Step:
    return Plan((OPERATIONS[name],), steps=5, ranks=RANKS, size=1000, seed=3).step(2, OPERATIONS[name])


def _explain(step: Step, packet: int, payload: NDArray[np.int32] | None, chunk: int) -> Mismatch | None:
    error = ResultRefused(
        MEMBERS[1],
        op=step.operation.op,
        layer_id=2,
        chunk_id=chunk,
        seq_num=packet,
        packet=packet,
        payload=payload,
        cause="",
    )
    return explain_refused(step, error, MEMBERS, header_group_id=0, frame=Path("x.pcap"))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_flipped_bit_is_found_in_every_packet_of_every_operation(name: str) -> None:
    """A float sum's exponents too: they travel in a transfer of their own, ahead."""
    step, before = _step(name), 0
    for transfers, result in rehearse(step, MEMBERS):
        for index in (0, transfers[0].packets - 1):
            payload = result[index].copy()
            payload[3] ^= np.int32(4)
            chunk = int(transfers[0].chunk_ids[index])
            mismatch = _explain(step, before + index, payload, chunk)
            assert mismatch is not None
            assert (mismatch.step, mismatch.operation, mismatch.rank) == (2, name, 1)
            assert (mismatch.chunk, mismatch.lane) == (chunk, 3)
            assert (mismatch.expected, mismatch.got) == (result[index, 3], payload[3])
            assert mismatch.cause.startswith("a flipped bit (bit 2 of lane 3)")
        before += transfers[0].packets


def test_a_rank_that_is_missing_is_named() -> None:
    step = _step("sum")
    ((transfers, result),) = rehearse(step, MEMBERS)
    mismatch = _explain(step, 2, result[2] - payloads(transfers[3])[2], 2)
    assert mismatch is not None
    assert mismatch.cause == "missing rank: the share of rank 3 (port 8) is not in the result"


def test_a_right_payload_and_none_at_all_are_no_mismatch() -> None:
    step = _step("sum")
    ((_, result),) = rehearse(step, MEMBERS)
    assert _explain(step, 1, result[1].copy(), 1) is None
    assert _explain(step, 1, None, 1) is None
