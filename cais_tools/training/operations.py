"""The collective operations that a group can do: what they are called, what the ranks agree on, their switch plans."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cais_tools.errors import UsageError
from cais_tools.training.schedule import OperationClass
from cais_tools.wire.header import Op
from cais_tools.worker import collectives
from cais_tools.worker.collectives import Plan
from cais_tools.worker.config import Membership

__all__ = ["BFLOAT16", "REDUCTIONS", "Operation", "Tensor"]

Tensor: TypeAlias = NDArray[Any]

BFLOAT16: Final = "bfloat16"
"""NumPy has no such type: its values travel as the bits, in uint16."""

REDUCTIONS: Final = {
    "ALL_REDUCE": Op.ALLREDUCE,
    "ALL_REDUCE_MAX": Op.ALLREDUCE_MAX,
    "ALL_REDUCE_MIN": Op.ALLREDUCE_MIN,
    "ALL_REDUCE_PRODUCT": Op.ALLREDUCE_PRODUCT,
}

_SUMS = frozenset({"int32", "float64", "float32", "float16", BFLOAT16})
_ON_SWITCH = {
    "ALL_REDUCE": _SUMS,
    "ALL_REDUCE_MAX": frozenset({"int32", "float32", "float16", BFLOAT16}),
    "ALL_REDUCE_MIN": frozenset({"int32", "float32", "float16", BFLOAT16}),
    "ALL_REDUCE_PRODUCT": frozenset({"int32"}),
    "REDUCE_SCATTER": _SUMS,
}
# Sums for one rank and sums for all are one op_type: the upper half of the layers is for the former.
_OWNED = 0x8000
_LAYERS = _OWNED


@dataclass(frozen=True, slots=True)
class Operation:
    """One call on one rank. `array` is C-contiguous and stays as it is; `root` is the rank that broadcasts.

    `dtype` is NumPy's name of the type, or BFLOAT16 with an array of uint16.
    """

    kind: str
    array: Tensor
    dtype: str
    root: int = 0
    layer_id: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.layer_id < _LAYERS:
            raise UsageError(f"layer {self.layer_id} does not exist", hint=f"layers are 0 to {_LAYERS - 1}")

    @property
    def category(self) -> OperationClass:
        return OperationClass(self.kind, self.dtype, self.array.nbytes)

    def fingerprint(self, number: int) -> int:
        """32 bits of everything that all ranks must have alike."""
        text = f"{number} {self.kind} {self.dtype} {self.array.size} {self.root} {self.layer_id}"
        return zlib.crc32(text.encode())

    @property
    def obstacle(self) -> str:
        """Why the switch cannot do it, for every rank alike; empty where it can."""
        types = _ON_SWITCH.get(self.kind)
        if types is not None and self.dtype not in types:
            return f"the switch does no {self.kind.lower()} of {self.dtype}"
        return "" if self.array.size else "there is nothing to be sent"

    def plan(self, member: Membership) -> Plan[Tensor]:
        """How the switch does it. The result has the shape that the operation says, a broadcast's that of `array`."""
        is_bfloat16 = self.dtype == BFLOAT16
        match self.kind:
            case "REDUCE_SCATTER":
                layer = self.layer_id + _OWNED
                return collectives.reduce_scatter(member, self.array, layer, bfloat16=is_bfloat16)
            case "ALL_GATHER":
                return collectives.all_gather(member, self.array, self.layer_id)
            case "BROADCAST":
                return collectives.broadcast(member, self.array, self.root, self.layer_id)
            case _:
                op = REDUCTIONS[self.kind]
                return collectives.all_reduce(member, self.array, op, self.layer_id, bfloat16=is_bfloat16)

    def result_from(self, data: bytes) -> Tensor:
        """The result, from the bytes of another rank's."""
        shape = (-1, *self.array.shape) if self.kind == "ALL_GATHER" else self.array.shape
        return np.frombuffer(data, self.array.dtype).reshape(shape)

    @property
    def is_own(self) -> bool:
        """Whether each rank's result is its own, so that nobody else could give it."""
        return self.kind == "REDUCE_SCATTER"
