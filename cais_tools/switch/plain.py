"""Plain Python values for keys and arguments: numbers, addresses as text, bytes, pairs for prefixes, masks, ranges."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Iterable

from cais_tools.switch.matches import Exact, Lpm, Match, MatchKind, Range, Ternary
from cais_tools.switch.program import KeyField
from cais_tools.switch.refusals import Invalid, NotFound

__all__ = ["MatchValue", "Value", "find_name", "match_of", "number_of"]

Value = int | str | bytes
"""`3`, `"0x1f"`, a MAC, IPv4 or IPv6 address as text, or big-endian bytes."""
MatchValue = Value | tuple[Value, Value] | Match | None
"""How a key matches. A pair is (value, prefix length), (value, mask) or (low, high), as the key's kind says; None
matches everything; `"10.0.0.0/8"` is a prefix, too.
"""

_MAC = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")


def find_name(names: Iterable[str], name: str, kind: str) -> str:
    """The full name that `name` is, or is the end of (at a dot). Raises NotFound, Invalid where it is not unique."""
    known = list(names)
    if name in known:
        return name
    found = [each for each in known if each.endswith("." + name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Invalid(f"{kind} {name} is ambiguous", hint=f"it may be {', '.join(found)}")
    last = name.rpartition(".")[2]
    near = difflib.get_close_matches(last, {each.rpartition(".")[2] for each in known}, n=3)
    likely = [each for each in known if each.rpartition(".")[2] in near] or known
    raise NotFound(f"there is no {kind} {name}", hint=f"there is: {', '.join(likely) or 'none'}")


def number_of(value: Value, what: str) -> int:
    """Raises Invalid for text that is no number and no address; `what` says whose value it is."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if _MAC.fullmatch(value):
        return int(re.sub("[:-]", "", value), 16)
    try:
        return int(value, 0)
    except ValueError:
        pass
    try:
        return int(ipaddress.ip_address(value))
    except ValueError:
        raise Invalid(
            f"{value!r} is no value for {what}", hint="a number, or a MAC, IPv4 or IPv6 address as text"
        ) from None


def match_of(key: KeyField, value: MatchValue) -> Match:
    """The match of a key. Raises Invalid; whether values fit is the table's question."""
    if isinstance(value, Exact | Lpm | Ternary | Range):
        return value
    if value is None:
        return _everything(key)
    if isinstance(value, str) and key.kind is MatchKind.LPM and "/" in value:
        address, _, length = value.partition("/")
        value = (address, length)
    if not isinstance(value, tuple):
        return Exact(number_of(value, key.name))
    first, second = (number_of(each, key.name) for each in value)
    if key.kind is MatchKind.LPM:
        return Lpm(first, second)
    if key.kind is MatchKind.RANGE:
        return Range(first, second)
    if key.kind is MatchKind.TERNARY:
        return Ternary(first, second)
    raise Invalid(f"a pair for the {key.kind.value} key {key.name}", hint="it takes one value")


def _everything(key: KeyField) -> Match:
    if key.kind is MatchKind.LPM:
        return Lpm(0, 0)
    if key.kind is MatchKind.RANGE:
        return Range(0, (1 << key.width) - 1)
    if key.kind in (MatchKind.TERNARY, MatchKind.OPTIONAL):
        return Ternary(0, 0)
    raise Invalid(f"the {key.kind.value} key {key.name} needs a value")
