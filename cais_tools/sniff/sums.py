"""Each result worked out again from the captured contributions, thousands of aggregates at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cais_tools.wire.header import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.window import Aggregates

__all__ = ["Sums", "combine", "recompute"]

_FUNCTIONS: dict[int, np.ufunc] = {
    Op.ALLREDUCE_MAX: np.maximum,
    Op.ALLREDUCE_MIN: np.minimum,
    Op.ALLREDUCE_PRODUCT: np.multiply,
}


@dataclass(frozen=True, slots=True)
class Sums:
    """What the contributions of each of `a` aggregates make, and how its results compare."""

    contributions: NDArray[np.int64]
    """(c,) packets that count: the first one of each contributor, by aggregate and contributor."""
    edges: NDArray[np.int64]
    """(a + 1,) where the contributions of each aggregate begin."""
    lanes: NDArray[np.int32]
    """(a, width) zero where nobody sent a payload."""
    filled: NDArray[np.bool_]
    """(a,) whether somebody sent a payload."""
    tag: NDArray[np.uint32]
    payload_len: NDArray[np.uint32]
    changed: NDArray[np.bool_]
    """(a,) somebody has sent two contributions that differ."""
    two_interfaces: NDArray[np.bool_]
    """(a,) one address contributed on two interfaces."""
    cut: NDArray[np.bool_]
    """(a,) the capture lacks a part of a contribution or of a result."""
    results: NDArray[np.int64]
    """(r,) packets that are results."""
    lanes_right: NDArray[np.bool_]
    """(r,) a result without payload is right here."""
    tag_right: NDArray[np.bool_]
    length_right: NDArray[np.bool_]


def combine(op_type: int, payload: NDArray[np.int32]) -> NDArray[np.int32]:
    """Combine contributions, (n, lanes) with n > 0, to (lanes,), as the switch does: 32 bits that wrap."""
    with np.errstate(over="ignore"):
        return _FUNCTIONS.get(op_type, np.add).reduce(payload, axis=0, dtype=np.int32)


def recompute(found: Aggregates) -> Sums:
    """Take each contributor's first contribution, as the switch does, and combine them."""
    rows, owner = found.rows, found.owner
    given = np.flatnonzero(~rows["result"])
    order = given[np.lexsort((rows["sender"][given], owner[given]))]
    new = np.ones(len(order), np.bool_)
    new[1:] = (owner[order][1:] != owner[order][:-1]) | (rows["sender"][order][1:] != rows["sender"][order][:-1])
    first = order[new]
    first_of = first[np.cumsum(new) - 1] if len(first) else first
    edges = np.searchsorted(owner[first], np.arange(len(found) + 1))
    lanes, filled = _combined(found, first, owner)
    tag = _by_aggregate(np.add, rows["reserved"][first], edges)
    length = _by_aggregate(np.maximum, rows["payload_len"][first], edges)
    results = np.flatnonzero(rows["result"])
    whose = owner[results]
    return Sums(
        contributions=first,
        edges=edges,
        lanes=lanes,
        filled=filled,
        tag=tag,
        payload_len=length,
        changed=_any(owner[order], _differs(found, order, first_of), len(found)),
        two_interfaces=_any(owner[order], rows["interface"][order] != rows["interface"][first_of], len(found)),
        cut=_any(owner[rows["cut"]], True, len(found)),
        results=results,
        lanes_right=_lanes_right(found, results, lanes[whose]),
        tag_right=rows["reserved"][results] == tag[whose],
        length_right=(rows["payload_len"][results] == length[whose]) | (rows["payload_len"][results] == 0),
    )


def _combined(
    found: Aggregates, first: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    rows = found.rows
    lanes = np.zeros((len(found), found.payload.shape[1]), np.int32)
    filled = np.zeros(len(found), np.bool_)
    with_payload = first[rows["payload_len"][first] > 0]
    ops = rows["op_type"][with_payload]
    for op in np.unique(ops).tolist():
        part = with_payload[ops == op]
        whose = owner[part]
        starts = np.flatnonzero(np.append(True, whose[1:] != whose[:-1]))
        filled[whose[starts]] = True
        if lanes.shape[1]:
            with np.errstate(over="ignore"):
                sums = _FUNCTIONS.get(op, np.add).reduceat(found.payload[part], starts, axis=0, dtype=np.int32)
            lanes[whose[starts]] = sums
    return lanes, filled


def _lanes_right(found: Aggregates, results: NDArray[np.int64], expected: NDArray[np.int32]) -> NDArray[np.bool_]:
    got = found.payload[results]
    count: NDArray[np.int64] = found.rows["lanes"][results].astype(np.int64)
    same: NDArray[np.bool_] = got == expected
    same[np.arange(got.shape[1]) >= count[:, np.newaxis]] = True
    return np.logical_and.reduce(same, axis=1)


def _differs(found: Aggregates, repeated: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.bool_]:
    rows = found.rows
    differs = np.zeros(len(repeated), np.bool_)
    again = np.flatnonzero(repeated != first)
    one, other = repeated[again], first[again]
    differs[again] = (
        (rows["reserved"][one] != rows["reserved"][other])
        | (rows["payload_len"][one] != rows["payload_len"][other])
        | (found.payload[one] != found.payload[other]).any(axis=1)
    )
    return differs


def _any(owner: NDArray[np.int64], flags: Any, count: int) -> NDArray[np.bool_]:
    """(count,) whether one of the packets of each aggregate has the flag."""
    found = np.zeros(count, np.bool_)
    found[owner[np.broadcast_to(flags, owner.shape)]] = True
    return found


def _by_aggregate(function: np.ufunc, values: NDArray[np.uint32], edges: NDArray[np.int64]) -> NDArray[np.uint32]:
    """(a,) the values of each aggregate put together; 0 where it has none."""
    total = np.zeros(len(edges) - 1, np.uint32)
    some = np.flatnonzero(edges[1:] > edges[:-1])
    if len(some):
        total[some] = function.reduceat(values, edges[some], dtype=np.uint32)
    return total
