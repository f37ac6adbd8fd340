from __future__ import annotations

from pathlib import Path

import numpy as np

from cais_tools.links.pcap import read_pcap
from cais_tools.smoke.generate import generate
from cais_tools.smoke.plan import OPERATIONS, Plan
from cais_tools.wire import Job
from cais_tools.worker.collectives import all_reduce
from cais_tools.worker.config import Membership, Timing
from cais_tools.worker.exchange import Counters, Exchange
from cais_tools.worker.pacing import Pacing

LANES, SLOTS = 32, 64


def _generate(path: Path, names: list[str], size: int) -> list[bytes]:
    plan = Plan([OPERATIONS[name] for name in names], steps=1, ranks=2, size=size, seed=5)
    done: list[int] = []
    count = generate(path, plan, group_id=3, lanes=LANES, slots=SLOTS, progress=done.append)
    frames = [frame for _, frame in read_pcap(path)]
    assert len(frames) == count
    assert done == list(range(1, len(names) + 1))
    return frames


def test_scapy_builds_the_very_frames_that_an_endpoint_sends(tmp_path: Path) -> None:
    """Two implementations of one header, tag and payload, byte for byte."""
    built = _generate(tmp_path / "x.pcap", ["sum"], size=1000)
    step = Plan([OPERATIONS["sum"]], steps=1, ranks=2, size=1000, seed=5).step(1, OPERATIONS["sum"])
    timing, job = Timing(), Job.of_epoch(1)
    for rank in range(2):
        member = Membership(3, rank, 2, SLOTS, LANES)
        plan = all_reduce(member, step.inputs[rank], step.operation.op, 1)
        exchange = Exchange(
            next(plan),
            member,
            epoch=job.epoch,
            first=job.first_seq,
            pacing=Pacing(timing, member.window),
            timing=timing,
            counters=Counters(),
            now=0.0,
        )
        sent = [row.tobytes() for matrix in exchange.poll_transmit(0.0) for row in matrix]
        assert len(sent) == 8
        assert built[rank::2] == sent


def test_joins_are_header_only_and_every_operation_is_there(tmp_path: Path) -> None:
    frames = _generate(tmp_path / "all.pcap", list(OPERATIONS), size=256)
    assert {len(frame) for frame in frames} == {34, 34 + 4 * LANES}
    operations = {frame[14] for frame in frames}
    assert operations == {0, 1, 2, 3, 4, 5}
    seq_nums = [int.from_bytes(frame[22:26], "big") for frame in frames]
    assert seq_nums == sorted(seq_nums)
    assert (np.bincount(np.array(seq_nums) - min(seq_nums)) == 2).all()


def test_the_same_options_give_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _generate(tmp_path / name, ["sum-float32"], size=512)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
