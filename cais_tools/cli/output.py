"""What every command prints: lines, tables and JSON documents on stdout, notes on stderr.

Tables are plain aligned text, never cut to a width, so that they can be searched when they are piped. Colour is for
terminals only, and for no more than a word.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

__all__ = ["coloured", "emit_json", "note", "say", "table"]

_COLOURS = {"red": "\033[31m", "green": "\033[32m", "yellow": "\033[33m"}
_RESET = "\033[0m"
_ESCAPE = re.compile(r"\033\[[0-9;]*m")
_GAP = "  "


def say(text: str = "") -> None:
    """Write a line of the result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Write a line about the result, or about what is going on."""
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def emit_json(schema: str, document: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """Write one JSON document on one line. What is no number (a rate over no time) is null."""
    target = stream or sys.stdout
    target.write(json.dumps({"schema": schema, **_finite(document)}, allow_nan=False) + "\n")
    target.flush()


def _finite(node: Any) -> Any:
    if isinstance(node, float) and not math.isfinite(node):
        return None
    if isinstance(node, Mapping):
        return {str(key): _finite(value) for key, value in cast("Mapping[Any, Any]", node).items()}
    if isinstance(node, list | tuple):
        return [_finite(item) for item in cast("Sequence[Any]", node)]
    return node


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return aligned columns: those in `left` to the left, numbers to the right. Cells may be `coloured`."""
    lines = [list(header), *map(list, rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        _GAP.join(
            _padded(cell, width, left=column in left)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _padded(cell: str, width: int, *, left: bool) -> str:
    blanks = " " * (width - _width(cell))
    return cell + blanks if left else blanks + cell


def _width(cell: str) -> int:
    return len(_ESCAPE.sub("", cell))


def coloured(text: str, colour: str, stream: IO[str]) -> str:
    """Return `text` in colour where `stream` is a terminal that wants it (https://no-color.org)."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"{_COLOURS[colour]}{text}{_RESET}"
