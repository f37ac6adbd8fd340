"""How big things may be, so that no JSON can fill the memory: far more than any program needs."""

from __future__ import annotations

from cais_tools.switch.refusals import ProgramError

__all__ = ["MAX_WIDTH", "array_size", "field_width"]

MAX_WIDTH = 1 << 14
"""Bits of a field, a parameter or a cell; p4c itself takes no more than 2048."""

_MAX_CELLS = 1 << 24


def array_size(name: str, size: int) -> int:
    """The number of cells of a register, counter or meter. Raises ProgramError."""
    if not 0 <= size <= _MAX_CELLS:
        raise ProgramError(f"{name} has {size} cells; 0 to {_MAX_CELLS} are supported")
    return size


def field_width(name: str, bits: int) -> int:
    """The width of a field, parameter or cell. Raises ProgramError."""
    if not 1 <= bits <= MAX_WIDTH:
        raise ProgramError(f"{name} has {bits} bits; 1 to {MAX_WIDTH} are supported")
    return bits
