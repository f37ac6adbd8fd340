"""In which line each key of a TOML or JSON document stands, which tomllib and json do not tell. Sans I/O.

The scanner takes documents that tomllib or json has read without an error. So it need not know what a date or a number
looks like, only where strings, arrays, tables and comments begin and end.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["DuplicateKey", "KeyPath", "locate_json", "locate_toml"]

KeyPath: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys of tables and indices of arrays, as `("rules", 3, "chunk")`."""

_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
# Up to two quotes may stand before the three that end a string, so they end with up to five.
_STRING = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\]++|\\.)*+"'
    r"|'[^']*'",
    re.DOTALL,
)


class DuplicateKey(ValueError):
    """A JSON object has a key twice."""

    def __init__(self, path: KeyPath, line: int) -> None:
        super().__init__(path, line)
        self.path, self.line = path, line


def locate_toml(text: str) -> dict[KeyPath, int]:
    """Line numbers, from 1 on, of all keys, tables and elements of arrays of a valid TOML document."""
    return _Toml(text).scan()


def locate_json(text: str) -> dict[KeyPath, int]:
    """The same for a valid JSON document. Raises DuplicateKey."""
    return _Json(text).scan()


class _Scanner:
    """Goes through values; `separator` stands between a key and its value."""

    separator: str

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self.lines: dict[KeyPath, int] = {}

    def _line(self) -> int:
        return bisect_right(self._ends, self._at - 1) + 1

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None, f"line {self._line()} is not what it was to the parser"
        self._at = found.end()
        return found[0]

    def _accept(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        return True

    def _value(self, path: KeyPath) -> None:
        if self._accept("["):
            self._array(path)
        elif self._accept("{"):
            self._table(path)
        elif self._text[self._at] in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        index = 0
        self._skip(_SPACE)
        while not self._accept("]"):
            self.lines[*path, index] = self._line()
            self._value((*path, index))
            index += 1
            self._next_item()

    def _table(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        while not self._accept("}"):
            self._key_and_value(path)
            self._next_item()

    def _next_item(self) -> None:
        self._skip(_SPACE)
        self._accept(",")
        self._skip(_SPACE)

    def _key_and_value(self, path: KeyPath) -> None:
        path = self._key(path)
        self._skip(_SPACE)
        assert self._accept(self.separator), f"line {self._line()} has no {self.separator}"
        self._skip(_SPACE)
        self._value(path)

    def _key(self, path: KeyPath) -> KeyPath:
        """Read a key below `path`, note its line, and return its path."""
        raise NotImplementedError


class _Json(_Scanner):
    separator = ":"

    def scan(self) -> dict[KeyPath, int]:
        self._skip(_SPACE)
        self._value(())
        return self.lines

    def _key(self, path: KeyPath) -> KeyPath:
        import json

        line = self._line()
        path = (*path, json.loads(self._skip(_STRING)))
        if path in self.lines:
            raise DuplicateKey(path, line)
        self.lines[path] = line
        return path


class _Toml(_Scanner):
    separator = "="

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._elements: dict[KeyPath, int] = {}  # how many tables each array of tables has so far

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self._skip(_SPACE)
        while self._at < len(self._text):
            if self._accept("[["):
                table = self._header(self._new_element)
            elif self._accept("["):
                table = self._header(self._in_last_element)
            else:
                self._key_and_value(table)
            self._skip(_SPACE)
        return self.lines

    def _header(self, resolve: Callable[[KeyPath, str], KeyPath]) -> KeyPath:
        line = self._line()
        *parents, last = self._dotted()
        path: KeyPath = ()
        for part in parents:
            path = self._in_last_element(path, part)
            self.lines.setdefault(path, line)
        path = resolve(path, last)
        self.lines[path] = line
        self._at = self._text.index("]", self._at) + 1
        self._accept("]")
        return path

    def _in_last_element(self, path: KeyPath, part: str) -> KeyPath:
        path = (*path, part)
        return (*path, self._elements[path] - 1) if path in self._elements else path

    def _new_element(self, path: KeyPath, part: str) -> KeyPath:
        path = (*path, part)
        self.lines.setdefault(path, self._line())
        index = self._elements.get(path, 0)
        self._elements[path] = index + 1
        return (*path, index)

    def _key(self, path: KeyPath) -> KeyPath:
        line = self._line()
        for part in self._dotted():
            path = (*path, part)
            self.lines.setdefault(path, line)
        return path

    def _dotted(self) -> list[str]:
        parts: list[str] = []
        while not parts or self._accept("."):
            self._skip(_BLANK)
            parts.append(self._part())
            self._skip(_BLANK)
        return parts

    def _part(self) -> str:
        if self._text[self._at] not in "\"'":
            return self._skip(_BARE_KEY)
        raw = self._skip(_STRING)
        return next(iter(tomllib.loads(f"{raw} = 0")))
