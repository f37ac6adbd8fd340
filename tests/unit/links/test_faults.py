"""Bad cables on purpose."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.errors import UsageError
from cais_tools.links.faults import FaultModel, FaultyLink
from tests.unit.links.memory import MemoryLink

FRAMES = [i.to_bytes(4, "big") * 4 for i in range(2000)]


def spoiled(model: FaultModel, frames: list[bytes] = FRAMES) -> tuple[list[bytes], FaultyLink]:
    memory = MemoryLink()
    link = FaultyLink(memory, model)
    assert link.send(frames) == len(frames)
    return memory.sent, link


def test_a_good_cable_changes_nothing() -> None:
    sent, link = spoiled(FaultModel())
    assert sent == FRAMES
    assert link.counts.lost == link.counts.corrupted == 0
    assert not FaultModel().any


def test_loss() -> None:
    sent, link = spoiled(FaultModel(loss=0.1))
    assert len(sent) == len(FRAMES) - link.counts.lost
    assert 100 < link.counts.lost < 300
    assert sent == [frame for frame in FRAMES if frame in set(sent)]


def test_loss_of_everything() -> None:
    assert spoiled(FaultModel(loss=1.0))[0] == []


def test_duplicates() -> None:
    sent, link = spoiled(FaultModel(duplicate=0.1))
    twice = [frame for frame, count in Counter(sent).items() if count == 2]
    assert len(twice) == link.counts.duplicated > 100
    assert set(sent) == set(FRAMES)


def test_reordered_frames_arrive_later_and_once() -> None:
    sent, link = spoiled(FaultModel(reorder=0.1))
    assert link.counts.reordered > 100
    assert sent != sorted(sent)
    assert max(Counter(sent).values()) == 1
    assert len(FRAMES) - len(sent) <= 16  # held back at the end
    place = {frame: i for i, frame in enumerate(FRAMES)}
    assert all(abs(place[frame] - i) <= 40 for i, frame in enumerate(sent))


def test_corruption_flips_one_bit() -> None:
    sent, link = spoiled(FaultModel(corrupt=0.5))
    flipped = [
        (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_count() for a, b in zip(FRAMES, sent, strict=True)
    ]
    assert set(flipped) == {0, 1}
    assert sum(flipped) == link.counts.corrupted > 800


def test_both_directions_are_spoiled() -> None:
    memory = MemoryLink()
    link = FaultyLink(memory, FaultModel(loss=0.2))
    memory.arriving = list(FRAMES)
    got: list[bytes] = []
    while memory.arriving:
        got += link.recv()
    assert 200 < link.counts.lost == len(FRAMES) - len(got) < 600


@given(st.lists(st.integers(0, 300), max_size=8), st.integers(0, 2**32))
def test_faults_depend_on_the_seed_and_not_on_the_batches(cuts: list[int], seed: int) -> None:
    model = FaultModel(loss=0.1, duplicate=0.1, reorder=0.1, corrupt=0.1, seed=seed)
    frames = FRAMES[:300]
    whole = spoiled(model, frames)[0]
    memory = MemoryLink()
    link = FaultyLink(memory, model)
    edges = [0, *sorted(cuts), 300]
    for start, end in itertools.pairwise(edges):
        link.send_matrix(np.frombuffer(b"".join(frames[start:end]), np.uint8).reshape(-1, 16))
    assert memory.sent == whole


def test_other_seeds_are_other_faults() -> None:
    assert spoiled(FaultModel(loss=0.5, seed=1))[0] != spoiled(FaultModel(loss=0.5, seed=2))[0]


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_no_probability(value: float) -> None:
    with pytest.raises(UsageError, match="no probability"):
        FaultModel(reorder=value)
