"""One rank of a job: sums that it can check, and at the end what it has seen, as JSON."""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

from cais_tools.training import api as cais
from cais_tools.training.context import Joined
from cais_tools.training.errors import GroupFailed

STEPS, PAUSE = int(os.environ.get("STEPS", "20")), float(os.environ.get("PAUSE", "0"))
LIMIT = float(os.environ.get("LIMIT", "0"))  # seconds, by the clock of rank 0; 0: none
SIZE = 3000


def say(what: object) -> None:
    """A line for the test."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def step(number: int, group: Joined, rank: int, ranks: int) -> float:
    """One all-reduce: the seconds that it took. AssertionError when the sum is wrong."""
    limits = np.iinfo(np.int32)
    seeds = [np.random.default_rng([number, each]) for each in range(ranks)]
    tensors = [seed.integers(limits.min, limits.max, SIZE, np.int32) for seed in seeds]
    tensor = tensors[rank].copy()
    began = time.monotonic()
    cais.all_reduce(tensor, group=group)
    seconds = time.monotonic() - began
    assert np.array_equal(tensor, np.sum(tensors, axis=0, dtype=np.int32)), f"step {number}: the sum is wrong"
    return seconds


def goes_on(group: Joined, mine: bool) -> bool:
    """What rank 0 says: all ranks stop after the same step."""
    word = np.array([mine], np.int32)
    cais.broadcast(word, 0, group)
    return bool(word[0])


def main() -> None:
    cais.init(timeout=20.0)
    identity = cais.current().identity
    group = cais.new_group(group_id=0)
    assert group is not None
    seconds: list[float] = []
    on_switch: list[int] = []
    error = None
    try:
        began = time.monotonic()
        for number in range(STEPS):
            if LIMIT and not goes_on(group, time.monotonic() - began < LIMIT):
                break
            seconds.append(step(number, group, identity.rank, identity.world_size))
            on_switch.append(cais.stats()[0].on_switch)
            say(number)
            time.sleep(PAUSE)
    except GroupFailed as failure:
        error = f"{type(failure).__name__}: {failure}"
    report = cais.stats()[0]
    cais.shutdown()
    said = {
        "error": error,
        "slowest": max(seconds, default=0.0),
        "on_switch": report.on_switch,
        "on_endpoints": report.on_endpoints,
        "fallbacks": report.fallbacks,
        "handed_out": report.handed_out,
        "by_step": on_switch,
    }
    say(said)


if __name__ == "__main__":
    main()
