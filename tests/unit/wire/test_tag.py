from __future__ import annotations

import numpy as np
import pytest

from cais_tools.wire import tag

EPOCH, GROUP, RANKS, LANES = 3, 7, 4, 64
SEQ = np.arange(100, 110, dtype=np.uint32)


def contributions(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-(2**31), 2**31, (RANKS, len(SEQ), LANES)).astype(np.int32)


def tags_of(payloads: np.ndarray) -> list[np.ndarray]:
    return [tag.term(EPOCH, GROUP, SEQ, rank) + tag.checksum(payloads[rank]) for rank in range(len(payloads))]


def total(tags: list[np.ndarray]) -> np.ndarray:
    return np.asarray(np.sum(tags, axis=0, dtype=np.uint32))


def expected(result: np.ndarray) -> np.ndarray:
    return tag.terms_of_all(EPOCH, GROUP, SEQ, RANKS) + tag.checksum(result)


@pytest.fixture
def payloads() -> np.ndarray:
    return contributions(np.random.default_rng(1))


def test_tags_add_up_to_the_tag_of_the_sum(payloads: np.ndarray) -> None:
    result = payloads.sum(axis=0, dtype=np.int32)
    assert (total(tags_of(payloads)) == expected(result)).all()


def test_every_single_flipped_bit_of_a_payload_is_seen(payloads: np.ndarray) -> None:
    good = tag.checksum(payloads[0][:1])
    for bit in range(LANES * 32):
        spoiled = payloads[0][:1].copy()
        spoiled.view(np.uint32)[0, bit // 32] ^= np.uint32(1 << bit % 32)
        assert tag.checksum(spoiled) != good


def test_missing_and_doubled_ranks_are_seen(payloads: np.ndarray) -> None:
    tags = tags_of(payloads)
    missing = payloads[:3].sum(axis=0, dtype=np.int32)
    doubled = missing + payloads[3] + payloads[3]
    assert not (total(tags[:3]) == expected(missing)).any()
    assert not (total([*tags, tags[3]]) == expected(doubled)).any()


@pytest.mark.parametrize(
    ("epoch", "group", "seq", "rank", "salt"),
    [(4, 7, 0, 0, None), (3, 8, 0, 0, None), (3, 7, 1, 0, None), (3, 7, 0, 1, None), (3, 7, 0, 0, 5)],
)
def test_term_depends_on_all_that_ranks_must_agree_on(
    epoch: int, group: int, seq: int, rank: int, salt: int | None
) -> None:
    salts = None if salt is None else np.full(len(SEQ), salt, np.uint32)
    other = tag.term(epoch, group, SEQ + np.uint32(seq), rank, salts)
    assert not (other == tag.term(EPOCH, GROUP, SEQ, 0)).any()


def test_sequence_numbers_wrap() -> None:
    seq = np.array([2**32 - 1, 0], np.uint32)
    assert len(set(tag.term(1, 0, seq, 0).tolist())) == 2


@pytest.mark.parametrize("epoch", [1, 77, 2**32 - 1])
def test_a_term_tells_its_epoch(epoch: int) -> None:
    for rank in range(RANKS):
        found = tag.epochs_of(
            tag.term(epoch, GROUP, SEQ, rank), np.full(len(SEQ), GROUP, np.uint8), SEQ, np.full(len(SEQ), rank)
        )
        assert (found == epoch).all()
