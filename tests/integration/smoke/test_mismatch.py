"""What a wrong result looks like: a host that spoils what it receives, in this process, between tag and table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cais_tools.links.pcap import read_pcap
from cais_tools.smoke import fabric
from cais_tools.smoke.trace import TraceLink
from cais_tools.wire.header import SWITCH_MAC, Header, Op, mac_bytes
from tests.functional.runner import invoke

LANES_AT = 34
ARGUMENTS = ("smoke", "--steps", "2", "--size", "2KiB", "--seed", "1")
Spoil = Callable[[Header, bytearray], None]


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Spoil], None]:
    """Have every rank's received results go through a function before the endpoint sees them."""
    monkeypatch.chdir(tmp_path)

    def install(function: Spoil) -> None:
        class SpoiledLink(TraceLink):
            def recv(self) -> list[bytes]:
                return [self._spoil(frame) for frame in super().recv()]

            def _spoil(self, frame: bytes) -> bytes:
                if frame[6:12] != mac_bytes(SWITCH_MAC) or len(frame) <= LANES_AT:
                    return frame
                spoiled = bytearray(frame)
                function(Header.unpack(frame, 14), spoiled)
                return bytes(spoiled)

        monkeypatch.setattr(fabric, "TraceLink", SpoiledLink)

    return install


def _flip(op: Op, chunk: int, lane: int) -> Spoil:
    def flip(header: Header, frame: bytearray) -> None:
        if header.op_type == op and header.chunk_id == chunk:
            frame[LANES_AT + 4 * lane] ^= 0x80

    return flip


def test_a_mismatch_says_where_and_why_and_keeps_the_frames(spoil: Callable[[Spoil], None], tmp_path: Path) -> None:
    spoil(_flip(Op.ALLREDUCE_MAX, chunk=3, lane=9))
    result = invoke(*ARGUMENTS, "--ops", "sum,max")
    assert result.exit_code == 1, result.stderr
    lines = result.stdout.splitlines()
    mismatch = next(line for line in lines if line.startswith("mismatch: "))
    assert mismatch.startswith("mismatch: step 1, max, rank 0, chunk 3, lane 9: expected ")
    wanted, got = (int(word.strip(",")) for word in (mismatch.split()[-3], mismatch.split()[-1]))
    assert (wanted ^ got) & 0xFFFFFFFF == 0x80000000
    assert "likely cause: a flipped bit (bit 31 of lane 9): bad memory or a bad cable" in lines
    assert lines[-1].startswith("failed: 4 ranks, 2 steps of 2 operations")
    saved = tmp_path / "cais-smoke-step1-max.pcap"
    assert f"frames: {saved}" in lines
    frames = [frame for _, frame in read_pcap(saved)]
    assert len(frames) == 5
    assert {Header.unpack(frame, 14).chunk_id for frame in frames} == {3}
    rows = {line.split()[0]: line.split() for line in lines if line.startswith(("sum", "max"))}
    assert (rows["sum"][5], rows["max"][5]) == ("0", "2")


def test_a_mismatch_in_json(spoil: Callable[[Spoil], None]) -> None:
    spoil(_flip(Op.ALLREDUCE_MIN, chunk=0, lane=0))
    result = invoke(*ARGUMENTS, "--ops", "min", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["passed"] is False
    assert report["mismatch"]["operation"] == "min"
    assert report["mismatch"]["frame"].endswith("cais-smoke-step1-min.pcap")


def test_reversed_bytes_are_recognised(spoil: Callable[[Spoil], None]) -> None:
    def reverse(_: Header, frame: bytearray) -> None:
        for at in range(LANES_AT, len(frame), 4):
            frame[at : at + 4] = frame[at : at + 4][::-1]

    spoil(reverse)
    result = invoke(*ARGUMENTS, "--ops", "product")
    assert result.exit_code == 1
    assert "likely cause: byte order" in result.stdout


def test_a_sum_is_never_delivered_wrong(spoil: Callable[[Spoil], None]) -> None:
    """What spoils every copy of a result ends the test with all that a mismatch says, not with a wrong sum."""
    spoil(_flip(Op.ALLREDUCE, chunk=3, lane=9))
    result = invoke(*ARGUMENTS, "--ops", "max,sum")
    assert result.exit_code == 1
    assert "step 1, sum" in result.stderr
    assert "refused the result" in result.stderr
    assert "cais-smoke-step1-sum.pcap" in result.stderr
    lines = result.stdout.splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line.startswith(("sum", "max"))}
    assert (rows["max"][1], rows["sum"][1], rows["sum"][5]) == ("1", "0", "0")
    mismatch = next(line for line in lines if line.startswith("mismatch: step 1, sum, rank "))
    assert "chunk 3, lane 9: expected " in mismatch
    wanted, got = (int(word.strip(",")) for word in (mismatch.split()[-3], mismatch.split()[-1]))
    assert (wanted ^ got) & 0xFFFFFFFF == 0x80000000
    assert "likely cause: a flipped bit (bit 31 of lane 9): bad memory or a bad cable" in lines
    assert lines[-1].startswith("failed: ended in step 1, sum; 4 ranks")


def test_a_sum_that_stays_bad_in_json(spoil: Callable[[Spoil], None]) -> None:
    spoil(_flip(Op.ALLREDUCE, chunk=0, lane=1))
    result = invoke(*ARGUMENTS, "--ops", "sum", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["passed"] is False
    assert (report["mismatch"]["chunk"], report["mismatch"]["lane"]) == (0, 1)
    assert report["failure"]["exit_code"] == json.loads(result.stderr)["exit_code"] == 1
    assert report["operations"][0]["repeated"] == 16
    assert "however often it was repeated" in report["failure"]["error"]


def test_without_a_place_for_the_frames_the_rest_is_said(
    spoil: Callable[[Spoil], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(_flip(Op.ALLREDUCE_MAX, chunk=0, lane=0))
    monkeypatch.setattr("cais_tools.smoke.runner.save_chunk", _save_nothing)
    result = invoke(*ARGUMENTS, "--ops", "max")
    assert result.exit_code == 1
    assert "frames: not saved" in result.stdout


def _save_nothing(*_: object) -> object:
    from cais_tools.smoke.capture import Capture

    return Capture(None, None)
