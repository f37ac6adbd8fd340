"""TOML or JSON text as plain data, with the line of every key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from cais_tools.config.locate import DuplicateKey, KeyPath, locate_json, locate_toml
from cais_tools.errors import UsageError

__all__ = ["Lines", "Location", "parse_document", "read_text"]

_LARGEST = 64 * 2**20
_WHERE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; without a line the file as a whole."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Lines(Mapping[KeyPath, int]):
    """The line, from 1 on, of each key path of a document: `lines["rules", 3, "chunk"]`."""

    def __init__(self, file: str, numbers: Mapping[KeyPath, int]) -> None:
        self.file = file
        self._numbers = numbers

    def __getitem__(self, path: KeyPath) -> int:
        return self._numbers[path]

    def __iter__(self) -> Iterator[KeyPath]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def location(self, *path: str | int) -> Location:
        """Where the value at `path` stands; what is not there is looked for where it belongs."""
        while path and path not in self._numbers:
            path = path[:-1]
        return Location(self.file, self._numbers.get(path))


def read_text(path: Path, file: str | None = None) -> str:
    """The text of a file. Raises UsageError for one that is not there, is no UTF-8 or far too large."""
    name = file or str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        raise UsageError(f"there is no file {name}") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise UsageError(f"{name} is too large: more than {_LARGEST >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: this is no UTF-8 text (byte 0x{data[error.start]:02x})") from None


def parse_document(text: str, file: str) -> tuple[dict[str, Any], Lines]:
    """Plain data and the line of each key. JSON where the file is named .json or begins with a brace, else TOML.

    Raises UsageError with file and line for what is neither.
    """
    try:
        if file.lower().endswith(".json") or text.lstrip()[:1] == "{":
            return _parse_json(text, file)
        return _parse_toml(text, file)
    except RecursionError:
        raise UsageError(f"{file}: tables or arrays are nested too deeply") from None


def _parse_toml(text: str, file: str) -> tuple[dict[str, Any], Lines]:
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        where = _WHERE.search(message)
        line = int(where[1]) if where and where[1] else text.rstrip("\n").count("\n") + 1
        words = _WHERE.sub("", message)
        if where and not where[1]:
            words += " at the end of the file"
        raise UsageError(f"{file}:{line}: this is no TOML: {words}", hint=_toml_hint(text, line)) from None
    except ValueError as error:  # a date that does not exist, a number with too many digits
        raise UsageError(f"{file}: this is no TOML: {error}") from None
    return data, Lines(file, locate_toml(text))


def _toml_hint(text: str, line: int) -> str | None:
    shown = text.splitlines()[line - 1].strip() if text.strip() else ""
    return f"the line is: {shown[:80]}" if shown else None


def _parse_json(text: str, file: str) -> tuple[dict[str, Any], Lines]:
    try:
        data = json.loads(text, parse_constant=_no_number)
        lines = Lines(file, locate_json(text) if isinstance(data, dict) else {})
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}: this is no JSON: {error.msg}") from None
    except DuplicateKey as error:
        raise UsageError(f"{file}:{error.line}: the key {error.path[-1]!r} is there twice") from None
    except ValueError as error:
        raise UsageError(f"{file}: this is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{file}:1: this is no JSON object", hint='it begins with {"groups": [ or {"rules": [')
    return cast("dict[str, Any]", data), lines


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
