"""Compares what the ranks got with the reference, and finds out where and why it differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cais_tools.smoke.cause import Evidence, likely_cause
from cais_tools.smoke.plan import Operation, Step, Tensor
from cais_tools.smoke.reference import expected, shard
from cais_tools.smoke.report import Mismatch
from cais_tools.wire import Op
from cais_tools.worker import blocks, halves, layout

__all__ = ["Place", "Wrong", "explain", "first_wrong", "float_bound", "locate"]


@dataclass(frozen=True)
class Wrong:
    """The first element of a rank's result that is not what the reference says."""

    rank: int
    index: int
    wanted: Tensor
    """The whole result of this rank, as it should be."""
    got: Tensor
    tolerance: float = 0.0
    """What may be added to or missing from the element."""


@dataclass(frozen=True)
class Place:
    """Where an element travels: its chunk, its lane, and the elements of the result that share the packet."""

    chunk: int
    lane: int
    elements: slice


def first_wrong(step: Step, results: Sequence[Tensor | None], lanes: int) -> Wrong | None:
    """Return the first wrong element of the first rank that has one; None where everything is right."""
    is_float = step.operation.dtype is np.float32
    for rank, (wanted, got) in enumerate(zip(expected(step), results, strict=True)):
        if wanted is None and got is None:
            continue
        if wanted is None or got is None or wanted.shape != got.shape:
            empty = np.zeros(0, step.operation.dtype)
            return Wrong(rank, 0, empty if wanted is None else wanted, empty if got is None else got)
        wrong = np.flatnonzero(_float_differs(step, wanted, got, lanes) if is_float else wanted != got)
        if len(wrong):
            index = int(wrong[0])
            tolerance = float(float_bound(step, lanes)[index]) if is_float else 0.0
            return Wrong(rank, index, wanted, got, tolerance)
    return None


def float_bound(step: Step, lanes: int) -> NDArray[np.float64]:
    """The error that the endpoint states for each element of a float sum."""
    inputs = np.stack(step.inputs)
    if step.operation.half:
        return halves.error_bound(step.operation.number_format.narrow(inputs), lanes)
    return blocks.error_bound(inputs, lanes)


def _float_differs(step: Step, wanted: Tensor, got: Tensor, lanes: int) -> NDArray[np.bool_]:
    """Beyond the stated bound of the exact sum, or not the very bits that adding integers gives in any order."""
    outside = ~(np.abs(wanted - got.astype(np.float64)) <= float_bound(step, lanes))
    model = _float_model(step, lanes)
    return outside | (model.view(np.int32) != got.view(np.int32))


def _float_model(step: Step, lanes: int) -> NDArray[np.float32]:
    number_format, count = step.operation.number_format, len(step.inputs[0])
    width = _width(step.operation, lanes)
    packets = layout.packets(count, width)
    padded = np.zeros((step.ranks, packets * width), np.float32)
    for rank, values in enumerate(step.inputs):
        padded[rank, :count] = values
    rows = number_format.narrow(padded.reshape(step.ranks, packets, width))
    agreed = np.max([number_format.codewords(own) for own in rows], axis=0)
    total = np.zeros((packets, lanes), np.int32)
    for own in rows:
        total += number_format.quantise(own, agreed, step.ranks)
    sums = number_format.restore(total, agreed, step.ranks, rows.dtype)
    return number_format.widen(sums).reshape(-1)[:count]


def _width(operation: Operation, lanes: int) -> int:
    """How many elements are in a packet."""
    return lanes * 4 // operation.element_bytes


def locate(step: Step, rank: int, index: int, lanes: int) -> Place:
    """Return where element `index` of `rank`'s result travels, as `worker.layout` lays it out."""
    operation, part = step.operation, len(step.inputs[0])
    owner, inside = rank, index
    if operation.op is Op.ALLGATHER:
        owner, inside = divmod(index, part)
    elif operation.rooted:
        owner = step.root
    elif operation.sharded:
        part //= step.ranks
    width = _width(operation, lanes)
    packet, place = divmod(inside, width)
    start = index - place
    elements = slice(start, start + min(width, part - packet * width))
    return Place(_chunk(operation, step.ranks, owner, packet), place % lanes, elements)


def _chunk(operation: Operation, ranks: int, owner: int, packet: int) -> int:
    """Return the chunk_id of the owner's `packet`-th packet; tensors beyond one operation's limit start again."""
    if not operation.rooted and not operation.sharded:
        return packet % layout.MAX_PACKETS
    share = layout.share(ranks, owner)
    if operation.rooted:
        return share.start + packet % len(share)
    segment = (packet * ranks + owner) // len(share)  # the owners take turns
    return share.start + packet - max(0, -((owner - segment * len(share)) // ranks))


def explain(
    step: Step,
    wrong: Wrong,
    *,
    lanes: int,
    ports: Sequence[int],
    group_id: int,
    header_group_id: int | None = None,
    frame: Path | None = None,
) -> Mismatch:
    """Return everything that is known about a wrong element."""
    place = locate(step, wrong.rank, wrong.index, lanes)
    if wrong.index >= min(len(wrong.wanted), len(wrong.got)):
        cause = f"wrong port: rank {wrong.rank} got {len(wrong.got)} elements instead of {len(wrong.wanted)}"
        wanted, got = float(len(wrong.wanted)), float(len(wrong.got))
    else:
        wanted, got = (_number(values[wrong.index]) for values in (wrong.wanted, wrong.got))
        cause = likely_cause(
            Evidence(
                op=step.operation.op,
                expected=wrong.wanted[place.elements],
                got=wrong.got[place.elements],
                shares=_shares(step, wrong.rank, place.elements),
                elsewhere=_elsewhere(step, wrong, place, lanes),
                ports=ports,
                group_id=group_id,
                header_group_id=header_group_id,
                tolerance=wrong.tolerance,
            )
        )
    return Mismatch(step.number, step.operation.name, wrong.rank, place.chunk, place.lane, wanted, got, cause, frame)


def _number(value: Any) -> float:
    return value.item()


def _shares(step: Step, rank: int, elements: slice) -> list[Tensor]:
    """What each rank contributed to these elements of `rank`'s result."""
    operation = step.operation
    if operation.op is Op.ALLGATHER:
        owner, start = divmod(int(elements.start), len(step.inputs[0]))
        own = step.inputs[owner][start : start + int(elements.stop) - int(elements.start)]
        return [own if other == owner else np.zeros_like(own) for other in range(step.ranks)]
    if operation.op is Op.BROADCAST:
        own = step.inputs[step.root][elements]
        return [own if other == step.root else np.zeros_like(own) for other in range(step.ranks)]
    part = slice(0, None) if operation.rooted else shard(operation, len(step.inputs[0]), step.ranks, rank)
    return [values[part][elements] for values in step.inputs]


def _elsewhere(step: Step, wrong: Wrong, place: Place, lanes: int) -> dict[str, Tensor]:
    """The right results of other chunks, and of other ranks, by name."""
    length, width = place.elements.stop - place.elements.start, _width(step.operation, lanes)
    found: dict[str, Tensor] = {}
    for rank, values in enumerate(expected(step)):
        if values is None or (rank != wrong.rank and not step.operation.sharded):
            continue
        part = len(step.inputs[0]) if step.operation.op is Op.ALLGATHER else len(values)
        starts = (start for first in range(0, len(values), part) for start in range(first, first + part, width))
        for start in starts:
            if (rank, start) != (wrong.rank, place.elements.start):
                chunk = locate(step, rank, start, lanes).chunk
                found[f"chunk {chunk} of rank {rank}"] = values[start : start + length]
    return found
