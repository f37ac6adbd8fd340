"""State that outlives a packet: counters, registers.

Cells are plain lists that generated code touches directly; they keep their identity for the life of the engine.
Meters are in `meters`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cais_tools.switch.refusals import Invalid

__all__ = ["Cell", "CounterArray", "CounterValue", "RegisterArray"]

Cell = list[int]
"""One counter: [packets, bytes]."""


class CounterValue(NamedTuple):
    packets: int
    bytes: int


class CounterArray:
    """An indirect counter: `size` cells of packets and bytes. Both are always counted, whatever the P4 type says."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.cells: list[Cell] = [[0, 0] for _ in range(size)]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> CounterValue:
        return self.read(index)

    def read(self, index: int) -> CounterValue:
        """Raises Invalid where the index is out of range."""
        return CounterValue(*self._cell(index))

    def read_all(self) -> list[CounterValue]:
        return [CounterValue(*cell) for cell in self.cells]

    def write(self, index: int, *, packets: int | None = None, bytes: int | None = None) -> None:  # noqa: A002
        """Set what is given, leave the rest."""
        cell = self._cell(index)
        if packets is not None:
            cell[0] = packets
        if bytes is not None:
            cell[1] = bytes

    def _cell(self, index: int) -> Cell:
        if not 0 <= index < self.size:
            raise Invalid(f"counter {self.name} has no index {index}", hint=f"its size is {self.size}")
        return self.cells[index]


class RegisterArray:
    """`size` values of `width` bits, all 0 at first. `values` is what generated code reads and writes."""

    def __init__(self, name: str, size: int, width: int) -> None:
        self.name = name
        self.size = size
        self.width = width
        self.values: list[int] = [0] * size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        return iter(self.read_all())

    def __getitem__(self, index: int) -> int:
        return self.read(index)

    def __setitem__(self, index: int, value: int) -> None:
        self.write(index, value)

    def read(self, index: int) -> int:
        """Raises Invalid where the index is out of range."""
        self._check(index)
        return self.values[index]

    def read_all(self) -> list[int]:
        return list(self.values)

    def write(self, index: int, value: int) -> None:
        """Raises Invalid where the index is out of range or the value does not fit."""
        self._check(index)
        if not 0 <= value < 1 << self.width:
            raise Invalid(f"{value} does not fit into {self.width} bits of register {self.name}")
        self.values[index] = value

    def write_all(self, value: int) -> None:
        """Every cell becomes `value`; the list keeps its identity."""
        self.write(0, value)
        self.values[:] = [self.values[0]] * self.size

    def _check(self, index: int) -> None:
        if not 0 <= index < self.size:
            raise Invalid(f"register {self.name} has no index {index}", hint=f"its size is {self.size}")
