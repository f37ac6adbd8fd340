"""What an endpoint itself costs: an all-reduce of one rank of four, whose results come from nowhere.

    python -m tests.benchmarks.bench_endpoint [--mebibytes 16] [--types float32,float16] [--rounds 3]

Neither sockets nor a switch: the other ranks send zeros, and the results are made outside the clock, which counts the
processor time of this thread. MB/s are of the tensor. Run it on two versions to compare them: ratios count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cais_tools.wire import Job, Op, tag
from cais_tools.wire.frames import HEADER_DTYPE, Frames
from cais_tools.wire.header import ETHERNET_BYTES, HEADER_BYTES
from cais_tools.worker import Counters, Membership, Timing, collectives, halves
from cais_tools.worker.exchange import Exchange
from cais_tools.worker.pacing import Pacing
from cais_tools.worker.transfer import Transfer

RANKS, SLOTS = 4, 2048
STEPS = ("numbers", "begin", "send", "receive")


class Clock:
    """Processor time by step."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        started = time.thread_time()
        yield
        self.seconds[name] += time.thread_time() - started


def results_of(frames: Frames, transfer: Transfer, member: Membership, job: Job) -> list[bytes]:
    """What the switch makes of them when the other ranks send zeros."""
    frames = frames.copy()
    headers = np.ascontiguousarray(frames[:, ETHERNET_BYTES : ETHERNET_BYTES + HEADER_BYTES]).view(HEADER_DTYPE)[:, 0]
    seq_nums = headers["seq_num"].astype(np.uint32)
    salt = None if transfer.salt is None else transfer.salt[headers["chunk_id"]]
    others = tag.terms_of_all(job.epoch, member.group_id, seq_nums, member.ranks, salt)
    others -= tag.term(job.epoch, member.group_id, seq_nums, member.rank, salt)
    headers["reserved"] = headers["reserved"].astype(np.uint32) + others
    frames[:, ETHERNET_BYTES : ETHERNET_BYTES + HEADER_BYTES] = headers.view(np.uint8).reshape(len(frames), -1)
    return [frame.tobytes() for frame in frames]


def exchange_of(transfer: Transfer, member: Membership, job: Job, sent: int) -> Exchange:
    timing = Timing(first_window=member.window)
    return Exchange(
        transfer,
        member,
        epoch=job.epoch,
        first=job.first_seq + sent,
        before=sent,
        pacing=Pacing(timing, member.window),
        timing=timing,
        counters=Counters(),
        now=0.0,
    )


def all_reduce(array: NDArray[Any], clock: Clock) -> NDArray[Any]:
    member, job, sent = Membership(0, 0, RANKS, SLOTS), Job.of_epoch(1), 0
    plan = collectives.all_reduce(member, array, Op.ALLREDUCE, 0, bfloat16=array.dtype == np.uint16)
    with clock.step("numbers"):
        transfer = next(plan)
    while True:
        with clock.step("begin"):
            exchange = exchange_of(transfer, member, job, sent)
        while not exchange.complete:
            with clock.step("send"):
                matrices = exchange.poll_transmit(1e-6)
            for matrix in matrices:
                # A link hands over a few hundred frames at a time.
                arriving = results_of(matrix, transfer, member, job)
                for start in range(0, len(arriving), 256):
                    with clock.step("receive"):
                        exchange.receive(arriving[start : start + 256], 2e-6)
        sent += transfer.packets
        try:
            with clock.step("numbers"):
                transfer = plan.send(exchange.results)
        except StopIteration as stop:
            return stop.value


def tensor(name: str, size: int) -> NDArray[Any]:
    """`size` bytes of the type; bfloat16 as its bits."""
    bits = name == "bfloat16"
    values = np.random.default_rng(1).normal(0, 1000, size // (2 if bits else np.dtype(name).itemsize))
    return halves.to_bfloat16(values.astype(np.float32)) if bits else values.astype(name)


def numbers(array: NDArray[Any]) -> NDArray[Any]:
    return halves.from_bfloat16(array) if array.dtype == np.uint16 else array


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=float, default=16)
    parser.add_argument("--types", default="int32,float32,float64,float16,bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    size = int(options.mebibytes * 2**20)
    say(f"{'type':<10}" + "".join(f"{step + ' ms':>13}" for step in STEPS) + f"{'all ms':>10}{'MB/s':>8}")
    for name in options.types.split(","):
        values = tensor(name, size)
        best = Clock()
        for attempt in range(options.rounds):
            clock = Clock()
            result = all_reduce(values, clock)
            assert np.allclose(*map(numbers, (result, values)), rtol=1e-2, atol=1)
            if not attempt or clock.total < best.total:
                best = clock
        total = best.total
        columns = "".join(f"{best.seconds[step] * 1000:13.1f}" for step in STEPS)
        say(f"{name:<10}{columns}{total * 1000:10.1f}{size / total / 1e6:8.1f}")


if __name__ == "__main__":
    main()
