"""A short run of the differential fuzzer; `python -m tests.conformance.fuzz` does long ones."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cais_tools.session.entities import CloneSession, MulticastGroup, Replica, TableEntry, Update, UpdateType
from cais_tools.session.values import Lpm, Range, Ternary
from tests.conformance.fuzz.cases import Case, Packet, read_case, write_case
from tests.conformance.fuzz.dataplane import Bmv2Ended, Sent
from tests.conformance.fuzz.differential import Outcome, Run, fuzz_program
from tests.conformance.fuzz.subjects import EXCLUDED, P4RUNTIME, STF, names, read_subject

PROGRAMS = ("cais", "ipv6-switch-ml-bmv2", "key-bmv2", "ternary2-bmv2")
PACKETS = 150
SEED = 7

needs_data = pytest.mark.skipif(not STF.is_dir(), reason=f"the conformance data is not there: {STF}")
needs_bmv2 = pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not on PATH")


@needs_data
@needs_bmv2
@pytest.mark.parametrize("name", PROGRAMS)
def test_like_bmv2(name: str, tmp_path: Path) -> None:
    outcome = fuzz_program(read_subject(name), PACKETS, SEED, tmp_path)
    assert outcome.packets == PACKETS
    assert outcome.frames > 0
    assert not outcome.refused
    assert not outcome.cases, "\n".join(map(str, outcome.cases))


@needs_data
def test_programs() -> None:
    every = {path.stem for folder in (STF, P4RUNTIME) for path in folder.glob("*.json")}
    assert EXCLUDED.keys() <= every
    assert set(names()) == every - EXCLUDED.keys() | {"cais"}


# --- that it can find something ---


class FakeSides:
    """A program that sends everything to port 1, and a bmv2 that may do otherwise with packet number 3."""

    def __init__(self, third: list[Packet] | None) -> None:
        self.dataplane = self
        self._third = third
        self._sent: list[Sent] = []

    def process(self, _: int, frame: bytes) -> list[Packet]:
        return [(1, frame)]

    def send(self, ident: int, port: int, frame: bytes) -> None:
        answer = self._third if ident == 3 and self._third is not None else self.process(port, frame)
        self._sent += [Sent(ident, *each) for each in answer]

    def receive(self, count: int, _: float) -> list[Sent]:
        taken, self._sent = self._sent[:count], self._sent[count:]
        return taken


def compared(sides: FakeSides, count: int = 100) -> Outcome:
    packets: Iterator[Packet] = ((2, bytes([number])) for number in range(count))
    outcome = Outcome("fake")
    Run(sides, (), outcome, one_by_one=False).all(packets)
    return outcome


def test_no_difference() -> None:
    outcome = compared(FakeSides(None))
    assert (outcome.packets, outcome.frames, outcome.cases) == (100, 100, [])


@pytest.mark.parametrize("third", [[], [(2, b"\2")], [(1, b"\2\2")], [(1, b"\2"), (1, b"\2")]])
def test_a_difference_is_found(third: list[Packet]) -> None:
    outcome = compared(FakeSides(third))
    (case,) = outcome.cases
    assert case.packets == ((2, b"\0"), (2, b"\1"), (2, b"\2"))
    assert case.ours == {1: [b"\2"]}
    assert case.bmv2 == {port: [frame for at, frame in third if at == port] for port, _ in third}


def test_a_late_frame_is_found() -> None:
    sides = FakeSides([(1, b"\2"), (5, b"extra")])
    outcome = compared(sides, 3)
    assert [case.bmv2 for case in outcome.cases] == [{5: [b"extra"]}]


def test_that_bmv2_has_ended_is_found() -> None:
    class Ending(FakeSides):
        def receive(self, count: int, _: float) -> list[Sent]:
            raise Bmv2Ended

    (case,) = compared(Ending(None)).cases
    assert case.note == "bmv2 ended"
    assert len(case.packets) == 32


def test_cases_are_kept(tmp_path: Path) -> None:
    match = {"a": 1, "b": Lpm(8, 3), "c": Ternary(1, 3), "d": Range(1, 2), "e": None}
    entities = (
        TableEntry("t", match, "act", {"x": 5}, 7),
        TableEntry("t", {}, "act", is_default=True),
        MulticastGroup(1, frozenset({Replica(1, 2)})),
        CloneSession(2, frozenset({Replica(3)})),
    )
    updates = tuple(Update(UpdateType.INSERT, entity) for entity in entities)
    case = Case("p", updates, ((1, b"\1\2"),), {1: [b"x"]}, {}, "note")
    first, second = write_case(tmp_path, case), write_case(tmp_path, dataclasses.replace(case, note=""))
    assert read_case(first) == case
    assert second != first
    assert str(read_case(second)) == "p: port 1, 0102: ours 1:78, bmv2 nothing"
