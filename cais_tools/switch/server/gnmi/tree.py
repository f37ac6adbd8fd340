"""The state that gNMI tells: openconfig-platform, one component, its temperature. Sans I/O.

/components/component[name=chip] has the leaves name, state/name, state/type and state/temperature/instant, the last in
degrees Celsius, a decimal64 with one digit after the point.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cais_tools.gnmi import Elem, Path, gnmi_pb2, parse_path
from cais_tools.gnmi.paths import ANY, ANY_DEPTH

__all__ = ["CHIP", "Leaf", "has_wildcards", "leaf_value", "nodes", "of_type", "state_of", "subtree_value", "under"]

CHIP: Final = "chip"
_DATA_TYPE = gnmi_pb2.GetRequest.DataType
_COMPONENT: Final = f"/components/component[name={CHIP}]"
_MODULE: Final = "openconfig-platform"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number is a decimal64 with one digit after the point."""

    path: Path
    value: str | float


def state_of(temperature: float | None) -> list[Leaf]:
    """All leaves, of a switch with this temperature; without one it has no leaf for it."""
    values: dict[str, str | float] = {
        "name": CHIP,
        "state/name": CHIP,
        "state/type": "openconfig-platform-types:INTEGRATED_CIRCUIT",
    }
    if temperature is not None:
        values["state/temperature/instant"] = round(temperature, 1)
    return [Leaf(parse_path(f"{_COMPONENT}/{path}"), value) for path, value in values.items()]


def of_type(leaves: Iterable[Leaf], wanted: gnmi_pb2.GetRequest.DataType) -> list[Leaf]:
    """What is state, what is configuration, or all: keys of lists are both."""
    if wanted == _DATA_TYPE.ALL:
        return list(leaves)
    states = wanted in (_DATA_TYPE.STATE, _DATA_TYPE.OPERATIONAL)
    return [leaf for leaf in leaves if any(elem.name == "state" for elem in leaf.path) is states]


def has_wildcards(path: Path) -> bool:
    return any(elem.name in (ANY, ANY_DEPTH) or ANY in elem.keys.values() for elem in path)


def nodes(leaves: Iterable[Leaf], pattern: Path) -> list[Path]:
    """The nodes that a path with wildcards means; none that lies below another one."""
    found: list[Path] = []
    for leaf in leaves:
        for length in range(len(leaf.path) + 1):
            node = leaf.path[:length]
            if _matches(pattern, node):
                if node not in found:
                    found.append(node)
                break
    return found


def under(leaves: Iterable[Leaf], node: Path) -> list[Leaf]:
    return [leaf for leaf in leaves if leaf.path[: len(node)] == node]


def _matches(pattern: Path, path: Path) -> bool:
    """Follows all readings of the wildcards at once: each place in the pattern that the path so far may have led to."""
    places = _skipped(pattern, {0})
    for elem in path:
        steps = {
            place if pattern[place].name == ANY_DEPTH else place + 1
            for place in places
            if place < len(pattern) and _fits(pattern[place], elem)
        }
        places = _skipped(pattern, steps)
    return len(pattern) in places


def _skipped(pattern: Path, places: set[int]) -> set[int]:
    """With the places after each `...`, which stands for no node too."""
    for place in sorted(places):
        after = place
        while after < len(pattern) and pattern[after].name == ANY_DEPTH:
            after += 1
            places.add(after)
    return places


def _fits(wanted: Elem, elem: Elem) -> bool:
    if wanted.name == ANY_DEPTH:
        return True
    if wanted.name not in (ANY, elem.name):
        return False
    return all(name in elem.keys and value in (ANY, elem.keys[name]) for name, value in wanted.keys.items())


def leaf_value(value: str | float, encoding: gnmi_pb2.Encoding) -> gnmi_pb2.TypedValue:
    if encoding == gnmi_pb2.PROTO:
        if isinstance(value, str):
            return gnmi_pb2.TypedValue(string_val=value)
        return gnmi_pb2.TypedValue(double_val=value)
    return _json_value(_plain(value, encoding), encoding)


def subtree_value(node: Path, leaves: Sequence[Leaf], encoding: gnmi_pb2.Encoding) -> gnmi_pb2.TypedValue:
    """The leaves below a node as one JSON value. RFC 7951 wants the names on top with the name of their module."""
    below: dict[str, Any] = {}
    for leaf in leaves:
        at = below
        *inner, last = leaf.path[len(node) :]
        for elem in inner:
            at = _entry(at, elem) if elem.keys else at.setdefault(elem.name, {})
        at[last.name] = _plain(leaf.value, encoding)
    if encoding == gnmi_pb2.JSON_IETF:
        below = {f"{_MODULE}:{name}": value for name, value in below.items()}
    return _json_value(below, encoding)


def _entry(at: dict[str, Any], elem: Elem) -> dict[str, Any]:
    """The entry of a list; the only one that this state has."""
    entries: list[dict[str, Any]] = at.setdefault(elem.name, [{}])
    return entries[0]


def _plain(value: str | float, encoding: gnmi_pb2.Encoding) -> str | float:
    return str(value) if encoding == gnmi_pb2.JSON_IETF else value


def _json_value(value: Any, encoding: gnmi_pb2.Encoding) -> gnmi_pb2.TypedValue:
    data = json.dumps(value).encode()
    if encoding == gnmi_pb2.JSON_IETF:
        return gnmi_pb2.TypedValue(json_ietf_val=data)
    return gnmi_pb2.TypedValue(json_val=data)
