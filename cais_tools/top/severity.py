"""How bad something is, in one order for alarms, colours and exit codes."""

from __future__ import annotations

import enum

__all__ = ["Severity"]


class Severity(enum.IntEnum):
    """`INFO` is worth a line in the log and no more; the numbers of the others are what `--check` exits with."""

    INFO = 0
    WARNING = 1
    CRITICAL = 2

    @property
    def word(self) -> str:
        return self.name.lower()
