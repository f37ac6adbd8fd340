"""`--verify` and `--slots` on what the embedded switch did in a smoke test, as it was and with one thing changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cais_tools.links.pcap import read_pcap
from cais_tools.sniff.batch import CaptureInterface, LinkType, batch_of
from cais_tools.sniff.decode import decode
from cais_tools.sniff.slots import Slots
from cais_tools.sniff.verify import CHANGED, MISSING, Verify, VerifyReport
from cais_tools.wire.frames import source_mac
from cais_tools.wire.header import ETHERNET_BYTES, HEADER_BYTES, SWITCH_MAC, Header, Op, mac_bytes
from tests.functional.runner import invoke

RANKS = 3
PAYLOAD = ETHERNET_BYTES + HEADER_BYTES
INTERFACES = (CaptureInterface("recorded", LinkType.ETHERNET),)
Frames = list[bytes]


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """All operations, floats too, of three ranks."""
    path: Path = tmp_path_factory.mktemp("recorded") / "smoke.pcap"
    done = invoke("smoke", "--ranks", str(RANKS), "--steps", "2", "--size", "1500", "--seed", "1", "--write", str(path))
    assert done.exit_code == 0, done.stderr
    return [frame for _, frame in read_pcap(path)]


def verified(frames: Frames) -> VerifyReport:
    verify = Verify(INTERFACES)
    verify.feed(decode(batch_of(frames)))
    verify.finish()
    return verify.report()


def header(frame: bytes) -> Header:
    return Header.unpack(frame, ETHERNET_BYTES)


def is_result(frame: bytes) -> bool:
    return frame[6:12] == mac_bytes(SWITCH_MAC)


def find(frames: Frames, wanted: Callable[[bytes, Header], bool], nth: int = 5) -> int:
    return [i for i, frame in enumerate(frames) if wanted(frame, header(frame))][nth]


def sum_of_rank(rank: int) -> Callable[[bytes, Header], bool]:
    """An int32 sum's contribution: in the first step, layer 1."""
    return lambda frame, it: (
        it.op_type == Op.ALLREDUCE
        and it.layer_id == 1
        and it.payload_len > 0
        and frame[6:12] == mac_bytes(source_mac(rank))
    )


def test_all_that_the_switch_did_is_right(frames: Frames) -> None:
    report = verified(frames)
    assert report.passed
    assert (report.mismatched, report.not_verifiable, report.without_result) == (0, {}, 0)
    assert report.verified == report.aggregates == len({header(frame).seq_num for frame in frames})
    assert report.results == sum(map(is_result, frames))


@pytest.mark.parametrize("op", list(Op))
def test_a_flipped_bit_in_every_copy_of_a_result(frames: Frames, op: Op) -> None:
    at = find(frames, lambda frame, it: is_result(frame) and it.op_type == op and it.payload_len > 0)
    seq_num = header(frames[at]).seq_num
    spoiled = [
        frame[: PAYLOAD + 15] + bytes([frame[PAYLOAD + 15] ^ 8]) + frame[PAYLOAD + 16 :]
        if is_result(frame) and header(frame).seq_num == seq_num and header(frame).payload_len
        else frame
        for frame in frames
    ]
    report = verified(spoiled)
    assert (report.mismatched, report.not_verifiable) == (1, {})
    (wrong,) = report.mismatches
    assert (wrong.seq_num, wrong.field, wrong.wrong_lanes) == (seq_num, "lane 3", 1)
    assert len(wrong.contributions) == RANKS
    assert wrong.cause == "one bit is flipped: bit 3"


def test_one_spoiled_copy_acquits_the_switch(frames: Frames) -> None:
    at = find(frames, lambda frame, it: is_result(frame) and it.op_type == Op.ALLREDUCE_MAX and it.payload_len > 0)
    spoiled = [*frames[:at], frames[at][:PAYLOAD] + b"\xa5" * 4 + frames[at][PAYLOAD + 4 :], *frames[at + 1 :]]
    (wrong,) = verified(spoiled).mismatches
    assert wrong.number == at + 1
    assert wrong.cause == "of 3 copies of this result 2 are right: spoiled on the way"


def test_a_contribution_that_is_missing_is_no_mismatch(frames: Frames) -> None:
    at = find(frames, sum_of_rank(1))
    report = verified(frames[:at] + frames[at + 1 :])
    assert (report.mismatched, report.not_verifiable, report.missing) == (0, {MISSING: 1}, {"rank 1": 1})
    assert report.verified == report.aggregates - 1


def test_a_contribution_that_comes_twice_adds_nothing(frames: Frames) -> None:
    at = find(frames, sum_of_rank(1))
    doubled = [*frames, frames[at]]
    assert verified(doubled).passed
    slots = Slots(INTERFACES)
    found = [*slots.feed(decode(batch_of(doubled))), *slots.finish()]
    assert [(slot.seq_num, sum(slot.duplicates.values())) for slot in found if slot.duplicates] == [
        (header(frames[at]).seq_num, 1)
    ]


def test_a_contribution_in_another_group(frames: Frames) -> None:
    at = find(frames, sum_of_rank(2))
    changed = bytearray(frames[at])
    changed[ETHERNET_BYTES + 1] = 9
    swapped = [*frames[:at], bytes(changed), *frames[at + 1 :]]
    report = verified(swapped)
    assert (report.mismatched, report.not_verifiable, report.missing) == (0, {MISSING: 1}, {"rank 2": 1})
    assert report.without_result == 1
    slots = Slots(INTERFACES)
    found = [*slots.feed(decode(batch_of(swapped))), *slots.finish()]
    lonely = [slot for slot in found if slot.group_id == 9]
    assert [(slot.results, len(slot.contributed)) for slot in lonely] == [(0, 1)]


def test_a_contribution_changed_before_it_was_captured(frames: Frames) -> None:
    """The sum is what the contributions make, and still a receiver refuses it: the rank's own tag does not fit."""
    at = find(frames, sum_of_rank(1))
    seq_num = header(frames[at]).seq_num

    def plus_one(frame: bytes) -> bytes:
        lane = (int.from_bytes(frame[PAYLOAD : PAYLOAD + 4], "big") + 1) % 2**32
        return frame[:PAYLOAD] + lane.to_bytes(4, "big") + frame[PAYLOAD + 4 :]

    changed = [
        plus_one(frame) if i == at or (is_result(frame) and header(frame).seq_num == seq_num) else frame
        for i, frame in enumerate(frames)
    ]
    report = verified(changed)
    (wrong,) = report.mismatches
    assert (wrong.seq_num, wrong.field, wrong.number) == (seq_num, "reserved", at + 1)
    assert wrong.cause is not None
    assert "the tag of rank 1 does not fit" in wrong.cause


def test_two_contributions_of_a_rank_that_differ(frames: Frames) -> None:
    at = find(frames, sum_of_rank(0))
    other = frames[at][:PAYLOAD] + bytes(4) + frames[at][PAYLOAD + 4 :]
    report = verified([*frames[: at + 1], other, *frames[at + 1 :]])
    assert (report.mismatched, report.not_verifiable) == (0, {CHANGED: 1})


@pytest.mark.parametrize("seen", [[0], [0, 2]])
def test_the_capture_of_some_ports_accuses_nobody(frames: Frames, seen: list[int]) -> None:
    addresses = {mac_bytes(SWITCH_MAC), *(mac_bytes(source_mac(rank)) for rank in seen)}
    report = verified([frame for frame in frames if frame[6:12] in addresses])
    assert not report.passed
    assert (report.verified, report.mismatched) == (0, 0)
    assert report.not_verifiable == {MISSING: report.aggregates}
    assert report.missing["rank 1"] > report.aggregates / 2, "tags of sums of integers tell who is missing"
