"""Why a result was refused, as far as it can be read from the result itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cais_tools.wire import tag
from cais_tools.worker.config import Membership
from cais_tools.worker.transfer import Transfer

__all__ = ["RefusedResult", "explain"]


@dataclass(frozen=True)
class RefusedResult:
    """The result of packet `index` of `transfer` as it came; `payload` has shape (lanes,)."""

    transfer: Transfer
    member: Membership
    epoch: int
    index: int
    seq_num: int
    header: np.void
    payload: NDArray[np.int32]


def explain(refused: RefusedResult) -> str:
    """Return the likeliest cause."""
    transfer, header, index = refused.transfer, refused.header, refused.index
    held = tuple(int(header[name]) for name in ("op_type", "layer_id", "chunk_id"))
    if held != (transfer.op, transfer.layer_id, transfer.chunk_ids[index]):
        op_type, layer_id, chunk_id = held
        return (
            f"it is of op_type {op_type}, layer {layer_id}, chunk {chunk_id}: "
            "the ranks have diverged, or the header was damaged"
        )
    wanted = transfer.wanted is None or bool(transfer.wanted[index])
    if wanted and not header["payload_len"]:
        return "it brings no payload: the switch's rule does not name this rank's port as an output"
    return _explain_tag(refused)


def _explain_tag(refused: RefusedResult) -> str:
    """Read the tag: what it has too much or too little is the term of the rank that is there twice or not at all."""
    transfer, member, index = refused.transfer, refused.member, refused.index
    seq_nums = np.array([refused.seq_num], np.uint32)
    salt = None if transfer.salt is None else transfer.salt[index : index + 1]
    surplus = int(refused.header["reserved"])
    surplus -= int(tag.terms_of_all(refused.epoch, member.group_id, seq_nums, member.ranks, salt)[0])
    if transfer.op.is_linear:
        surplus -= int(tag.checksum(refused.payload[np.newaxis])[0])
    surplus %= 2**32
    if surplus == 0:
        return "its payload is not what a reduction of the ranks' payloads can give"
    for rank in range(member.ranks):
        own = int(tag.term(refused.epoch, member.group_id, seq_nums, rank, salt)[0])
        if surplus == own:
            return f"{member.describe_rank(rank)} is in it twice"
        if (surplus + own) % 2**32 == 0:
            return f"{member.describe_rank(rank)} is missing in it"
    return "its tag does not match: a bit was flipped, or a packet of another group or job is in it"
