"""What the smoke test runs: operations in turn, and the random tensors of each, all from one seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cais_tools.errors import UsageError
from cais_tools.wire import Op
from cais_tools.worker.formats import FORMATS, Format

__all__ = ["DEFAULT_OPERATIONS", "OPERATIONS", "Operation", "Plan", "Step", "Tensor", "operations_named"]

Tensor: TypeAlias = NDArray[Any]
"""int32 or float32, shape (n,). Numbers of 16 bits are float32 here that they hold exactly."""

_INT32 = np.iinfo(np.int32)
# Where sums wrap and comparisons of signed numbers go wrong, if they do.
_EXTREMES = np.array([_INT32.max, _INT32.min, -1, 0, 1, _INT32.max - 1, _INT32.min + 1], np.int32)


@dataclass(frozen=True)
class Operation:
    """A collective as the table names it, and how it travels."""

    name: str
    op: Op
    dtype: type[np.int32 | np.float32] = np.int32
    rooted: bool = False
    """One rank owns the input (broadcast) or the output (reduce); it is another one in every step."""
    sharded: bool = False
    """Every rank owns an equal part of the whole tensor."""
    half: str = ""
    """The 16-bit type in which float32 travels, if any."""

    @property
    def values_are_covered(self) -> bool:
        """Whether the integrity tag covers the values too, and not only who contributed."""
        return self.op.is_linear

    @property
    def number_format(self) -> Format:
        """How sums of floats travel."""
        return FORMATS[self.half or np.dtype(self.dtype).name]

    @property
    def element_bytes(self) -> int:
        return 2 if self.half else 4


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("sum", Op.ALLREDUCE),
        Operation("sum-float32", Op.ALLREDUCE, np.float32),
        Operation("max", Op.ALLREDUCE_MAX),
        Operation("min", Op.ALLREDUCE_MIN),
        Operation("product", Op.ALLREDUCE_PRODUCT),
        Operation("all-gather", Op.ALLGATHER, sharded=True),
        Operation("broadcast", Op.BROADCAST, rooted=True),
        Operation("reduce-scatter", Op.ALLREDUCE, sharded=True),
        Operation("reduce", Op.ALLREDUCE, rooted=True),
        Operation("sum-float16", Op.ALLREDUCE, np.float32, half="float16"),
        Operation("sum-bfloat16", Op.ALLREDUCE, np.float32, half="bfloat16"),
    )
}
DEFAULT_OPERATIONS = tuple(OPERATIONS)


def operations_named(text: str) -> tuple[Operation, ...]:
    """Parse `sum,max` into operations, in that order; UsageError names those that exist."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in OPERATIONS:
            raise UsageError(f"there is no operation {name!r}", hint=f"choose from {', '.join(OPERATIONS)}")
    if not names:
        raise UsageError("no operation is named", hint=f"choose from {', '.join(OPERATIONS)}")
    return tuple(OPERATIONS[name] for name in dict.fromkeys(names))


@dataclass(frozen=True)
class Step:
    """One operation of one step."""

    number: int
    """From 1 on."""
    operation: Operation
    root: int
    inputs: Sequence[Tensor]
    """What each rank brings, by rank. All-gather: its part; broadcast: only the root's counts."""

    @property
    def ranks(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True)
class Plan:
    """Every step runs all the operations in turn, on tensors of `size` bytes."""

    operations: Sequence[Operation]
    steps: int
    ranks: int
    size: int
    seed: int

    def __post_init__(self) -> None:
        if self.size < 4 * self.ranks:
            raise UsageError(
                f"{self.size} bytes are less than a word for each rank of {self.ranks}",
                hint=f"--size {4 * self.ranks} or more",
            )

    @property
    def total(self) -> int:
        """How many operations the plan runs."""
        return self.steps * len(self.operations)

    def elements(self, operation: Operation) -> int:
        """Elements of the whole tensor; those of a sharded operation fall into equal parts."""
        count = self.size // operation.element_bytes
        return count - count % self.ranks if operation.sharded else count

    def __iter__(self) -> Iterator[Step]:
        for number in range(1, self.steps + 1):
            for operation in self.operations:
                yield self.step(number, operation)

    def step(self, number: int, operation: Operation) -> Step:
        """The same tensors for the same seed, whatever other operations run."""
        index = DEFAULT_OPERATIONS.index(operation.name)
        count = self.elements(operation)
        if operation.op is Op.ALLGATHER:
            count //= self.ranks
        inputs = [
            _tensor(np.random.default_rng([self.seed, number, index, rank]), operation, count)
            for rank in range(self.ranks)
        ]
        return Step(number, operation, (number - 1) % self.ranks, inputs)


def _tensor(random: np.random.Generator, operation: Operation, count: int) -> Tensor:
    if operation.dtype is np.float32:
        # Magnitudes from 2^-10 to 2^10, so that the exponents of blocks differ.
        scale = np.exp2(random.integers(-10, 11))
        values = operation.number_format.narrow((random.standard_normal(count) * scale).astype(np.float32))
        return operation.number_format.widen(values)
    words = random.integers(_INT32.min, _INT32.max, count, np.int32, endpoint=True)
    known = min(count, len(_EXTREMES))
    words[:known] = random.permutation(_EXTREMES)[:known]
    return words
