"""Whether a wanted state makes sense on a switch, before anything is sent. Sans I/O.

Errors are what the switch would refuse or misunderstand; warnings what it does, but hardly as meant. Notes say what
nobody can know: P4Runtime tells nothing about ports.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cais_tools.links import HIGHEST_PORT
from cais_tools.session.cais.findings import Finding, Severity
from cais_tools.session.cais.overlaps import overlaps
from cais_tools.session.cais.wanted import Link, Wanted, WantedGroup, WantedRule
from cais_tools.wire.header import DEFAULT_LANES, LANE_BYTES, MAX_MEMBERS

__all__ = ["SwitchFacts", "check_wanted", "slots_for_link"]

_FRAMING = 58
"""Bytes on the wire around a payload: Ethernet and CAIS header, FCS, preamble and gap."""
_MOST_OVERLAPS = 20


@dataclass(frozen=True)
class SwitchFacts:
    """What the checks know about a switch.

    `table_sizes` by short name; `ports` as the configuration lists them (None: it does not); `busy_ports` have had
    packets, so they are there; `sram_usage_limit` is the share of the pool above which no new work is admitted.
    """

    name: str = "the switch"
    pool: int = 4096
    lanes: int = DEFAULT_LANES
    table_sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    ports: frozenset[int] | None = None
    busy_ports: frozenset[int] = frozenset()
    sram_usage_limit: float = 0.75


def check_wanted(wanted: Wanted, facts: SwitchFacts) -> list[Finding]:
    """All findings: ports first, then groups, slots, rules."""
    return [
        *_check_ports(wanted, facts),
        *_check_groups(wanted, facts),
        *_check_slots(wanted, facts),
        *_check_rules(wanted, facts),
    ]


# -- ports


def _check_ports(wanted: Wanted, facts: SwitchFacts) -> Iterator[Finding]:
    unknown: set[int] = set()
    for thing, keys, ports in _port_lists(wanted):
        missing = [port for port in ports if port == 0 or (facts.ports is not None and port not in facts.ports)]
        if missing:
            message, hint = _missing(missing, ports, facts)
            yield Finding.at(thing.place, keys, Severity.ERROR, message, hint)
        if facts.ports is None:
            unknown |= {port for port in ports if port} - facts.busy_ports
    if unknown:
        yield Finding(
            Severity.NOTE,
            f"P4Runtime does not tell whether ports {_list(sorted(unknown))} exist and are up, "
            "and nothing has come in there",
            hint="with the device's ports in cais.toml wrong numbers are found",
        )


def _port_lists(wanted: Wanted) -> Iterator[tuple[WantedGroup | WantedRule, list[str], tuple[int, ...]]]:
    for group in wanted.groups.values():
        yield group, ["ports"], group.ports
    for rule in wanted.rules:
        if set(rule.outputs) != set(wanted.groups[rule.group_id].ports):
            yield rule, ["outputs"], rule.outputs


def _missing(missing: list[int], ports: tuple[int, ...], facts: SwitchFacts) -> tuple[str, str]:
    have = facts.ports
    message = f"port {missing[0]} does not exist" if len(missing) == 1 else f"ports {_list(missing)} do not exist"
    if have is not None:
        message += f": {facts.name} has {_list(sorted(have)) or 'none'}"
    for step, why in ((1, "these are numbers from 0 on"), (-1, "these are off by one")):
        shifted = [port + step for port in ports]
        fits = have.issuperset(shifted) if have is not None else step == 1 and max(shifted) <= HIGHEST_PORT
        if fits:
            return message, f"perhaps {why}: did you mean {_list(shifted)}?"
    return message, "ports are the switch's own numbers, starting at 1"


# -- groups


def _check_groups(wanted: Wanted, facts: SwitchFacts) -> Iterator[Finding]:
    group_of: dict[int, WantedGroup] = {}
    for group in wanted.groups.values():
        count = len(group.ports)
        if count > MAX_MEMBERS:
            message = f"group {group.group_id} has {count} ports, over {MAX_MEMBERS}"
            yield Finding.at(group.place, ["ports"], Severity.ERROR, message, "split it: the switch keeps 32 bits")
        if count == 1:
            message = f"group {group.group_id} has one port only: there is nothing to add up"
            yield Finding.at(group.place, ["ports"], Severity.WARNING, message, "give the ports of all ranks")
        if group.link is not None:
            yield from _check_window(group, group.link, facts.lanes)
        shared: dict[int, list[int]] = {}
        for port in group.ports:
            other = group_of.setdefault(port, group)
            if other is not group:
                shared.setdefault(other.group_id, []).append(port)
        for group_id, ports in shared.items():
            yield _shared(wanted.groups[group_id], group, ports)


def _shared(first: WantedGroup, second: WantedGroup, ports: list[int]) -> Finding:
    what = f"port {ports[0]} is" if len(ports) == 1 else f"ports {_list(ports)} are"
    message = f"{what} in group {first.group_id} and in group {second.group_id}"
    at = first.place.text("ports")
    hint = "their ranks share the link" + (f"; the other one is at {at}" if at else "")
    return Finding.at(second.place, ["ports"], Severity.WARNING, message, hint)


def slots_for_link(link: Link, lanes: int) -> int:
    """Packets in flight that fill the link: W >= B (RTT + hold) / wire bytes of a packet."""
    wire_bytes = lanes * LANE_BYTES + _FRAMING
    return math.ceil(link.gbps * 1e9 / 8 * (link.rtt_us + link.hold_us) * 1e-6 / wire_bytes)


def _check_window(group: WantedGroup, link: Link, lanes: int) -> Iterator[Finding]:
    window, needed = group.slots // 2, slots_for_link(link, lanes)
    if window >= needed:
        return
    enough = 1 << (2 * needed - 1).bit_length()
    yield Finding.at(
        group.place,
        ["slots"],
        Severity.WARNING,
        f"group {group.group_id} has a window of {window} packets, half its slots; a link of {link.gbps:g} Gb/s and "
        f"{link.rtt_us + link.hold_us:g} us needs {needed}",
        f"slots = {enough} fills it",
    )


# -- slots


def _check_slots(wanted: Wanted, facts: SwitchFacts) -> Iterator[Finding]:
    total = 0
    limit = facts.sram_usage_limit * facts.pool
    for group in wanted.groups.values():
        if group.slots < 2 or group.slots & (group.slots - 1):
            message = f"slots = {group.slots} of group {group.group_id} is no power of two"
            near = 1 << max(1, group.slots.bit_length())
            yield Finding.at(group.place, ["slots"], Severity.ERROR, message, f"for example {near}")
            continue
        before, total = total, total + group.slots
        if before <= facts.pool < total:
            message = f"the groups up to {group.group_id} want {total} slots; {facts.name} has {facts.pool}"
            yield Finding.at(group.place, ["slots"], Severity.ERROR, message, "give groups fewer slots")
        elif before <= limit < total:
            message = (
                f"the groups up to {group.group_id} want {total} of {facts.pool} slots, over sram_usage_limit = "
                f"{facts.sram_usage_limit:g}"
            )
            hint = "with all of them in use no new work is admitted; give groups fewer slots"
            yield Finding.at(group.place, ["slots"], Severity.WARNING, message, hint)


# -- rules


def _check_rules(wanted: Wanted, facts: SwitchFacts) -> Iterator[Finding]:
    yield from _check_sizes(wanted, facts)
    found = overlaps(wanted.rules)
    for first, second in itertools.islice(found, _MOST_OVERLAPS):
        yield _overlap(first, second)
    if next(found, None) is not None:
        yield Finding(Severity.ERROR, f"more than {_MOST_OVERLAPS} pairs of rules overlap")


def _overlap(first: WantedRule, second: WantedRule) -> Finding:
    at = first.place.text()
    where = f" at {at}" if at else ""
    if first.match == second.match:
        message = f"the {second} is there twice (first{where})"
        return Finding.at(second.place, ["layer", "chunk"], Severity.ERROR, message, "delete one of them")
    same = set(first.outputs) == set(second.outputs)
    message = f"the {second} overlaps the {first}{where} with the same priority {second.priority}"
    if same:
        hint = "their outputs are the same, so it does no harm, but one of them counts the other's hits"
        return Finding.at(second.place, ["layer", "chunk"], Severity.WARNING, message, hint)
    hint = "their outputs differ: give one of them another priority, the bigger one wins"
    return Finding.at(
        second.place, ["priority", "layer", "chunk"], Severity.ERROR, message + ", and other outputs", hint
    )


def _check_sizes(wanted: Wanted, facts: SwitchFacts) -> Iterator[Finding]:
    counts = {
        "groups": len(wanted.groups),
        "members": sum(len(group.ports) for group in wanted.groups.values()),
        "rules": len(wanted.rules),
    }
    for table, count in counts.items():
        size = facts.table_sizes.get(table)
        if size and count > size:
            hint = "use ranges of layers and chunks" if table == "rules" else None
            yield Finding(Severity.ERROR, f"{count} {table} are wanted; {facts.name} holds {size}", hint=hint)


def _list(ports: Iterable[int]) -> str:
    return ", ".join(map(str, ports))
