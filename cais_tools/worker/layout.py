"""Which chunk_id belongs to which rank: the one place that endpoints and rules both follow.

In a reduction to all ranks a chunk belongs to nobody and is the number of the packet. Where a result goes to some ranks
only, or comes from one, the switch tells the owner from the chunk (design, section 4, rule 8), so each rank owns a
fixed range of chunk_ids, whatever the size of the tensor:

    all-gather, broadcast     chunk in share(r): rank r sends, all but rank r get the payload
    reduce, reduce-scatter    chunk in share(r): all ranks send, rank r alone gets the payload

A rule for each rank is enough for tensors of any size; larger ones are sent as several operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAX_PACKETS",
    "ChunkIds",
    "Owners",
    "chunk_ids",
    "interleaved",
    "owned_chunk_ids",
    "packets",
    "segments",
    "share",
]

ChunkIds: TypeAlias = NDArray[np.uint16]
Owners: TypeAlias = NDArray[np.intp]
"""The rank that owns each packet, shape (packets,)."""

MAX_PACKETS = 65_535
"""Packets of one operation: `total_chunks` has 16 bits."""


def share(ranks: int, rank: int) -> range:
    """Return the chunk_ids that `rank` owns in a group of `ranks`; the shares have one size and do not overlap."""
    if not 0 <= rank < ranks:
        raise ValueError(f"rank {rank} is not in a group of {ranks}")
    size = MAX_PACKETS // ranks
    return range(rank * size, (rank + 1) * size)


def interleaved(ranks: int, packets_each: int) -> Owners:
    """Let the ranks own packets in turn, so that every link carries payload all the time."""
    return np.tile(np.arange(ranks), packets_each)


def chunk_ids(packets: int) -> ChunkIds:
    """Return the chunk_ids of packets that belong to nobody."""
    return np.arange(packets, dtype=np.uint16)


def owned_chunk_ids(ranks: int, owners: Owners) -> ChunkIds:
    """Number the packets of each owner from the start of its share, in the order of the packets."""
    numbers = np.empty(len(owners), np.uint16)
    for rank in np.unique(owners).tolist():
        mine = np.flatnonzero(owners == rank)
        chunks = share(ranks, rank)
        if len(mine) > len(chunks):
            raise ValueError(f"{len(mine)} packets do not fit into a share of {len(chunks)} chunks")
        numbers[mine] = chunks.start + np.arange(len(mine))
    return numbers


def segments(packets: int, limit: int) -> Iterator[slice]:
    """Cut a tensor's packets into operations of at most `limit` packets."""
    for start in range(0, packets, limit):
        yield slice(start, min(start + limit, packets))


def packets(elements: int, lanes: int) -> int:
    """Return how many packets of `lanes` words hold `elements` words."""
    return -(-elements // lanes)
