"""What is wrong with a capture file, said once, after everything before it was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cais_tools.sniff.stream import Window

__all__ = ["Damage"]


class Damage:
    """Reports to `tell`; `found` says whether records in the middle of the file could not be read."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        self.found = False
        self._name = name
        self._tell = tell

    def report(self, what: str) -> None:
        """The file makes no sense from here on: nothing after it is read."""
        self.found = True
        self._tell(f"{self._name} is damaged: {what}; nothing after it is read")

    def end_of(self, window: Window, count: int) -> None:
        """The file ended; perhaps within a record, as a capture does whose writer was killed."""
        if window.broken is not None:
            self.found = True
            self._tell(f"{self._name}: {window.broken}, after {count:,} packets")
        elif window.left:
            self._tell(f"{self._name} ends in the middle of record {count + 1:,}; the {count:,} before it are read")
