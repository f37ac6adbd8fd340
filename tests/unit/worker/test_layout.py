"""Chunks and their owners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.worker import layout


@given(st.integers(1, 32))
def test_shares_are_of_one_size_and_do_not_overlap(ranks: int) -> None:
    shares = [layout.share(ranks, rank) for rank in range(ranks)]
    chunks = [chunk for share in shares for chunk in share]
    assert len({len(share) for share in shares}) == 1
    assert len(set(chunks)) == len(chunks) <= layout.MAX_PACKETS
    assert all(0 <= chunk <= 0xFFFF for chunk in (chunks[0], chunks[-1]))
    assert layout.MAX_PACKETS - len(chunks) < ranks


@given(st.integers(1, 32), st.integers(0, 50))
def test_owners_take_turns(ranks: int, each: int) -> None:
    owners = layout.interleaved(ranks, each)
    numbers = layout.owned_chunk_ids(ranks, owners)
    assert len(owners) == ranks * each
    for packet, (owner, chunk) in enumerate(zip(owners.tolist(), numbers.tolist(), strict=True)):
        assert owner == packet % ranks
        assert chunk == layout.share(ranks, owner).start + packet // ranks


def test_a_share_can_be_filled_but_not_overfilled() -> None:
    size = len(layout.share(4, 2))
    full = layout.owned_chunk_ids(4, np.full(size, 2))
    assert (full[0], full[-1]) == (layout.share(4, 2).start, layout.share(4, 2).stop - 1)
    with pytest.raises(ValueError, match="do not fit"):
        layout.owned_chunk_ids(4, np.full(size + 1, 2))


def test_no_share_without_a_rank() -> None:
    with pytest.raises(ValueError, match="rank 4"):
        layout.share(4, 4)


@given(st.integers(0, 1000), st.integers(1, 70))
def test_segments_cover_everything_once(packets: int, limit: int) -> None:
    parts = [range(packets)[part] for part in layout.segments(packets, limit)]
    assert [packet for part in parts for packet in part] == list(range(packets))
    assert all(0 < len(part) <= limit for part in parts)


@pytest.mark.parametrize(("elements", "packets"), [(0, 0), (1, 1), (64, 1), (65, 2)])
def test_packets(elements: int, packets: int) -> None:
    assert layout.packets(elements, 64) == packets
