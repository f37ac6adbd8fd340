"""The integrity tag that travels in `reserved` and that the switch adds up like a lane (design, section 4, rule 9).

A contribution of rank r to packet s of a group carries, modulo 2^32,

    tag(r) = term(job, group, s, r, salt) + checksum(payload)        the checksum in sums only

and a result must carry the sum of the terms of all ranks plus the checksum of the result itself, because the
checksum is linear: checksum(a + b) = checksum(a) + checksum(b). Every weight is odd, so a single flipped bit in
lane i changes the checksum by an odd multiple of a power of two below 2^32, which is never zero.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint32]

_SEQ_STEP = np.uint32(0x9E3779B1)  # 2^32 / golden ratio, odd: consecutive numbers spread over the word
_RANK_STEP = np.uint32(0x85EBCA77)
_GROUP_STEP = np.uint32(0xC2B2AE3D)
_EPOCH_STEP = np.uint32(0x27D4EB2F)
_EPOCH_STEP_INVERSE = np.uint32(pow(0x27D4EB2F, -1, 2**32))


def term(epoch: int, group_id: int, seq_nums: Words, rank: int, salt: Words | None = None) -> Words:
    """Return the term of one rank for packets `seq_nums`, shape (n,).

    `salt`, shape (n,), is whatever else the ranks must agree on for their payloads to fit together, such as the block
    exponents of a float sum.
    """
    with np.errstate(over="ignore"):
        mixed = seq_nums * _SEQ_STEP
        mixed ^= _mix(np.asarray([rank + 1], np.uint32) * _RANK_STEP)
        mixed += _mix(np.asarray([group_id + 1], np.uint32) * _GROUP_STEP)
        mixed ^= _mix(np.asarray([epoch % 2**32], np.uint32) * _EPOCH_STEP)
        if salt is not None:
            mixed += _mix(salt.astype(np.uint32))
        return _mix(mixed)


def terms_of_all(epoch: int, group_id: int, seq_nums: Words, ranks: int, salt: Words | None = None) -> Words:
    """Return the sum of the terms of ranks 0 .. `ranks` - 1, shape (n,): what a complete result carries."""
    total = np.zeros_like(seq_nums)
    for rank in range(ranks):
        total += term(epoch, group_id, seq_nums, rank, salt)
    return total


def epochs_of(terms: Words, group_id: NDArray[np.uint8], seq_nums: Words, rank: NDArray[np.int64]) -> Words:
    """Return the epoch that makes each term, where no salt went in; all of shape (n,). `term` backwards."""
    with np.errstate(over="ignore"):
        mixed = seq_nums * _SEQ_STEP
        mixed ^= _mix((rank + 1).astype(np.uint32) * _RANK_STEP)
        mixed += _mix((group_id.astype(np.uint32) + np.uint32(1)) * _GROUP_STEP)
        return _unmix(_unmix(terms) ^ mixed) * _EPOCH_STEP_INVERSE


def weights(lanes: int) -> Words:
    """Return the odd weights 1, 3, 5, ... of the lanes, shape (lanes,)."""
    return np.arange(1, 2 * lanes, 2, dtype=np.uint32)


def checksum(payload: NDArray[np.int32]) -> Words:
    """Return the weighted sum of the lanes of each packet modulo 2^32; payload of shape (n, lanes)."""
    words = payload.view(np.uint32)
    return np.einsum("...i,i->...", words, weights(words.shape[-1]))


def _mix(words: Words) -> Words:
    """Spread every bit over the word (the finaliser of MurmurHash3, public domain)."""
    words = words ^ (words >> np.uint32(16))
    words = words * np.uint32(0x85EBCA6B)
    words = words ^ (words >> np.uint32(13))
    words = words * np.uint32(0xC2B2AE35)
    return words ^ (words >> np.uint32(16))


def _unmix(words: Words) -> Words:
    """Return what `_mix` was given."""
    words = words ^ (words >> np.uint32(16))
    words = words * np.uint32(pow(0xC2B2AE35, -1, 2**32))
    words = words ^ (words >> np.uint32(13)) ^ (words >> np.uint32(26))
    words = words * np.uint32(pow(0x85EBCA6B, -1, 2**32))
    return words ^ (words >> np.uint32(16))
