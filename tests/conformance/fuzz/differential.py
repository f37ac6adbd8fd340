"""Runs random packets through both switches and compares what leaves, packet by packet and port by port.

Packets go in windows: our engine says how many frames to expect of bmv2, and the next window starts when they are
there. bmv2 says of each frame which packet it comes from.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cais_tools.session.entities import Update
from tests.conformance.fuzz.cases import Case, Frames, Packet
from tests.conformance.fuzz.dataplane import Bmv2Ended, Sent
from tests.conformance.fuzz.entries import random_updates
from tests.conformance.fuzz.packets import PacketSource
from tests.conformance.fuzz.sides import Endless, both
from tests.conformance.fuzz.subjects import Subject
from tests.conformance.fuzz.values import ValuePool

__all__ = ["Outcome", "Run", "fuzz_program", "replay"]

_WINDOW = 32
_QUEUE = 40
"""bmv2's queues hold 64 packets for each port, and drop the rest."""
_PATIENCE = 3.0
_QUIET = 0.2
_ENOUGH = 5
"""Differences after which a program has said what it has to say."""
_ROUND = 500
_HISTORY = 64
"""Packets that a case has before the one that differs."""


class _Dataplane(Protocol):
    def send(self, ident: int, port: int, frame: bytes) -> None: ...

    def receive(self, count: int, timeout: float, /) -> list[Sent]: ...


class _Sides(Protocol):
    """What is needed of `Sides`."""

    @property
    def dataplane(self) -> _Dataplane: ...

    def process(self, port: int, frame: bytes, /) -> list[Packet]: ...


@dataclass
class Outcome:
    """What fuzzing one program came to. `refused`: updates that only one of the switches took."""

    program: str
    entries: int = 0
    packets: int = 0
    frames: int = 0
    cases: list[Case] = field(default_factory=list[Case])
    refused: list[tuple[Update, str, str]] = field(default_factory=list[tuple[Update, str, str]])

    @property
    def differences(self) -> int:
        return len(self.cases) + len(self.refused)


def fuzz_program(subject: Subject, count: int, seed: int, folder: Path) -> Outcome:
    """`count` packets through a program, with other random entries every 500. Raises the errors of the session."""
    outcome = Outcome(subject.name)
    for number, start in enumerate(range(0, count, _ROUND)):
        rng = random.Random(f"{seed} {subject.name} {number}")
        pool = ValuePool(subject.pipeline.config, rng)
        updates = random_updates(subject, pool, rng)
        source = PacketSource(subject, pool, rng)
        packets = (source.next() for _ in range(min(_ROUND, count - start)))
        _compare(subject, updates, packets, outcome, folder)
        if len(outcome.cases) >= _ENOUGH:
            break
    return outcome


def replay(subject: Subject, case: Case, folder: Path) -> Outcome:
    """The packets of a case, through both."""
    outcome = Outcome(subject.name)
    _compare(subject, case.updates, iter(case.packets), outcome, folder)
    return outcome


def _compare(
    subject: Subject, updates: Sequence[Update], packets: Iterator[Packet], outcome: Outcome, folder: Path
) -> None:
    with both(subject.pipeline, folder) as sides:
        outcome.entries += len(updates)
        outcome.refused += sides.write(updates)
        Run(sides, tuple(updates), outcome, one_by_one=subject.one_by_one).all(packets)


def _by_port(frames: Iterable[Sent]) -> Frames:
    found: Frames = {}
    for each in frames:
        found.setdefault(each.port, []).append(each.frame)
    return dict(sorted(found.items()))


class Run:
    """Packets through both, the outcome noted."""

    def __init__(self, sides: _Sides, updates: tuple[Update, ...], outcome: Outcome, *, one_by_one: bool) -> None:
        self._sides = sides
        self._size = 1 if one_by_one else _WINDOW
        self._updates = updates
        self._outcome = outcome
        self._history: deque[Packet] = deque(maxlen=_HISTORY)
        self._number = 0

    def all(self, packets: Iterator[Packet]) -> None:
        try:
            more = True
            while more and len(self._outcome.cases) < _ENOUGH:
                more = self._window(packets)
            late = self._sides.dataplane.receive(1000, _QUIET)
            if late:
                self._note({}, _by_port(late), "more than expected")
        except Bmv2Ended:
            self._note({}, {}, "bmv2 ended")

    def _window(self, packets: Iterator[Packet]) -> bool:
        """Send the next packets to both and compare; False when there are no more."""
        window: dict[int, Packet] = {}
        expected: list[Sent] = []
        waiting: Counter[int] = Counter()
        while len(window) < self._size and max(waiting.values(), default=0) < _QUEUE:
            packet = next(packets, None)
            if packet is None:
                break
            try:
                frames = self._sides.process(*packet)
            except Endless:
                continue
            self._number += 1
            window[self._number] = packet
            self._history.append(packet)
            expected += [Sent(self._number, *frame) for frame in frames]
            waiting.update(port for port, _ in frames)
            self._sides.dataplane.send(self._number, *packet)
        self._outcome.packets += len(window)
        self._outcome.frames += len(expected)
        seen = self._sides.dataplane.receive(len(expected), _PATIENCE)
        self._compare(window, expected, seen)
        return bool(window)

    def _compare(self, window: dict[int, Packet], expected: list[Sent], seen: list[Sent]) -> None:
        if _by_port(expected) == _by_port(seen):
            return
        seen += self._sides.dataplane.receive(1000, _QUIET)
        found = len(self._outcome.cases)
        for ident, packet in window.items():
            ours, theirs = (_by_port(each for each in side if each.ident == ident) for side in (expected, seen))
            if ours != theirs and len(self._outcome.cases) < _ENOUGH:
                self._note(ours, theirs, until=packet)
        if len(self._outcome.cases) == found:
            self._note(_by_port(expected), _by_port(seen), "the order, or more than expected")

    def _note(self, ours: Frames, theirs: Frames, note: str = "", until: Packet | None = None) -> None:
        """A case with the latest packets, up to `until`."""
        packets = list(self._history)
        while until is not None and packets[-1] != until:
            packets.pop()
        case = Case(self._outcome.program, self._updates, tuple(packets), ours, theirs, note)
        self._outcome.cases.append(case)
