"""Paths of gNMI: as text, as values, as messages (gNMI Path Encoding Conventions)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cais_tools.gnmi import gnmi_pb2

__all__ = ["ANY", "ANY_DEPTH", "Elem", "Path", "from_message", "in_text", "parse_path", "to_message"]

ANY: Final = "*"
ANY_DEPTH: Final = "..."

# A name, then [key=value] any number of times; in a value, \ stands before a ] or \ that belongs to it.
_KEY = r"\[([^=\[\]]+)=((?:[^\]\\]|\\.)*)\]"
_ELEM = re.compile(rf"/?([^/\[\]]+)((?:{_KEY})*)")


@dataclass(frozen=True, slots=True)
class Elem:
    """A node; `keys` says which entry of a list."""

    name: str
    keys: Mapping[str, str] = field(default_factory=dict[str, str])


Path: TypeAlias = tuple[Elem, ...]


def parse_path(text: str) -> Path:
    """Read `/components/component[name=chip]/state`. Raises ValueError."""
    elems: list[Elem] = []
    place = 0
    while place < len(text.rstrip("/")):
        found = _ELEM.match(text, place)
        if found is None:
            raise ValueError(f"{text!r} is no path: there is nothing to read at {text[place:]!r}")
        keys = {name: re.sub(r"\\(.)", r"\1", value) for name, value in re.findall(_KEY, found[2])}
        elems.append(Elem(found[1], keys))
        place = found.end()
    return tuple(elems)


def in_text(path: Path) -> str:
    return "".join("/" + elem.name + "".join(_key(*key) for key in elem.keys.items()) for elem in path) or "/"


def _key(name: str, value: str) -> str:
    escaped = re.sub(r"([]\\])", r"\\\1", value)
    return f"[{name}={escaped}]"


def to_message(path: Path) -> gnmi_pb2.Path:
    return gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name=elem.name, key=dict(elem.keys)) for elem in path])


def from_message(*messages: gnmi_pb2.Path) -> Path:
    """The nodes of a path; of a prefix and what comes after it."""
    return tuple(Elem(elem.name, dict(elem.key)) for message in messages for elem in message.elem)
