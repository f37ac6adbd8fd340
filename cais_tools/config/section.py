"""A table of a document, read key by key; what is wrong with it is collected, with its place in the file."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from cais_tools.config.address import parse_target
from cais_tools.config.document import Lines, Location
from cais_tools.config.locate import KeyPath
from cais_tools.config.nearest import did_you_mean
from cais_tools.errors import UsageError

__all__ = ["Finding", "Section", "dotted", "root_section"]


def dotted(path: KeyPath) -> str:
    """`devices.leaf1.ports`, `rules[3].chunk`; arrays count from 0, as `--json` output does."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a place of a file; `key` is its dotted path, empty for the file as a whole."""

    location: Location
    key: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.location), self.key, self.message) if part)

    def error(self) -> UsageError:
        return UsageError(str(self), hint=self.hint)


@dataclass(frozen=True, slots=True)
class Section:
    """`values` as the document has them, at `path` in it. All that is found wrong goes to `findings`.

    A reading method returns None where the key is not there or its value is wrong; the latter is a finding.
    """

    values: Mapping[str, Any]
    path: KeyPath
    lines: Lines
    findings: list[Finding]

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def location(self, *keys: str | int) -> Location:
        return self.lines.location(*self.path, *keys)

    def wrong(self, message: str, *keys: str | int, hint: str | None = None) -> None:
        """Note that the section, or what is at `keys` in it, is wrong."""
        self.findings.append(Finding(self.location(*keys), dotted((*self.path, *keys)), message, hint))

    def allow(self, known: Collection[str]) -> None:
        """Every other key is a finding, with the known names that look like it."""
        for key in self.values:
            if key not in known:
                self.wrong("there is no such key", key, hint=did_you_mean(key, known))

    def require(self, *keys: str) -> None:
        for key in keys:
            if key not in self.values:
                self.wrong(f"{key} is missing")

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        self.wrong(f"{value!r} is no text", key, hint=f'write it in quotes: {key} = "..."')
        return None

    def address(self, key: str) -> str | None:
        """A text that `parse_target` takes."""
        text = self.text(key)
        if text is None:
            return None
        try:
            parse_target(text)
        except UsageError as error:
            self.wrong(error.message, key, hint=error.hint)
            return None
        return text.strip()

    def integer(self, key: str, low: int, high: int) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong(f"{value!r} is no whole number", key, hint=f"a number from {low} to {high}")
        elif not low <= value <= high:
            self.wrong(f"{value} is not between {low} and {high}", key)
        else:
            return value
        return None

    def number(self, key: str, low: float, high: float) -> float | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.wrong(f"{value!r} is no number", key, hint=f"a number from {low:g} to {high:g}")
        elif not low <= value <= high:
            self.wrong(f"{value:g} is not between {low:g} and {high:g}", key)
        else:
            return float(value)
        return None

    def table(self, key: str) -> Section | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.wrong("this must be a table", key, hint=f"[{dotted((*self.path, key))}]")
            return None
        return self._inner(cast("dict[str, Any]", value), key)

    def named_tables(self) -> Iterator[tuple[str, Section]]:
        """The tables in this one, by name."""
        for name in self.values:
            inner = self.table(name)
            if inner is not None:
                yield name, inner

    def tables(self, key: str) -> list[Section]:
        """The elements of an array of tables (`[[rules]]`)."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong("this must be an array of tables", key, hint=f"[[{dotted((*self.path, key))}]]")
            return []
        found: list[Section] = []
        for index, each in enumerate(cast("list[Any]", value)):
            if isinstance(each, dict):
                found.append(self._inner(cast("dict[str, Any]", each), key, index))
            else:
                self.wrong(f"{each!r} is no table", key, index, hint=f"[[{dotted((*self.path, key))}]]")
        return found

    def _inner(self, values: dict[str, Any], *keys: str | int) -> Section:
        return Section(values, (*self.path, *keys), self.lines, self.findings)


def root_section(values: Mapping[str, Any], lines: Lines, findings: list[Finding]) -> Section:
    """The document as a whole."""
    return Section(values, (), lines, findings)
