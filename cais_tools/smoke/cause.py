"""From a wrong result to what most likely made it wrong: the words at the end of a mismatch.

The original's own list of suspects comes first: the byte order, ports numbered from 0 instead of 1, a rank that is not
there, a packet of another group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cais_tools.smoke.plan import Tensor
from cais_tools.smoke.reference import combine
from cais_tools.wire import Op

__all__ = ["Evidence", "likely_cause"]


@dataclass(frozen=True)
class Evidence:
    """The lanes of one chunk, as far as they carry elements, all of one length."""

    op: Op
    expected: Tensor
    got: Tensor
    shares: Sequence[Tensor]
    """What each rank contributed to these lanes, by rank."""
    elsewhere: Mapping[str, Tensor]
    """What other results say, by name ("chunk 3", "rank 2's part"): the same length."""
    ports: Sequence[int]
    """The switch port of each rank."""
    group_id: int
    header_group_id: int | None
    """What the header of the result's frame says; None where there is no frame."""
    tolerance: float = 0.0


def likely_cause(evidence: Evidence) -> str:
    """Return one sentence. The tests go from the specific to the general."""
    for test in (_foreign_header, _byte_order, _rank_missing, _rank_twice, _only_one_rank, _elsewhere, _flipped_bit):
        cause = test(evidence)
        if cause:
            return cause
    lanes = int(np.count_nonzero(~_equal(evidence, evidence.expected, evidence.got)))
    return f"something that no rank of the group has sent was added ({lanes} lanes differ): perhaps a foreign group"


def _equal(evidence: Evidence, left: Tensor, right: Tensor) -> Tensor:
    if evidence.tolerance:
        return np.abs(left.astype(np.float64) - right.astype(np.float64)) <= evidence.tolerance
    return left == right


def _same(evidence: Evidence, candidate: Tensor) -> bool:
    return len(candidate) == len(evidence.got) and bool(_equal(evidence, candidate, evidence.got).all())


def _foreign_header(evidence: Evidence) -> str | None:
    if evidence.header_group_id in (None, evidence.group_id):
        return None
    return f"foreign group: the result's header says group {evidence.header_group_id}"


def _byte_order(evidence: Evidence) -> str | None:
    if evidence.got.dtype.kind != "i":
        return None
    swapped: list[Callable[[], Tensor]] = [
        lambda: evidence.expected.byteswap(),
        lambda: combine(evidence.op, [share.byteswap() for share in evidence.shares]).byteswap(),
        lambda: combine(evidence.op, [share.byteswap() for share in evidence.shares]),
    ]
    if any(_same(evidence, make()) for make in swapped):
        return "byte order: the lanes are right once their bytes are reversed; they travel big-endian"
    return None


def _rank_missing(evidence: Evidence) -> str | None:
    for rank, port in enumerate(evidence.ports):
        rest = [share for other, share in enumerate(evidence.shares) if other != rank]
        if rest and evidence.shares[rank].any() and _same(evidence, combine(evidence.op, rest)):
            return f"missing rank: the share of rank {rank} (port {port}) is not in the result"
    return None


def _rank_twice(evidence: Evidence) -> str | None:
    for rank, port in enumerate(evidence.ports):
        more = [*evidence.shares, evidence.shares[rank]]
        if evidence.shares[rank].any() and _same(evidence, combine(evidence.op, more)):
            return f"rank counted twice: the share of rank {rank} (port {port}) was added a second time"
    return None


def _only_one_rank(evidence: Evidence) -> str | None:
    for rank, port in enumerate(evidence.ports):
        if _same(evidence, evidence.shares[rank]):
            return f"nothing was added: this is what rank {rank} (port {port}) has sent; is there a rule for it?"
    return None


def _elsewhere(evidence: Evidence) -> str | None:
    for name, values in evidence.elsewhere.items():
        if _same(evidence, values):
            return f"wrong port: this is {name}; are ports counted from 1, in the order of the ranks?"
    return None


def _flipped_bit(evidence: Evidence) -> str | None:
    if evidence.got.dtype.kind != "i":
        return None
    difference = evidence.expected.astype(np.int32) ^ evidence.got.astype(np.int32)
    flipped = [f"{word & 0xFFFFFFFF:032b}".count("1") for word in difference.tolist()]
    if sum(flipped) == 1:
        lane = flipped.index(1)
        bit = (int(difference[lane]) & 0xFFFFFFFF).bit_length() - 1
        return f"a flipped bit (bit {bit} of lane {lane}): bad memory or a bad cable"
    return None
