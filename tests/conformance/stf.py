"""Reads p4c's packet tests (STF) and runs them on an engine.

A test is a list of commands in order: packets in, packets expected for each port, table entries, and a few commands of
bmv2's command line for multicast and mirroring.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from cais_tools.switch.actions import ActionCall
from cais_tools.switch.engine import Engine, Queued
from cais_tools.switch.loader import load_program
from cais_tools.switch.matches import Exact, Lpm, Match, MatchKind, Range, Ternary
from cais_tools.switch.pre import CloneSession, Replica
from cais_tools.switch.program import KeyField
from cais_tools.switch.tables import Table

__all__ = ["Expectation", "StfRun", "run_stf"]

_PASSES = 1000
"""No test sends a packet around so often."""


@dataclass(frozen=True)
class Expectation:
    """A frame that a port should see: hex digits, `*` for any; `exact`: nothing may follow. None: any frame."""

    digits: str | None
    exact: bool

    def matches(self, frame: bytes) -> bool:
        if self.digits is None:
            return True
        seen = frame.hex().upper()
        if len(seen) < len(self.digits) or (self.exact and len(seen) != len(self.digits)):
            return False
        return all(want in ("*", have) for want, have in zip(self.digits, seen, strict=False))

    def __str__(self) -> str:
        return "any frame" if self.digits is None else self.digits + ("$" if self.exact else "")


@dataclass
class StfRun:
    """One test being run."""

    engine: Engine
    expected: dict[int, list[Expectation]] = field(default_factory=lambda: defaultdict(list))
    seen: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    nodes: list[Replica] = field(default_factory=list[Replica])

    def execute(self, line: str) -> None:
        words = line.split()
        command, rest = words[0].lower(), words[1:]
        if command == "packet":
            self.send(int(rest[0]), bytes.fromhex("".join(rest[1:])))
        elif command == "expect":
            text = "".join(rest[1:]).upper()
            digits = text.rstrip("$") or None
            self.expected[int(rest[0])].append(Expectation(digits, text.endswith("$")))
        elif command == "add":
            add_entry(self.engine, line)
        elif command == "mirroring_add":
            session = CloneSession((Replica(int(rest[1]), 0),))
            self.engine.pre.insert_session(int(rest[0]), session)
        elif command == "mc_mgrp_create":
            self.engine.pre.insert_group(int(rest[0]), ())
        elif command == "mc_node_create":
            self.nodes += [Replica(int(port), int(rest[0])) for port in rest[1:]]
        elif command == "mc_node_associate":
            group, node = int(rest[0]), self.nodes[int(rest[1])]
            self.engine.pre.modify_group(group, (*self.engine.pre.get_group(group), node))
        elif command != "wait":
            raise ValueError(f"unknown STF command: {line}")

    def send(self, port: int, frame: bytes) -> None:
        """A packet in, and everything that follows from it."""
        self._drain(self.engine.process_ingress(port, [frame]))
        for _ in range(_PASSES):
            if not self.engine.pending:
                return
            self._drain(self.engine.process_pending())
        raise AssertionError("the packet goes round for ever")

    def _drain(self, queued: list[Queued]) -> None:
        for each in queued:
            frame = self.engine.process_egress(each)
            if frame is not None:
                self.seen[each.egress_port].append(frame)

    def problems(self) -> list[str]:
        """What is not as expected, one line each."""
        found: list[str] = []
        for port in sorted({*self.expected, *self.seen}):
            expected, seen = self.expected.get(port, []), self.seen.get(port, [])
            if len(expected) != len(seen):
                frames = ", ".join(frame.hex() for frame in seen) or "none"
                found.append(f"port {port}: {len(expected)} frames expected, {len(seen)} seen ({frames})")
            for number, (want, have) in enumerate(zip(expected, seen, strict=False), 1):
                if not want.matches(have):
                    found.append(f"port {port}, frame {number}: expected {want}, got {have.hex().upper()}")
        return found


def run_stf(program: Path, test: Path) -> list[str]:
    """The problems of a test; none: it passed."""
    run = StfRun(Engine(load_program(program.read_text())))
    for line in test.read_text().splitlines():
        text = line.partition("#")[0].strip()
        if text:
            run.execute(text)
    return run.problems()


# --- table entries ---


def add_entry(engine: Engine, line: str) -> None:
    """`add TABLE [PRIORITY] KEY:VALUE.. ACTION(NAME:VALUE, ..)`."""
    head, _, call = line.partition("(")
    words = head.split()[1:]
    table = _by_suffix(engine.tables, words[0])
    priority = 0
    if len(words) > 2 and words[1].isdigit():
        priority = int(words.pop(1))
    keys = dict(word.rsplit(":", 1) for word in words[1:-1])
    args = dict(each.split(":") for each in call.rstrip(") ").replace(" ", "").split(",") if each)
    match = _matches(table, keys)
    table.insert(match, _action(engine, table, words[-1], args), priority if table.spec.needs_priority else 0)


def _by_suffix(tables: dict[str, Table], name: str) -> Table:
    if name in tables:
        return tables[name]
    found = [table for full, table in tables.items() if full.endswith("." + name)]
    if len(found) != 1:
        raise ValueError(f"no table, or several, for {name}")
    return found[0]


def _action(engine: Engine, table: Table, name: str, args: dict[str, str]) -> ActionCall:
    for ident in table.spec.actions:
        action = engine.program.actions[ident]
        if action.name == name or action.name.endswith("." + name):
            return ActionCall(action.name, tuple(int(args[param.name], 0) for param in action.params))
    raise ValueError(f"table {table.name} has no action {name}")


def _matches(table: Table, keys: dict[str, str]) -> tuple[Match, ...]:
    given = {_key_name(table, name): text for name, text in keys.items()}
    return tuple(_match(key, given.get(key.name)) for key in table.spec.keys)


def _key_name(table: Table, name: str) -> str:
    name = re.sub(r"\$(\d+)", r"[\1]", name)
    names = [key.name for key in table.spec.keys]
    for full in names:
        if full in (name, name + "$") or full.endswith(("." + name, "." + name + "$")):
            return full
    raise ValueError(f"table {table.name} has no key {name}, but {', '.join(names)}")


def _match(key: KeyField, text: str | None) -> Match:
    full = (1 << key.width) - 1
    if text is None:
        empty: dict[MatchKind, Match] = {
            MatchKind.LPM: Lpm(0, 0),
            MatchKind.RANGE: Range(0, full),
            MatchKind.EXACT: Exact(0),
            MatchKind.VALID: Exact(0),
        }
        return empty.get(key.kind, Ternary(0, 0))
    if key.kind is MatchKind.TERNARY:
        digits = text.removeprefix("0x")
        mask = int("".join("0" if digit == "*" else "f" for digit in digits), 16) & full
        return Ternary(int(digits.replace("*", "0"), 16), mask)
    if key.kind is MatchKind.LPM:
        return Lpm(int(text, 0), min(4 * len(text.removeprefix("0x")), key.width))
    return Exact(int(text, 0))
