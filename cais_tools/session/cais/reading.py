"""The wanted state from a file's `[[groups]]` and `[[rules]]`, for one device. Sans I/O.

What cannot be read is a finding with its line; all of them are told at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from cais_tools.config.nearest import did_you_mean
from cais_tools.errors import UsageError
from cais_tools.links import HIGHEST_PORT
from cais_tools.session.cais.findings import Document, Finding, Place, Severity
from cais_tools.session.cais.model import Span, default_priority
from cais_tools.session.cais.slots import DEFAULT_SLOTS
from cais_tools.session.cais.wanted import Link, Wanted, WantedGroup, WantedRule
from cais_tools.wire.header import Op

__all__ = ["GROUP_KEYS", "RULE_KEYS", "DeviceFacts", "read_wanted"]

GROUP_KEYS = ("id", "ports", "slots", "ranks", "link_gbps", "rtt_us", "hold_us", "devices")
RULE_KEYS = ("group", "op", "layer", "chunk", "outputs", "inputs", "priority", "devices")

_OPS = {op.label: op for op in Op}
_HIGHEST_PRIORITY = 2**31 - 1


@dataclass(frozen=True)
class DeviceFacts:
    """What the configuration says of a device: `names` are what `devices = [...]` may call it by, `ports` its ports
    by name, `link` what its ports are connected with.
    """

    names: tuple[str, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    link: Link | None = None
    all_names: frozenset[str] = frozenset()
    """What all devices of the configuration are called by; empty: nobody knows them."""


class _Bad(Exception):
    """A value that cannot be read."""

    def __init__(self, key: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


def read_wanted(document: Document, device: DeviceFacts | None = None) -> tuple[Wanted, list[Finding]]:
    """The groups and rules of `document` that are for `device`, and what is wrong with the others."""
    return _Reader(document, device or DeviceFacts()).read()


class _Reader:
    def __init__(self, document: Document, device: DeviceFacts) -> None:
        self._document = document
        self._device = device
        self._findings: list[Finding] = []
        self._groups: dict[int, WantedGroup] = {}
        self._elsewhere: set[object] = set()  # groups of other devices

    def read(self) -> tuple[Wanted, list[Finding]]:
        for place, entry in self._entries("groups", GROUP_KEYS):
            try:
                self._add_group(place, entry)
            except _Bad as bad:
                self._report(place, bad)
        rules: list[WantedRule] = []
        for place, entry in self._entries("rules", RULE_KEYS):
            try:
                rules.append(self._rule(place, entry))
            except _Bad as bad:
                self._report(place, bad)
        return Wanted(dict(sorted(self._groups.items())), tuple(rules)), self._findings

    def _report(self, place: Place, bad: _Bad) -> None:
        self._findings.append(Finding.at(place, [bad.key], Severity.ERROR, bad.message, bad.hint))

    def _entries(self, section: str, known: Sequence[str]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """The tables of a section that are for this device and have no unknown keys."""
        whole = Place(self._document, (section,))
        entries = self._document.data.get(section, [])
        if not isinstance(entries, list):
            self._report(whole, _Bad("", f"{section} is no list of tables", f"write [[{section}]]"))
            return
        for index, entry in enumerate(cast("list[Any]", entries)):
            place = Place(self._document, (section, index))
            try:
                if self._is_ours(entry, section, known):
                    yield place, entry
                elif section == "groups":
                    self._elsewhere.add(entry.get("id"))
            except _Bad as bad:
                self._report(place, bad)

    def _is_ours(self, entry: Any, section: str, known: Sequence[str]) -> bool:
        if not isinstance(entry, dict):
            raise _Bad("", f"this is no table of {section}", f"write [[{section}]]")
        keys = cast("dict[str, Any]", entry)
        for key in keys:
            if key not in known:
                raise _Bad(key, f"unknown key {key!r} in {section}", did_you_mean(key, known))
        if "devices" not in keys:
            return True
        names = keys["devices"]
        if not isinstance(names, list) or not all(isinstance(each, str) for each in cast("list[Any]", names)):
            raise _Bad("devices", "devices is no list of names", 'for example ["leaf1", "leaf2"]')
        named = set(cast("list[str]", names))
        for name in sorted(named - self._device.all_names - set(self._device.names)):
            if self._device.all_names:
                raise _Bad(
                    "devices", f"there is no device {name!r}", did_you_mean(name, sorted(self._device.all_names))
                )
        return bool(named & set(self._device.names))

    # -- groups

    def _add_group(self, place: Place, entry: Mapping[str, Any]) -> None:
        group_id = _number(entry, "id", 0, 255)
        if group_id in self._groups:
            first = self._groups[group_id].place.text("id")
            raise _Bad("id", f"group {group_id} is there twice (first at {first})")
        ports = self._ports(entry, "ports")
        ranks = tuple(range(len(ports)))
        if "ranks" in entry:
            ranks = _ranks(entry, len(ports))
        self._groups[group_id] = WantedGroup(
            group_id, ports, _number(entry, "slots", 1, 2**31, DEFAULT_SLOTS), ranks, self._link(entry), place
        )

    def _link(self, entry: Mapping[str, Any]) -> Link | None:
        base = self._device.link
        given = {key: _quantity(entry, key) for key in ("link_gbps", "rtt_us", "hold_us") if key in entry}
        gbps = given.get("link_gbps", base.gbps if base else None)
        rtt_us = given.get("rtt_us", base.rtt_us if base else None)
        if gbps is None or rtt_us is None:
            return None
        return Link(gbps, rtt_us, given.get("hold_us", base.hold_us if base else 0.0))

    # -- rules

    def _rule(self, place: Place, entry: Mapping[str, Any]) -> WantedRule:
        group_id = _number(entry, "group", 0, 255)
        group = self._groups.get(group_id)
        if group is None:
            raise self._no_group(group_id)
        layer, chunk = _span(entry, "layer"), _span(entry, "chunk")
        op = _op(entry)
        outputs = self._ports(entry, "outputs") if "outputs" in entry else group.ports
        inputs = self._ports(entry, "inputs") if "inputs" in entry else group.ports
        _check_inputs(group, op, inputs)
        priority = _number(entry, "priority", 1, _HIGHEST_PRIORITY, default_priority(layer, chunk))
        return WantedRule(group_id, op, layer, chunk, inputs, tuple(sorted(outputs)), priority, place)

    def _no_group(self, group_id: int) -> _Bad:
        if group_id in self._elsewhere:
            name = self._device.names[0] if self._device.names else "this device"
            return _Bad("group", f"group {group_id} is not for {name}", "give the rule the same devices as its group")
        known = ", ".join(map(str, sorted(self._groups))) or "none"
        return _Bad(
            "group", f"there is no group {group_id} in this file", f"add [[groups]] with its id; groups: {known}"
        )

    def _ports(self, entry: Mapping[str, Any], key: str) -> tuple[int, ...]:
        value = entry.get(key)
        if not isinstance(value, list) or not value:
            raise _Bad(key, f"{key} is no list of ports" if key in entry else f"{key} is missing", "as [1, 2, 3, 4]")
        ports = tuple(self._port(each, key) for each in cast("list[Any]", value))
        twice = sorted({port for port in ports if ports.count(port) > 1})
        if twice:
            raise _Bad(key, f"port {twice[0]} is in {key} twice")
        return ports

    def _port(self, value: Any, key: str) -> int:
        if isinstance(value, str):
            if value not in self._device.ports:
                known = list(self._device.ports)
                raise _Bad(
                    key, f"port {value!r} in {key}: the device has no port of this name", did_you_mean(value, known)
                )
            return self._device.ports[value]
        if not _is_number(value):
            raise _Bad(
                key, f"{value!r} in {key} is no port", "a number of the switch, or a name from the device's ports"
            )
        # Port 0 and those that are off by one are for the checks, which see all of them together.
        if not 0 <= value <= HIGHEST_PORT:
            raise _Bad(key, f"port {value} in {key} is not between 1 and {HIGHEST_PORT}")
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(entry: Mapping[str, Any], key: str, low: int, high: int, default: int | None = None) -> int:
    value = entry.get(key, default)
    if value is None:
        raise _Bad(key, f"{key} is missing")
    if not _is_number(value) or not low <= value <= high:
        raise _Bad(key, f"{key} = {value!r} is no number from {low} to {high}")
    return value


def _quantity(entry: Mapping[str, Any], key: str) -> float:
    value = entry[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (value == 0 and key != "hold_us"):
        raise _Bad(key, f"{key} = {value!r} is no positive number")
    return float(value)


def _ranks(entry: Mapping[str, Any], count: int) -> tuple[int, ...]:
    value = entry["ranks"]
    ranks = cast("list[Any]", value) if isinstance(value, list) else []
    if len(ranks) != count or not all(_is_number(each) and 0 <= each < 32 for each in ranks):
        raise _Bad(
            "ranks", "ranks is no list of one number from 0 to 31 for each port", "leave it out for 0, 1, 2, ..."
        )
    if len(set(ranks)) != count:
        raise _Bad("ranks", "a rank is there twice")
    return tuple(ranks)


def _span(entry: Mapping[str, Any], key: str) -> Span:
    value = entry.get(key, "any")
    if not isinstance(value, str) and not _is_number(value):
        raise _Bad(key, f"{key} = {value!r} is no {key}", 'a number, a range as "3-9", or "any"')
    try:
        return Span.parse(str(value))
    except UsageError as error:
        raise _Bad(key, f"{key}: {error.message}", error.hint) from None


def _op(entry: Mapping[str, Any]) -> Op:
    value = entry.get("op", Op.ALLREDUCE.label)
    if not isinstance(value, str) or value.lower() not in _OPS:
        raise _Bad("op", f"op = {value!r} is no operation", did_you_mean(str(value), _OPS))
    return _OPS[value.lower()]


def _check_inputs(group: WantedGroup, op: Op, inputs: Iterable[int]) -> None:
    """All members give payload; in an all-gather or broadcast perhaps the owner alone."""
    given, members = set(inputs), set(group.ports)
    if given == members or (op in (Op.ALLGATHER, Op.BROADCAST) and len(given) == 1 and given < members):
        return
    raise _Bad(
        "inputs",
        f"inputs {sorted(given)} are not the ports of group {group.group_id}, {list(group.ports)}",
        "a slot is complete when every member has contributed; leave inputs out"
        + (", or name the owner alone" if op in (Op.ALLGATHER, Op.BROADCAST) else ""),
    )
