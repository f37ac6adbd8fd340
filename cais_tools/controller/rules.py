"""The rules that a group needs for every operation of the training API (`worker.layout` says who owns which chunk)."""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.session.cais import RuleSpec, Span
from cais_tools.wire import Op
from cais_tools.worker import layout

__all__ = ["rules_for"]

# Sums for all and sums for an owner are one op_type: the layer tells them apart.
_SHARED, _OWNED = Span(0, 0x7FFF), Span(0x8000, 0xFFFF)
_TO_ALL = (Op.ALLREDUCE, Op.ALLREDUCE_MAX, Op.ALLREDUCE_MIN, Op.ALLREDUCE_PRODUCT)


def rules_for(group_id: int, ports: Sequence[int]) -> list[RuleSpec]:
    """`ports` are the switch's, by rank."""
    everybody = tuple(ports)
    rules = [RuleSpec(group_id, op, _SHARED, Span(), everybody, everybody) for op in _TO_ALL]
    # Owned sums of floats agree on their exponents first, and all ranks have to know those.
    rules.append(RuleSpec(group_id, Op.ALLREDUCE_MAX, _OWNED, Span(), everybody, everybody))
    for rank, port in enumerate(ports):
        share = layout.share(len(ports), rank)
        chunks = Span(share.start, share.stop - 1)
        others = tuple(other for other in ports if other != port)
        rules.append(RuleSpec(group_id, Op.ALLREDUCE, _OWNED, chunks, everybody, (port,)))
        rules += [RuleSpec(group_id, op, _SHARED, chunks, (port,), others) for op in (Op.ALLGATHER, Op.BROADCAST)]
    return rules
