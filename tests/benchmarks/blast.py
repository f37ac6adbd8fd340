"""The host side of the switch benchmarks: four ranks in one loop, frames built beforehand, every sum checked."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cais_tools.links import Link
from cais_tools.wire.frames import Frames, build_frames, parse_frames
from cais_tools.wire.header import Op

STALL = 0.25
"""Seconds without any result after which what is missing is sent again."""


@dataclass(frozen=True)
class Rate:
    contributions: int
    seconds: float
    resent: int

    @property
    def per_second(self) -> float:
        return self.contributions / self.seconds


@dataclass
class _Rank:
    link: Link
    frames: Frames
    result: NDArray[np.int32]
    done: NDArray[np.bool_]
    sent: int = 0
    first_open: int = 0


def blast(links: Mapping[int, Link], *, count: int, window: int, lanes: int, first_seq: int = 0) -> Rate:
    """Reduce `count` packets with `window` of them under way; AssertionError where a sum is wrong."""
    rng = np.random.default_rng(count)
    payloads = rng.integers(-(2**31), 2**31, (len(links), count, lanes)).astype(np.int32)
    seq = (first_seq + np.arange(count)).astype(np.uint32)
    ranks = [
        _Rank(link, _frames(rank, seq, payloads[rank]), np.zeros((count, lanes), np.int32), np.zeros(count, np.bool_))
        for rank, link in enumerate(links.values())
    ]
    start = time.perf_counter()
    resent = _run(ranks, window, first_seq)
    seconds = time.perf_counter() - start
    expected = payloads.sum(axis=0, dtype=np.int32)
    assert all((rank.result == expected).all() for rank in ranks), "wrong sums"
    return Rate(count * len(ranks), seconds, resent)


def _frames(rank: int, seq: NDArray[np.uint32], payload: NDArray[np.int32]) -> Frames:
    return build_frames(
        op=Op.ALLREDUCE,
        group_id=0,
        rank=rank,
        layer_id=0,
        total_chunks=1,
        chunk_ids=0,
        seq_nums=seq,
        tags=0,
        payload_len=payload.shape[1] * 4,
        payload=payload,
    )


def _run(ranks: list[_Rank], window: int, first_seq: int) -> int:
    poller = select.poll()
    by_descriptor = {rank.link.fileno(): rank for rank in ranks}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    resent = 0
    while any(rank.first_open < len(rank.frames) for rank in ranks):
        for rank in ranks:
            _send_new(rank, window)
        ready = poller.poll(STALL * 1000)
        for descriptor, _ in ready:
            _receive(by_descriptor[descriptor], first_seq)
        if not ready:
            resent += sum(_send_missing(rank) for rank in ranks)
    return resent


def _send_new(rank: _Rank, window: int) -> None:
    end = min(len(rank.frames), rank.first_open + window)
    if end > rank.sent:
        rank.sent += rank.link.send_matrix(rank.frames[rank.sent : end])


def _receive(rank: _Rank, first_seq: int) -> None:
    while frames := rank.link.recv():
        parsed = parse_frames(frames, rank.result.shape[1])
        index = parsed.headers["seq_num"].astype(np.int64) - first_seq
        rank.result[index] = parsed.payload
        rank.done[index] = True
    while rank.first_open < len(rank.done) and rank.done[rank.first_open]:
        rank.first_open += 1


def _send_missing(rank: _Rank) -> int:
    missing = rank.first_open + np.flatnonzero(~rank.done[rank.first_open : rank.sent])
    return rank.link.send_matrix(np.ascontiguousarray(rank.frames[missing]))
