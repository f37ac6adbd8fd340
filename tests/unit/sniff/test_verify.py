"""`--verify`: a capture that is right, and exactly the right finding for each way in which it can be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.sniff.batch import batch_of
from cais_tools.sniff.decode import decode
from cais_tools.sniff.mismatch import Mismatch
from cais_tools.sniff.verify import CHANGED, CUT, MISSING, NO_CONTRIBUTION, NO_PAYLOAD, Verify, VerifyReport
from cais_tools.wire.header import ETHERNET_BYTES, HEADER_BYTES, Op
from tests.unit.sniff.traffic import GROUP, INTERFACES, TENSORS, aggregate, captured, contribution, result

PAYLOAD = ETHERNET_BYTES + HEADER_BYTES
BEFORE = [each for seq in (1, 2, 3) for each in aggregate(seq)]
"""What is right, and teaches who is a member."""


def verified(frames: Sequence[bytes], cut: int | None = None) -> VerifyReport:
    verify = Verify(INTERFACES)
    verify.feed(captured(frames, cut))
    verify.finish()
    return verify.report()


def flipped(frame: bytes, byte: int, bit: int = 0) -> bytes:
    changed = bytearray(frame)
    changed[byte] ^= 1 << bit
    return bytes(changed)


def the_mismatch(frames: Sequence[bytes]) -> Mismatch:
    report = verified(frames)
    assert not report.passed
    assert (report.verified, report.mismatched) == (3, 1)
    (found,) = report.mismatches
    return found


@pytest.mark.parametrize("op", list(Op))
def test_every_operation_is_recomputed(op: Op) -> None:
    report = verified(aggregate(1, op))
    assert report.passed
    assert (report.aggregates, report.verified, report.results, report.lanes) == (1, 1, 1, 4)


def test_a_lane_that_is_wrong_is_shown_with_all_contributions() -> None:
    wrong = the_mismatch([*BEFORE, *aggregate(4)[:-1], flipped(result(4), PAYLOAD + 7, 4)])
    assert (wrong.group_id, wrong.seq_num, wrong.field, wrong.wrong_lanes) == (GROUP, 4, "lane 1", 1)
    assert (wrong.expected, wrong.value) == (203, 203 ^ 16)
    assert [(each.sender, each.value) for each in wrong.contributions] == [
        (f"rank {rank}", TENSORS[rank][1]) for rank in range(3)
    ]
    assert wrong.cause == "one bit is flipped: bit 4"


def test_a_rank_added_twice() -> None:
    twice = result(4, ranks=(0, 1, 1, 2))
    assert the_mismatch([*BEFORE, *aggregate(4)[:-1], twice]).cause == "as if rank 1 had been added twice"


def test_a_rank_not_added() -> None:
    without = result(4, ranks=(0, 2))
    cause = the_mismatch([*BEFORE, *aggregate(4)[:-1], without]).cause
    assert cause == "as if rank 1 had not contributed: is it a member of the group?"


def test_another_operation() -> None:
    other = bytearray(result(4))
    other[PAYLOAD:] = result(4, Op.ALLREDUCE_MAX)[PAYLOAD:]
    assert the_mismatch([*BEFORE, *aggregate(4)[:-1], bytes(other)]).cause == "that is what allreduce-max gives"


def test_a_wrong_tag_with_right_lanes() -> None:
    wrong = the_mismatch([*BEFORE, *aggregate(4)[:-1], flipped(result(4), PAYLOAD - 1)])
    assert (wrong.field, wrong.cause) == ("reserved", "the lanes are right, the tag is not")


def test_a_contribution_that_was_not_captured_is_no_mismatch() -> None:
    report = verified([*BEFORE, contribution(4, 0), contribution(4, 2), result(4)])
    assert (report.verified, report.mismatched) == (3, 0)
    assert report.not_verifiable == {MISSING: 1}
    assert report.missing == {"rank 1": 1}


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([result(4)], NO_CONTRIBUTION),
        ([contribution(4, 0), *aggregate(4)[1:], contribution(4, 0, lanes=(1, 2, 3, 4))], CHANGED),
        ([*aggregate(4)[:-1], result(4, payload=False)], NO_PAYLOAD),
    ],
)
def test_what_cannot_be_verified_is_counted_and_never_right(frames: list[bytes], reason: str) -> None:
    report = verified([*BEFORE, *frames])
    assert report.not_verifiable == {reason: 1}
    assert (report.aggregates, report.verified, report.mismatched) == (4, 3, 0)


def test_a_snaplen_leaves_nothing_to_verify() -> None:
    report = verified(BEFORE, cut=40)
    assert not report.passed
    assert report.not_verifiable == {CUT: 3}


def test_without_results_nothing_is_right() -> None:
    report = verified([contribution(seq, rank) for seq in range(4) for rank in range(3)])
    assert (report.passed, report.without_result) == (False, 4)


def test_repetitions_add_nothing() -> None:
    again = [contribution(4, 1), *aggregate(4)[:3], contribution(4, 1), result(4), contribution(4, 2), result(4)]
    report = verified([*BEFORE, *again])
    assert report.passed
    assert (report.verified, report.results) == (4, 5)


def test_a_header_alone_is_the_identity() -> None:
    """Two ranks join an all-gather; the result is the owner's payload."""
    lanes = TENSORS[1]
    frames = [contribution(1, rank, Op.ALLGATHER, lanes if rank == 1 else ()) for rank in range(3)]
    answer = bytearray(result(1, Op.ALLGATHER, ranks=(1,)))
    total = sum(int.from_bytes(each[PAYLOAD - 4 : PAYLOAD], "big") for each in frames) % 2**32
    answer[PAYLOAD - 4 : PAYLOAD] = total.to_bytes(4, "big")
    assert verified([*frames, bytes(answer)]).passed


@given(byte=st.integers(PAYLOAD, PAYLOAD + 15), bit=st.integers(0, 7), seq=st.integers(0, 2))
def test_any_flipped_bit_of_a_result_is_found(byte: int, bit: int, seq: int) -> None:
    frames = [each for number in range(3) for each in aggregate(number)]
    frames[4 * seq + 3] = flipped(frames[4 * seq + 3], byte, bit)
    report = verified(frames)
    assert report.mismatched == 1
    assert report.mismatches[0].seq_num == seq


@given(st.lists(st.binary(max_size=80).map(lambda tail: aggregate(1)[3][:14] + tail), max_size=8))
def test_nothing_raises(frames: list[bytes]) -> None:
    verify = Verify(INTERFACES)
    verify.feed(decode(batch_of(frames)))
    verify.finish()
    assert verify.report().mismatched <= len(frames)
