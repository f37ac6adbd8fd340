from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cais_tools.smoke.cause import Evidence, likely_cause
from cais_tools.smoke.plan import Tensor
from cais_tools.smoke.reference import combine
from cais_tools.wire import Op

SHARES = [np.random.default_rng(rank).integers(-(2**31), 2**31, 64).astype(np.int32) for rank in range(4)]
OPS = (Op.ALLREDUCE, Op.ALLREDUCE_MAX, Op.ALLREDUCE_MIN, Op.ALLREDUCE_PRODUCT)


def _cause(got: Tensor, op: Op = Op.ALLREDUCE, **changes: Any) -> str:
    values: dict[str, Any] = {
        "op": op,
        "expected": combine(op, SHARES),
        "got": got,
        "shares": SHARES,
        "elsewhere": {},
        "ports": (11, 12, 13, 14),
        "group_id": 0,
        "header_group_id": 0,
    }
    return likely_cause(Evidence(**(values | changes)))


@pytest.mark.parametrize("op", OPS)
def test_a_missing_rank_is_named_with_its_port(op: Op) -> None:
    cause = _cause(combine(op, [SHARES[0], SHARES[1], SHARES[3]]), op)
    assert cause.startswith("missing rank")
    assert "rank 2 (port 13)" in cause


@pytest.mark.parametrize("op", [Op.ALLREDUCE, Op.ALLREDUCE_PRODUCT])
def test_a_rank_counted_twice_is_named(op: Op) -> None:
    cause = _cause(combine(op, [*SHARES, SHARES[1]]), op)
    assert cause.startswith("rank counted twice")
    assert "rank 1 (port 12)" in cause


def test_reversed_bytes_of_the_result() -> None:
    assert _cause(combine(Op.ALLREDUCE, SHARES).byteswap()).startswith("byte order")


@pytest.mark.parametrize("op", OPS)
def test_reversed_bytes_of_all_contributions(op: Op) -> None:
    """A host that forgets the network's byte order, on both ways."""
    assert _cause(combine(op, [share.byteswap() for share in SHARES]).byteswap(), op).startswith("byte order")


def test_nothing_was_added() -> None:
    assert "what rank 3 (port 14) has sent" in _cause(SHARES[3])


def test_another_place_of_the_result() -> None:
    other = SHARES[0] + 1
    assert _cause(other, elsewhere={"chunk 3": other}).startswith("wrong port: this is chunk 3")


def test_a_foreign_group_in_the_header() -> None:
    assert "says group 9" in _cause(SHARES[0], header_group_id=9)


def test_a_flipped_bit_is_named() -> None:
    got = combine(Op.ALLREDUCE, SHARES).copy()
    got[5] ^= np.int32(1 << 20)
    assert "bit 20 of lane 5" in _cause(got)


def test_a_flipped_sign_bit_is_named() -> None:
    got = combine(Op.ALLREDUCE, SHARES).copy()
    got[63] ^= np.int32(-(2**31))
    assert "bit 31 of lane 63" in _cause(got)


def test_an_unknown_addend_is_a_foreign_group() -> None:
    cause = _cause(combine(Op.ALLREDUCE, SHARES) + np.int32(12345))
    assert "foreign group" in cause
    assert "64 lanes" in cause


def test_floats_are_compared_within_the_tolerance() -> None:
    shares = [np.full(4, float(rank + 1), np.float32) for rank in range(3)]
    cause = likely_cause(
        Evidence(
            op=Op.ALLREDUCE,
            expected=combine(Op.ALLREDUCE, shares),
            got=np.full(4, 4.0001, np.float32),
            shares=shares,
            elsewhere={},
            ports=(1, 2, 3),
            group_id=0,
            header_group_id=None,
            tolerance=0.01,
        )
    )
    assert "rank 1 (port 2)" in cause
