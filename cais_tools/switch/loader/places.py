"""A JSON document that knows where it is looked at, so that whatever is wrong with it can be told with its place.

Objects and lists are dicts and lists that note each access. The loader reads one value after the other, and what it
stumbles over is what it has just looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex, cast

__all__ = ["Places", "placed"]

_SHOWN = 40


class Places:
    """Remembers the last value that was looked at."""

    def __init__(self) -> None:
        self._node: _Object | _List | None = None
        self._key: object = None

    def note(self, node: _Object | _List, key: object) -> None:
        self._node, self._key = node, key

    def forget(self) -> None:
        self._node = None

    @property
    def value(self) -> str:
        """Its place: `pipelines[0].tables[3].key`; empty where there is none."""
        return "" if self._node is None else _join(self._node.path(), self._key)

    @property
    def owner(self) -> str:
        """The place of the object that it is in, in which something does not fit together; of an item its own."""
        return self._node.path() if isinstance(self._node, _Object) else self.value

    @property
    def fault(self) -> str:
        """What is wrong with it, as far as its form tells."""
        node, key = self._node, self._key
        if node is None:
            return "it is not what p4c writes"
        held = dict[object, Any](node.items() if isinstance(node, _Object) else enumerate(node.items()))
        return _told(held[key]) if key in held else "it is missing"


def placed(value: Any, places: Places) -> Any:
    """A copy of a JSON value whose objects and lists note accesses in `places`."""
    return _placed(value, places, None, None)


def _placed(value: Any, places: Places, parent: _Object | _List | None, key: object) -> Any:
    if isinstance(value, dict):
        node = _Object(places, parent, key)
        for name, each in cast("dict[str, Any]", value).items():
            node[name] = _placed(each, places, node, name)
        return node
    if isinstance(value, list):
        items = _List(places, parent, key)
        for number, each in enumerate(cast("list[Any]", value)):
            items.append(_placed(each, places, items, number))
        return items
    return value


class _Object(dict[str, Any]):
    __slots__ = ("_key", "_places", "parent")

    def __init__(self, places: Places, parent: _Object | _List | None, key: object) -> None:
        self._places, self.parent, self._key = places, parent, key

    def path(self) -> str:
        return "" if self.parent is None else _join(self.parent.path(), self._key)

    def __getitem__(self, key: str) -> Any:
        self._places.note(self, key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._places.note(self, key)
        return super().get(key, default)


class _List(list[Any]):
    __slots__ = ("_key", "_places", "parent")

    def __init__(self, places: Places, parent: _Object | _List | None, key: object) -> None:
        self._places, self.parent, self._key = places, parent, key

    def path(self) -> str:
        return "" if self.parent is None else _join(self.parent.path(), self._key)

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        self._places.note(self, key)
        return super().__getitem__(key)

    def items(self) -> Iterator[Any]:
        """As iterating does, without noting it."""
        return super().__iter__()

    def __iter__(self) -> Iterator[Any]:
        for number, each in enumerate(self.items()):
            self._places.note(self, number)
            yield each


def _join(path: str, key: object) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    name = "".join(each if each.isprintable() else "?" for each in str(key))[:_SHOWN]
    return f"{path}.{name}" if path else name


def _told(value: object) -> str:
    if isinstance(value, dict):
        return "an object of another form is expected"
    if isinstance(value, list):
        return "a list of another form is expected"
    text = ascii(value)
    return f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '..'} is not what is expected"
