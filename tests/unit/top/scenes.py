"""Switches that are nowhere, watched for a while: always the same, down to the last digit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from cais_tools.session import CounterData
from cais_tools.session.cais import (
    OUTCOMES,
    DelayHistogram,
    GroupStats,
    Member,
    OpenSlot,
    PortStats,
    Rule,
    Snapshot,
    Span,
)
from cais_tools.session.observer import Primary
from cais_tools.top.feed import Rewound, Sink
from cais_tools.top.observation import Failure, Observation, Program, Source

__all__ = ["START", "Scripted", "a_fleet", "a_snapshot", "observation", "sources", "watched"]

START = 1_800_000_000.0
"""15 January 2027, 08:00:00 UTC."""

POOL = 4096


def sources(count: int = 3, ports: int = 8) -> list[Source]:
    """leaf1, ...; ports swp1, ... of 100 Gb/s."""
    names = {port: f"swp{port}" for port in range(1, ports + 1)}
    return [Source(f"leaf{number}", f"10.0.0.{number}:9559", names, 100.0) for number in range(1, count + 1)]


def a_snapshot(tick: int, *, groups: int = 4, ports: int = 8, load: float = 1.0, open_slots: int = 3) -> Snapshot:
    """After so many seconds under a load that swells and ebbs; group 2 loses packets, group 3 has a stranger."""
    done = sum(_load(each, load) for each in range(tick))
    members = _members(ports)
    return Snapshot(
        time=1000.0 + tick,
        pool=POOL,
        slots_allocated=256 * groups,
        groups={group: _group(group, done, open_slots, members) for group in range(groups)},
        ports={port: _port(port, done, groups) for port in range(1, ports + 1)},
        bad_frames={"short": 2, "payload_len": 0},
    )


def _load(tick: int, load: float) -> int:
    return int(load * (900 + 600 * math.sin(tick / 7)))


def _members(ports: int) -> tuple[Member, ...]:
    return tuple(Member(rank, rank + 1) for rank in range(min(4, ports)))


def _group(group: int, done: int, open_slots: int, members: tuple[Member, ...]) -> GroupStats:
    results = done // (group + 1)
    packets: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    packets.update(opened=results + open_slots * (group == 2), added=2 * results, completed=results)
    if group == 2:
        packets.update(duplicate=results // 20, answered=results // 50, stale=results // 400, reopened=results // 900)
    if group == 3:
        packets.update(no_member=results // 30, unknown_op=7)
    return GroupStats(group, 256, packets, {name: 290 * value for name, value in packets.items()}, members)


def _port(port: int, done: int, groups: int) -> PortStats:
    packets = done * groups // 2 if port <= 4 else done // 100
    packets -= packets // 12 if port == 3 else 0
    counts = [packets // 2, packets // 4, packets // 8, packets // 16, packets // 64, packets // 500] + [0] * 10
    sent = packets - packets // 90
    return PortStats(
        port, CounterData(packets, 290 * packets), CounterData(sent, 290 * sent), DelayHistogram(tuple(counts))
    )


def slots_of(count: int, group: int = 2) -> tuple[OpenSlot, ...]:
    members = _members(8)
    return tuple(
        OpenSlot(
            group_id=group,
            slot=512 + 9 * number,
            seq_num=1000 + number,
            op=0,
            layer=5,
            chunk=number,
            age_us=4 ** (number % 10 + 2),
            present=(*members[:2], members[3]),
            missing=(members[2],),
        )
        for number in range(count)
    )


RULES = tuple(
    Rule(group, op, Span(), Span(0, 127), (1, 2, 3, 4), (1, 2, 3, 4), 17, 16 + group, 1000 * (group + 1), 290_000)
    for group in range(4)
    for op in (0, 3)
)


def observation(device: str, tick: int, snapshot: Snapshot | None = None, **more: object) -> Observation:
    """What a healthy switch says."""
    seen = Observation(
        device=device,
        time=START + tick,
        snapshot=a_snapshot(tick) if snapshot is None else snapshot,
        program=Program("cais", 0xE2177C1300000001),
        primary=Primary(False, 17),
        open_slots=(),
        seconds=0.01,
    )
    return replace(seen, **more)  # type: ignore[arg-type]


@cache
def a_fleet(ticks: int = 90) -> Sequence[Observation]:
    """leaf1 has stragglers, leaf2 runs short of slots, is taken by somebody and loaded anew, leaf3 is lost."""
    seen: list[Observation] = []
    for tick in range(1, ticks + 1):
        seen.append(observation("leaf1", tick, rules=RULES, open_slots=slots_of(3)))
        full = a_snapshot(tick, load=0.3, open_slots=3600 if tick > 40 else 10)
        primary = Primary(tick > 60, 1_796_000_000_000_017)
        program = Program("cais", 0xE2177C1300000001 + (tick > 20))
        seen.append(observation("leaf2", tick, full, rules=RULES, open_slots=(), primary=primary, program=program))
        seen.append(observation("leaf3", tick, a_snapshot(tick, load=0.5)) if tick < 70 else _lost("leaf3", tick))
    return seen


def _lost(device: str, tick: int) -> Observation:
    failure = Failure("Unreachable", f"nothing listens at {device}:9559 (connection refused)", "is it running?", 3)
    return Observation(device, START + tick, failure=failure)


def watched(device: str = "leaf1", ticks: int = 30) -> list[Observation]:
    """One healthy switch."""
    return [observation(device, tick, rules=RULES, open_slots=slots_of(3)) for tick in range(1, ticks + 1)]


class Scripted:
    """A feed that gives all it has at once, when it is started."""

    def __init__(self, script: Sequence[Observation | Rewound], some: Sequence[Source] | None = None) -> None:
        self.sources = sources() if some is None else list(some)
        self.script = script
        self.intervals: list[float] = []
        self.looks: list[tuple[str, bool]] = []
        self.sink: Sink = lambda _: None
        self.is_closed = False

    def start(self, sink: Sink) -> None:
        self.sink = sink
        for each in self.script:
            sink(each)

    def set_interval(self, seconds: float) -> None:
        self.intervals.append(seconds)

    def look_at(self, device: str, *, closely: bool) -> None:
        self.looks.append((device, closely))

    def close(self) -> None:
        self.is_closed = True
