"""What a check says about a wanted state, and where in the file it stands. Values only."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["NOWHERE", "Document", "Finding", "Path", "Place", "Severity", "errors_in"]

Path = tuple[str | int, ...]
"""Where a value stands in a document: `("rules", 3, "chunk")`."""


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Document:
    """A file's plain data, with the line of each key path (from 1)."""

    file: str
    data: Mapping[str, object] = field(default_factory=dict[str, object])
    lines: Mapping[Path, int] = field(default_factory=dict[Path, int])


@dataclass(frozen=True, slots=True)
class Place:
    """A group or rule of a document, or, without one, what a switch or a command line says."""

    document: Document | None = None
    path: Path = ()

    def line(self, *keys: str) -> int | None:
        """The line of the first of these keys that stands there, else where the group or rule itself begins."""
        if self.document is None:
            return None
        lines = self.document.lines
        for path in (*((*self.path, key) for key in keys), self.path, self.path[:-1]):
            if path in lines:
                return lines[path]
        return None

    def text(self, *keys: str) -> str:
        """`cais.toml:17`; nothing without a document."""
        line = self.line(*keys)
        if self.document is None:
            return ""
        return self.document.file if line is None else f"{self.document.file}:{line}"


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Finding:
    """`hint` says what to do about it."""

    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    hint: str | None = None

    @classmethod
    def at(
        cls, place: Place, keys: Iterable[str], severity: Severity, message: str, hint: str | None = None
    ) -> Finding:
        file = place.document.file if place.document is not None else None
        return cls(severity, message, file, place.line(*keys), hint)

    @property
    def where(self) -> str:
        if self.file is None:
            return ""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


def errors_in(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.severity is Severity.ERROR]
