"""What `/` takes: words, or an expression over the columns of a table. Sans I/O.

leaf3                             rows with this in a name
ops > 100 and missing ~ rank 2    comparisons: = != < <= > >= and ~ (contains); and, or, not, parentheses
sram > 80% or p99_us > 5ms        numbers with units: k M G, %, us ms s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from cais_tools.config.nearest import did_you_mean
from cais_tools.errors import UsageError
from cais_tools.top.columns import Table, Value

__all__ = ["Filter", "matching", "parse_filter"]

R = TypeVar("R")

Filter = Callable[[Any], bool]

_TOKEN: Final = re.compile(r"""\s*(?:(?P<mark><=|>=|!=|==|[=<>~()])|"(?P<quoted>[^"]*)"?|(?P<word>[^\s<>=!~()"]+|!))""")
_NUMBER: Final = re.compile(r"(?P<digits>-?\d+(?:\.\d+)?)(?P<unit>%|us|ms|s|k|M|G|T)?")
_UNITS: Final = {"%": 0.01, "us": 1.0, "ms": 1e3, "s": 1e6, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_WORDS: Final = ("and", "or", "not")
_MOST: Final = 100  # the calls that a row goes through are nested as deeply

_Token = tuple[str, str]  # kind (mark, word, quoted) and text


def parse_filter(text: str, table: Table[R]) -> Callable[[R], bool] | None:
    """A test for rows; None for an empty text. Raises UsageError for an expression that is none."""
    tokens = _tokens(text)
    if not tokens:
        return None
    if len(tokens) > _MOST:
        raise UsageError(f"a filter has at most {_MOST} words and marks")
    reader = _Reader(tokens, table)
    found = reader.either()
    if reader.left:
        raise UsageError(f"{reader.left[0][1]!r} is too much")
    return found


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place, text = 0, text.strip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise UsageError(f"{text[place:].strip()!r} cannot be read")
        kind = found.lastgroup or "word"
        tokens.append((kind, "=" if found[kind] == "==" else found[kind]))
        place = found.end()
    return tokens


class _Reader:
    """Recursive descent: either < both < one."""

    def __init__(self, tokens: list[_Token], table: Table[Any]) -> None:
        self.left = tokens
        self._table = table

    def _next_is(self, *words: str) -> bool:
        return bool(self.left) and self.left[0][0] != "quoted" and self.left[0][1].lower() in words

    def either(self) -> Filter:
        found = self.both()
        while self._next_is("or"):
            del self.left[0]
            found = _either(found, self.both())
        return found

    def both(self) -> Filter:
        found = self.one()
        while self.left and not self._next_is("or", ")"):
            if self._next_is("and"):
                del self.left[0]
            found = _both(found, self.one())
        return found

    def one(self) -> Filter:
        if not self.left:
            raise UsageError("something is missing at the end")
        if self._next_is("not"):
            del self.left[0]
            inner = self.one()
            return lambda row: not inner(row)
        kind, text = self.left.pop(0)
        if kind == "mark":
            return self._in_parentheses(text)
        if kind == "word" and self.left and self.left[0][0] == "mark" and self.left[0][1] not in "()":
            return self._comparison(text, self.left.pop(0)[1])
        return self._plain(text)

    def _in_parentheses(self, mark: str) -> Filter:
        if mark != "(":
            raise UsageError(f"nothing stands before {mark!r}")
        inner = self.either()
        if not self._next_is(")"):
            raise UsageError("a ) is missing")
        del self.left[0]
        return inner

    def _plain(self, text: str) -> Filter:
        wanted, names = text.casefold(), self._table.names
        return lambda row: any(wanted in name.casefold() for name in names(row))

    def _comparison(self, key: str, mark: str) -> Filter:
        column = self._named(key)
        operand = self._operand(key, mark)
        if mark == "~":
            wanted, text = operand.casefold(), column.text
            return lambda row: wanted in text(row).casefold()
        number, compare, value = _number(operand, column.key), _COMPARE[mark], column.value
        if number is None:
            if mark not in ("=", "!="):
                raise UsageError(f"{operand!r} is no number", hint=f"for example {key} > 10")
            wanted = operand.casefold()
            return lambda row: (_text(value(row)).casefold() == wanted) == (mark == "=")
        return lambda row: _holds(value(row), compare, number)

    def _named(self, key: str) -> Any:
        """The column of this key or title, or the only one whose key begins so: `ops` is `ops_per_s`."""
        columns, name = self._table.columns, key.lower()
        exact = [column for column in columns if name in (column.key, column.title.lower())]
        found = exact or [column for column in columns if column.key.startswith(name)]
        if len(found) == 1 or exact:
            return found[0]
        known = list(self._table.by_key)
        hint = did_you_mean(key, known) or f"they have {', '.join(known)}"
        raise UsageError(f"{self._table.kind}s have no {key!r}", hint=hint)

    def _operand(self, key: str, mark: str) -> str:
        """One word, or all up to the next `and`, `or` or mark where the column is text."""
        words: list[str] = []
        while self.left and self.left[0][0] != "mark" and not (words and self._next_is(*_WORDS)):
            kind, text = self.left.pop(0)
            words.append(text)
            if kind == "quoted" or mark not in "=~":
                break
            if len(self.left) > 1 and self.left[1][0] == "mark" and self.left[1][1] not in "()":
                break  # the next word is compared with something itself
        if not words:
            raise UsageError(f"nothing stands after {key} {mark}")
        return " ".join(words)


def _both(first: Filter, second: Filter) -> Filter:
    return lambda row: first(row) and second(row)


def _either(first: Filter, second: Filter) -> Filter:
    return lambda row: first(row) or second(row)


def _holds(value: Value, compare: Callable[[float, float], bool], number: float) -> bool:
    return not isinstance(value, str) and value is not None and compare(value, number)


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _number(text: str, key: str) -> float | None:
    """In the column's own units: microseconds, or seconds where its key says so."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    unit = found["unit"] or ""
    in_seconds = unit in ("us", "ms", "s") and key.endswith("_s") and not key.endswith("_per_s")
    return float(found["digits"]) * _UNITS.get(unit, 1.0) / (1e6 if in_seconds else 1.0)


def matching(rows: Iterable[R], wanted: Callable[[R], bool] | None) -> list[R]:
    """The rows that pass."""
    return [row for row in rows if wanted is None or wanted(row)]
