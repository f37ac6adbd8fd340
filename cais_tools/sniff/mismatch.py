"""What is wrong with a result, in the words of somebody who has to find out why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.sums import combine
from cais_tools.wire import tag
from cais_tools.wire.header import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.contributors import Contributors
    from cais_tools.sniff.sums import Sums
    from cais_tools.sniff.window import Aggregates

__all__ = ["Contribution", "Mismatch", "describe", "participants"]

_MOST_RANKS = 32


@dataclass(frozen=True, slots=True)
class Contribution:
    sender: str
    number: int
    """Of the packet in the capture."""
    value: int | None
    """In the wrong lane (or the tag); None for one without payload: the identity element."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A result that is not what the contributions make."""

    group_id: int
    seq_num: int
    op_type: int
    layer_id: int
    chunk_id: int
    number: int
    """Of the result's packet in the capture."""
    time_ns: int
    field: str
    """`lane 7`, `reserved` (the tag), `payload_len`."""
    value: int
    expected: int
    wrong_lanes: int
    contributions: tuple[Contribution, ...]
    cause: str | None


def describe(found: Aggregates, sums: Sums, at: int, contributors: Contributors) -> Mismatch:
    """Describe the first wrong result of aggregate `at`, which has one."""
    owner = np.searchsorted(found.start, sums.results, side="right") - 1
    wrong = ~(sums.lanes_right & sums.tag_right & sums.length_right)
    candidates = np.flatnonzero((owner == at) & wrong)
    # One with wrong lanes says more than one that has only the header.
    k = int(candidates[np.argmax(~sums.lanes_right[candidates])])
    result = int(sums.results[k])
    field, value, expected = _first_difference(found, sums, at, k)
    members = sums.contributions[sums.edges[at] : sums.edges[at + 1]]
    lane = int(field.split()[1]) if field.startswith("lane") else None
    count = int(found.rows["lanes"][result])
    return mismatch(
        found,
        at,
        result,
        contributors,
        members,
        (field, value, expected),
        wrong_lanes=int(np.count_nonzero(found.payload[result, :count] != sums.lanes[at, :count])),
        cause=_of_copies(found, sums, at) or _cause(found, sums, at, result, members, contributors, lane),
    )


def mismatch(
    found: Aggregates,
    at: int,
    result: int,
    contributors: Contributors,
    members: NDArray[np.int64],
    difference: tuple[str, int, int],
    *,
    wrong_lanes: int,
    cause: str | None,
) -> Mismatch:
    """Put together what is known of packet `result` of aggregate `at`."""
    rows = found.rows
    key = rows[found.start[at]]
    field, value, expected = difference
    return Mismatch(
        group_id=int(key["group_id"]),
        seq_num=int(key["seq_num"]),
        op_type=int(key["op_type"]),
        layer_id=int(key["layer_id"]),
        chunk_id=int(key["chunk_id"]),
        number=int(rows["number"][result]),
        time_ns=int(rows["time_ns"][result]),
        field=field,
        value=value,
        expected=expected,
        wrong_lanes=wrong_lanes,
        contributions=tuple(
            Contribution(
                contributors.name(int(rows["sender"][each])), int(rows["number"][each]), _value(found, each, field)
            )
            for each in members.tolist()
        ),
        cause=cause,
    )


def _first_difference(found: Aggregates, sums: Sums, at: int, k: int) -> tuple[str, int, int]:
    result = int(sums.results[k])
    if not sums.lanes_right[k]:
        count = int(found.rows["lanes"][result])
        lane = int(np.argmax(found.payload[result, :count] != sums.lanes[at, :count]))
        return f"lane {lane}", int(found.payload[result, lane]), int(sums.lanes[at, lane])
    if not sums.tag_right[k]:
        return "reserved", int(found.rows["reserved"][result]), int(sums.tag[at])
    return "payload_len", int(found.rows["payload_len"][result]), int(sums.payload_len[at])


def _value(found: Aggregates, packet: int, field: str) -> int | None:
    if not field.startswith("lane"):
        return int(found.rows[field][packet])
    if found.rows["payload_len"][packet] == 0:
        return None
    return int(found.payload[packet, int(field.split()[1])])


def _cause(
    found: Aggregates,
    sums: Sums,
    at: int,
    result: int,
    members: NDArray[np.int64],
    contributors: Contributors,
    lane: int | None,
) -> str | None:
    rows = found.rows
    count = int(rows["lanes"][result])
    got, total = found.payload[result, :count], sums.lanes[at, :count]
    off = np.uint32((int(rows["reserved"][result]) - int(sums.tag[at])) % 2**32)
    op = int(rows["op_type"][result])
    for each in members.tolist():
        name = contributors.name(int(rows["sender"][each]))
        own, own_tag = found.payload[each, :count], rows["reserved"][each]
        if off == own_tag and off and (not count or not Op(op).is_linear or np.array_equal(got, total + own)):
            return f"as if {name} had been added twice"
        others = members[members != each]
        if off == np.uint32(-int(own_tag) % 2**32) and off and _is_without(found, others, op, got):
            return f"as if {name} had not contributed: is it a member of the group?"
    if lane is None:
        return "the lanes are right, the tag is not" if count else None
    difference = (int(got[lane]) ^ int(total[lane])) & 0xFFFFFFFF
    wrong = int(np.count_nonzero(got != total))
    if wrong == 1 and difference.bit_count() == 1:
        return f"one bit is flipped: bit {difference.bit_length() - 1}"
    if np.array_equal(got.byteswap(), total):
        return "byte order: the lanes of the result are swapped"
    return _other_operation(found, members, op, got)


def _of_copies(found: Aggregates, sums: Sums, at: int) -> str | None:
    """Other copies of the same result acquit the switch."""
    owner = np.searchsorted(found.start, sums.results, side="right") - 1
    copies = np.flatnonzero(owner == at)
    right = (sums.lanes_right & sums.tag_right & sums.length_right)[copies]
    right &= found.rows["payload_len"][sums.results[copies]] > 0
    if not right.any():
        return None
    return f"of {len(copies)} copies of this result {np.count_nonzero(right)} are right: spoiled on the way"


def _is_without(found: Aggregates, others: NDArray[np.int64], op: int, got: NDArray[np.int32]) -> bool:
    filled = others[found.rows["payload_len"][others] > 0]
    if not len(got):
        return True
    return bool(len(filled)) and np.array_equal(combine(op, found.payload[filled, : len(got)]), got)


def _other_operation(found: Aggregates, members: NDArray[np.int64], op: int, got: NDArray[np.int32]) -> str | None:
    payload = found.payload[members[found.rows["payload_len"][members] > 0], : len(got)]
    if len(payload) < 2:
        return None
    for other in (Op.ALLREDUCE, Op.ALLREDUCE_MAX, Op.ALLREDUCE_MIN, Op.ALLREDUCE_PRODUCT):
        if other != op and np.array_equal(combine(other, payload), got):
            return f"that is what {other.label} gives"
    matching = [packet for packet, own in enumerate(payload) if np.array_equal(own, got)]
    return "that is one contribution alone" if matching else None


def participants(
    found: Aggregates, sums: Sums, at: int, result: int, contributors: Contributors
) -> tuple[int, ...] | None:
    """The ranks whose terms make the tag of a result, where the tag fits the result's own lanes.

    So a result that is right in itself is told from a wrong one, though contributions to it were not captured. None
    where it does not fit, or cannot be told: addresses that name no rank, or blocks of floats whose exponents went
    into the tag.
    """
    rows = found.rows
    members = sums.contributions[sums.edges[at] : sums.edges[at + 1]]
    ranks = [contributors.rank(int(sender)) for sender in rows["sender"][members]]
    known = np.array([rank for rank in ranks if rank is not None], np.int64)
    if len(known) < len(ranks) or not len(known):
        return None
    epochs = np.unique(epochs_of(found, members, known))
    linear = Op(int(rows["op_type"][result])).is_linear
    if len(epochs) != 1 or (linear and sums.filled[at] and not rows["payload_len"][result]):
        return None
    rest = rows["reserved"][result : result + 1].copy()
    if linear:
        rest -= tag.checksum(found.payload[result : result + 1])
    seq = rows["seq_num"][result : result + 1]
    total = np.zeros(1, np.uint32)
    for rank in range(_MOST_RANKS):
        total = total + tag.term(int(epochs[0]), int(rows["group_id"][result]), seq, rank)
        if total[0] == rest[0]:
            return tuple(range(rank + 1))
    return None


def epochs_of(found: Aggregates, packets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.uint32]:
    """(n,) the epoch that the tag of each contribution tells, if nothing is wrong with it and it has no salt."""
    rows = found.rows[packets]
    terms = rows["reserved"].copy()
    linear = np.isin(rows["op_type"], [op.value for op in Op if op.is_linear]) & (rows["payload_len"] > 0)
    terms[linear] -= tag.checksum(found.payload[packets[linear]])
    return tag.epochs_of(terms, rows["group_id"], rows["seq_num"], ranks)
