"""What became of a piece of work on one device, and on all of them. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cais_tools.config import Device
from cais_tools.errors import CaisError

__all__ = ["Outcome", "worst"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """`value` is what the work returned; with an `error` it is None."""

    device: Device
    value: T | None = None
    error: CaisError | None = None

    @property
    def exit_code(self) -> int:
        return 0 if self.error is None else self.error.exit_code


def worst(outcomes: Iterable[Outcome[Any]]) -> int:
    """The highest exit code: refused before not permitted before unreachable before usage before a failed check."""
    return max((outcome.exit_code for outcome in outcomes), default=0)
