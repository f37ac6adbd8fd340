"""Damaged JSON documents: what somebody could hand to load_program."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

__all__ = ["damaged_json"]

_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 7, 63, 1 << 20, 1 << 31, 1 << 40, 1 << 70, 0.5, float("inf")),
    *("", "x", "0x", "0x7", "-0x1", "0xzz", "*", "0x" + "f" * 300, "\n", "a'\"\\b", "é\0", "x" * 5000, "egress"),
    *([], {}, [[]], [None], {"type": "field"}, {"type": "hexstr", "value": "0x0"}, ["a", "b"], [0, 1]),
)
_Place = tuple[Any, Any]
"""A container and the key or index in it."""


def damaged_json(text: str, rng: random.Random) -> str:
    """The document with one to three changes; now and then it is no JSON any more."""
    if rng.random() < 0.05:
        return _damaged_text(text, rng)
    root = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = _places(root)
        if places:
            rng.choice(_CHANGES)(places, rng)
    return json.dumps(root)


def _damaged_text(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text))
    if rng.random() < 0.3:
        return text[:place]
    return text[:place] + rng.choice(["{", "}", "[", "]", '"', ",", "0", "\0", "[" * 100_000]) + text[place + 1 :]


def _places(root: Any) -> list[_Place]:
    found: list[_Place] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        keys: Any = range(len(node)) if isinstance(node, list) else list(node) if isinstance(node, dict) else ()
        for key in keys:
            found.append((node, key))
            waiting.append(node[key])
    return found


# --- changes ---


def _remove(places: list[_Place], rng: random.Random) -> None:
    node, key = rng.choice(places)
    del node[key]


def _replace(places: list[_Place], rng: random.Random) -> None:
    node, key = rng.choice(places)
    node[key] = rng.choice(_VALUES)


def _transplant(places: list[_Place], rng: random.Random) -> None:
    """Another part of the document, of the same type where there is one."""
    node, key = rng.choice(places)
    alike = [other for other in places if type(other[0][other[1]]) is type(node[key])]
    source, where = rng.choice(alike)
    node[key] = json.loads(json.dumps(source[where]))


def _nudge(places: list[_Place], rng: random.Random) -> None:
    numbers = [(node, key) for node, key in places if type(node[key]) is int]
    if numbers:
        node, key = rng.choice(numbers)
        node[key] += rng.choice((-1, 1, 8, -node[key] - 1, 1 << 16))


def _repeat(places: list[_Place], rng: random.Random) -> None:
    node, key = rng.choice(places)
    if isinstance(node, list):
        node.insert(key, json.loads(json.dumps(node[key])))


def _shuffle(places: list[_Place], rng: random.Random) -> None:
    lists = [node[key] for node, key in places if isinstance(node[key], list)]
    if lists:
        rng.shuffle(rng.choice(lists))


_CHANGES: tuple[Callable[[list[_Place], random.Random], None], ...] = (
    _remove,
    _replace,
    _replace,
    _transplant,
    _transplant,
    _transplant,
    _nudge,
    _repeat,
    _shuffle,
)
