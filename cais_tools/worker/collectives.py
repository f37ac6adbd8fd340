"""Collective operations on tensors, as a sequence of transfers, without any I/O.

Each function is a generator: it yields the `Transfer`s of one rank, gets the results of each back, and returns the
tensor. What it yields follows from shapes, types and agreed results alone, so all ranks yield transfers that fit
together.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cais_tools.errors import UsageError
from cais_tools.wire.header import LANE_BYTES, Op
from cais_tools.worker import blocks, layout, ordered
from cais_tools.worker.config import Membership
from cais_tools.worker.formats import FORMATS, Format
from cais_tools.worker.layout import Owners
from cais_tools.worker.transfer import Accept, Rows, Transfer

__all__ = ["Plan", "all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]

T = TypeVar("T")
Plan: TypeAlias = Generator[Transfer, Rows, T]
"""Yields transfers, is sent their results (packets, lanes), returns T."""
Tensor: TypeAlias = NDArray[Any]
Words: TypeAlias = NDArray[np.int32]

_FLOATS = ("float32", "float16", "bfloat16")
_REDUCTIONS = {
    Op.ALLREDUCE: ("int32", "float64", *_FLOATS),
    Op.ALLREDUCE_MAX: ("int32", *_FLOATS),
    Op.ALLREDUCE_MIN: ("int32", *_FLOATS),
    Op.ALLREDUCE_PRODUCT: ("int32",),
}


def all_reduce(member: Membership, array: Tensor, op: Op, layer_id: int, *, bfloat16: bool = False) -> Plan[Tensor]:
    """Reduce `array` over all ranks; every rank gets the result, of the same shape and type.

    Sums of int32 wrap as NumPy's do; sums of float32 and float64 have the error bound of `blocks`, those of float16 and
    bfloat16 that of `halves`. Max and min and products are exact. With `bfloat16`, `array` holds bits in uint16.

    Two 16-bit numbers share a word in sums. A maximum or minimum is one of whole words, so there each has its own.
    """
    kind = _check_reduction(array, op, bfloat16)
    flat = _flat(array)
    if kind == "int32":
        result = yield from _reduce_words(member, flat, op, layer_id)
    elif op == Op.ALLREDUCE:
        number_format = FORMATS[kind]
        rows = _to_rows(flat, member.lanes * number_format.per_word)
        result = (yield from _sum_floats(member, rows, number_format, layer_id, None)).reshape(-1)[: flat.size]
    else:
        number_format = FORMATS[kind]
        words = ordered.to_ordered(number_format.widen(flat), nan_first=op == Op.ALLREDUCE_MIN)
        result = number_format.narrow(ordered.from_ordered((yield from _reduce_words(member, words, op, layer_id))))
    return result.reshape(array.shape)


def reduce_scatter(member: Membership, array: Tensor, layer_id: int, *, bfloat16: bool = False) -> Plan[Tensor]:
    """Add `array` up over all ranks and return this rank's part: the rank-th of n along the first dimension.

    Types and exactness are those of `all_reduce`.
    """
    kind = _check_reduction(array, Op.ALLREDUCE, bfloat16)
    if array.ndim == 0 or array.shape[0] % member.ranks:
        raise UsageError(
            f"a tensor of shape {array.shape} cannot be scattered over {member.ranks} ranks",
            hint=f"the first dimension must be a multiple of {member.ranks}",
        )
    shape = (array.shape[0] // member.ranks, *array.shape[1:])
    parts = _flat(array).reshape(member.ranks, -1)
    width = _width(member, kind)
    packets = layout.packets(parts.shape[1], width)
    padded = np.zeros((member.ranks, packets * width), parts.dtype)
    padded[:, : parts.shape[1]] = parts
    rows = padded.reshape(member.ranks, packets, width).swapaxes(0, 1).reshape(-1, width)
    owners = layout.interleaved(member.ranks, packets)
    result = yield from _sum_rows(member, rows, kind, layer_id, owners)
    return result[owners == member.rank].reshape(-1)[: parts.shape[1]].reshape(shape)


def reduce(
    member: Membership, array: Tensor, root: int, layer_id: int, *, bfloat16: bool = False
) -> Plan[Tensor | None]:
    """Add `array` up over all ranks; `root` gets the sum, the others None. Types are those of `all_reduce`."""
    kind = _check_reduction(array, Op.ALLREDUCE, bfloat16)
    _check_rank(member, root)
    flat = _flat(array)
    rows = _to_rows(flat, _width(member, kind))
    owners = np.full(len(rows), root, np.intp)
    result = yield from _sum_rows(member, rows, kind, layer_id, owners)
    if member.rank != root:
        return None
    return result.reshape(-1)[: flat.size].reshape(array.shape)


def all_gather(member: Membership, array: Tensor, layer_id: int) -> Plan[Tensor]:
    """Return every rank's `array` (of one shape and type on all ranks, any type), stacked: shape (n, *array.shape)."""
    rows = _bytes_to_rows(array, member.lanes)
    owners = layout.interleaved(member.ranks, len(rows))
    result = yield from _gather(member, rows, owners, Op.ALLGATHER, layer_id)
    by_rank = result.reshape(-1, member.ranks, member.lanes).swapaxes(0, 1).reshape(member.ranks, -1)
    gathered = np.empty((member.ranks, *array.shape), array.dtype)
    for rank in range(member.ranks):
        gathered[rank] = _rows_to_array(by_rank[rank], array)
    return gathered


def broadcast(member: Membership, array: Tensor, owner: int, layer_id: int) -> Plan[Tensor]:
    """Return `owner`'s array; the others' arrays only say shape and type (any type)."""
    _check_rank(member, owner)
    rows = _bytes_to_rows(array, member.lanes)
    owners = np.full(len(rows), owner, np.intp)
    mine = rows if member.rank == owner else rows[:0]
    result = yield from _gather(member, mine, owners, Op.BROADCAST, layer_id)
    return _rows_to_array(result.reshape(-1), array)


# Transfers


def _reduce_words(member: Membership, words: Words, op: Op, layer_id: int) -> Plan[Words]:
    rows = _to_rows(words, member.lanes)
    result = yield from _reduce_rows(member, rows, op, layer_id, valid_words=words.size)
    return result.reshape(-1)[: words.size]


def _reduce_rows(
    member: Membership,
    rows: Rows,
    op: Op,
    layer_id: int,
    *,
    owners: Owners | None = None,
    valid_words: int | None = None,
    salt: NDArray[np.uint32] | None = None,
    accept: Accept | None = None,
) -> Plan[Rows]:
    """Reduce rows to all ranks, or each to its owner; rows of other owners come back as they please."""
    limit = layout.MAX_PACKETS if owners is None else len(layout.share(member.ranks, 0))
    valid_bytes = _valid_bytes(rows, valid_words)
    result = np.empty_like(rows)
    for part in layout.segments(len(rows), limit):
        packets = part.stop - part.start
        if owners is None:
            chunk_ids, wanted = layout.chunk_ids(packets), None
        else:
            chunk_ids = layout.owned_chunk_ids(member.ranks, owners[part])
            wanted = owners[part] == member.rank
        result[part] = yield Transfer(
            op=op,
            layer_id=layer_id,
            chunk_ids=chunk_ids,
            payload=rows[part],
            valid_bytes=valid_bytes[part],
            wanted=wanted,
            salt=None if salt is None else salt[part],
            accept=accept,
        )
    return result


def _gather(member: Membership, own_rows: Rows, owners: Owners, op: Op, layer_id: int) -> Plan[Rows]:
    """Return all rows, each sent by its owner; `own_rows` are this rank's, in order."""
    result = np.empty((len(owners), member.lanes), np.int32)
    valid_bytes = _valid_bytes(own_rows, None)
    sent = 0
    for part in layout.segments(len(owners), len(layout.share(member.ranks, 0))):
        filled = owners[part] == member.rank
        mine = slice(sent, sent + int(np.count_nonzero(filled)))
        sent = mine.stop
        result[part] = yield Transfer(
            op=op,
            layer_id=layer_id,
            chunk_ids=layout.owned_chunk_ids(member.ranks, owners[part]),
            payload=own_rows[mine],
            valid_bytes=valid_bytes[mine],
            filled=filled,
            wanted=~filled,
        )
    return result


def _sum_rows(member: Membership, rows: NDArray[Any], kind: str, layer_id: int, owners: Owners) -> Plan[NDArray[Any]]:
    """Add rows of int32 or floats up, each for its owner."""
    if kind == "int32":
        return (yield from _reduce_rows(member, rows, Op.ALLREDUCE, layer_id, owners=owners))
    return (yield from _sum_floats(member, rows, FORMATS[kind], layer_id, owners))


def _sum_floats(
    member: Membership, rows: NDArray[Any], number_format: Format, layer_id: int, owners: Owners | None
) -> Plan[NDArray[Any]]:
    """Add up in the rounds that `blocks` describes; each row is a block."""
    words = number_format.codewords(rows)
    agreed_rows = yield from _reduce_rows(
        member,
        _to_rows(words.reshape(-1), member.lanes),
        Op.ALLREDUCE_MAX,
        layer_id,
        valid_words=words.size,
        accept=blocks.plausible,
    )
    agreed = agreed_rows.reshape(-1)[: words.size].reshape(words.shape)
    sums = yield from _reduce_rows(
        member,
        number_format.quantise(rows, agreed, member.ranks),
        Op.ALLREDUCE,
        layer_id,
        owners=owners,
        salt=blocks.salt(agreed),
    )
    result = number_format.restore(sums, agreed, member.ranks, rows.dtype)
    flagged = np.flatnonzero(blocks.has_non_finite(agreed))
    if len(flagged):
        counts = yield from _reduce_rows(
            member,
            number_format.count_non_finite(rows[flagged]),
            Op.ALLREDUCE,
            layer_id,
            owners=None if owners is None else owners[flagged],
        )
        result[flagged] = number_format.with_non_finite(result[flagged], counts)
    return result


# Tensors and rows


def _width(member: Membership, kind: str) -> int:
    """Return how many numbers are in a packet."""
    return member.lanes * (FORMATS[kind].per_word if kind in FORMATS else 1)


def _to_rows(flat: NDArray[Any], lanes: int) -> NDArray[Any]:
    """Cut a flat array into rows of `lanes`, the last one padded with zeros; no copy where nothing is to be padded."""
    packets = layout.packets(flat.size, lanes)
    if flat.size == packets * lanes:
        return flat.reshape(packets, lanes)
    rows = np.zeros((packets, lanes), flat.dtype)
    rows.reshape(-1)[: flat.size] = flat
    return rows


def _valid_bytes(rows: Rows, valid_words: int | None) -> NDArray[np.uint32]:
    """Return `payload_len` of each row: all lanes, but in the last row only what is left of `valid_words`."""
    packets, lanes = rows.shape
    valid = np.full(packets, lanes * LANE_BYTES, np.uint32)
    if valid_words is not None and packets:
        valid[-1] -= (packets * lanes - valid_words) * LANE_BYTES
    return valid


def _bytes_to_rows(array: Tensor, lanes: int) -> Rows:
    if array.dtype.hasobject:
        raise UsageError(f"a tensor of {array.dtype} has no bytes to send")
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    words = np.zeros(-(-data.size // LANE_BYTES), np.int32)
    words.view(np.uint8)[: data.size] = data
    return _to_rows(words, lanes)


def _rows_to_array(words: Words, like: Tensor) -> Tensor:
    return words.view(np.uint8)[: like.nbytes].view(like.dtype).reshape(like.shape)


def _flat(array: Tensor) -> NDArray[Any]:
    """Return the elements in this machine's byte order; no copy where they are so already."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1)


def _check_reduction(array: Tensor, op: Op, bfloat16: bool) -> str:
    """Return the name of the type; UsageError when the switch cannot reduce it."""
    if op not in _REDUCTIONS:
        raise UsageError(f"{op.label} reduces nothing")
    if bfloat16 and array.dtype != np.uint16:
        raise UsageError(f"an array of {array.dtype.name} holds no bfloat16", hint="give the bits as uint16")
    kind = "bfloat16" if bfloat16 else array.dtype.name
    if kind not in _REDUCTIONS[op]:
        supported = "; ".join(f"{known.label}: {', '.join(kinds)}" for known, kinds in _REDUCTIONS.items())
        raise UsageError(
            f"{op.label} of {kind} is not supported",
            hint=f"supported are {supported}" + ("; for bits of bfloat16, say so" if kind == "uint16" else ""),
        )
    return kind


def _check_rank(member: Membership, rank: int) -> None:
    if not 0 <= rank < member.ranks:
        raise UsageError(f"rank {rank} is not in a group of {member.ranks}", hint="ranks start at 0")
