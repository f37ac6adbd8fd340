"""How each operation of the smoke test travels: the plan of a rank, and the rules that the switch needs for it."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from cais_tools.session.cais import RuleSpec, Span
from cais_tools.smoke.plan import Operation, Step, Tensor
from cais_tools.wire import Op
from cais_tools.worker import collectives, layout
from cais_tools.worker.config import Membership
from cais_tools.worker.transfer import Rows, Transfer

__all__ = ["layer_of", "plan_of", "rules_for"]

# Reductions to all and reductions to an owner are one op_type: the layer tells them apart. Every step is a layer of its
# own, so that rules have to match ranges.
_HALF = 0x8000
_SHARED, _OWNED = Span(0, _HALF - 1), Span(_HALF, 2 * _HALF - 1)


def _is_owned_sum(operation: Operation) -> bool:
    return operation.op is Op.ALLREDUCE and (operation.rooted or operation.sharded)


def layer_of(step: Step) -> int:
    return step.number % _HALF + (_HALF if _is_owned_sum(step.operation) else 0)


def plan_of(step: Step, member: Membership) -> Generator[Transfer, Rows, Tensor | None]:
    """Return the plan of rank `member.rank`; it returns what `reference.expected` says, one-dimensional."""
    operation, layer, values = step.operation, layer_of(step), step.inputs[member.rank]
    if operation.op is Op.ALLGATHER:
        return _flat(collectives.all_gather(member, values, layer))
    if operation.op is Op.BROADCAST:
        own = values if member.rank == step.root else np.zeros_like(values)
        return collectives.broadcast(member, own, step.root, layer)
    if operation.rooted:
        return collectives.reduce(member, values, step.root, layer)
    if operation.sharded:
        return collectives.reduce_scatter(member, values, layer)
    if operation.half:
        return _as_halves(member, step, values, layer)
    return collectives.all_reduce(member, values, operation.op, layer)


def _as_halves(member: Membership, step: Step, values: Tensor, layer: int) -> collectives.Plan[Tensor]:
    """Let float32 travel in the operation's 16-bit type."""
    operation, number_format = step.operation, step.operation.number_format
    bfloat16 = operation.half == "bfloat16"
    plan = collectives.all_reduce(member, number_format.narrow(values), operation.op, layer, bfloat16=bfloat16)
    return number_format.widen((yield from plan))


def _flat(plan: collectives.Plan[Tensor]) -> collectives.Plan[Tensor]:
    return (yield from plan).reshape(-1)


def rules_for(operations: Sequence[Operation], group_id: int, ports: Sequence[int]) -> list[RuleSpec]:
    """Return the rules for exactly these operations; `ports` are the switch's, by rank."""
    everybody = tuple(ports)
    rules: dict[object, RuleSpec] = {}

    def add(op: Op, layer: Span, chunk: Span, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        rule = RuleSpec(group_id, op, layer, chunk, inputs, outputs)
        rules[rule.key] = rule

    for operation in operations:
        if _is_owned_sum(operation):
            for chunk, port in _owners(ports):
                add(operation.op, _OWNED, chunk, everybody, (port,))
        elif operation.op in (Op.ALLGATHER, Op.BROADCAST):
            for chunk, port in _owners(ports):
                add(operation.op, _SHARED, chunk, (port,), tuple(other for other in ports if other != port))
        else:
            add(operation.op, _SHARED, Span(), everybody, everybody)
            if operation.dtype is np.float32:  # the exponents of the blocks go ahead
                add(Op.ALLREDUCE_MAX, _SHARED, Span(), everybody, everybody)
    return list(rules.values())


def _owners(ports: Sequence[int]) -> list[tuple[Span, int]]:
    """The chunks that each rank owns, with its port."""
    shares = [layout.share(len(ports), rank) for rank in range(len(ports))]
    return [(Span(share.start, share.stop - 1), port) for share, port in zip(shares, ports, strict=True)]
