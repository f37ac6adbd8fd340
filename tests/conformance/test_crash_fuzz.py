"""About a minute of the crash fuzzers, counted; `python -m tests.conformance.fuzz crash --seconds 600` does long runs.

Each failure names its seed: the same seed does the same again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal

import pytest

from tests.conformance.fuzz import crash
from tests.conformance.fuzz.crash import crash_packets, crash_programs, small_programs
from tests.conformance.fuzz.crash_grpc import PROGRAMS, crash_grpc
from tests.conformance.fuzz.subjects import STF
from tests.conformance.fuzz.watch import Crash, Hang
from tests.unit.switch.programs import minimal

NAMES = sorted(path.stem for path in STF.glob("*.json")) if STF.is_dir() else []
SEED = 1

pytestmark = pytest.mark.skipif(not NAMES, reason=f"the conformance data is not there: {STF}")


def lines(crashes: list[Crash], seed: int) -> str:
    return f"seed {seed}\n" + "\n".join(str(each)[:1000] for each in crashes)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_programs(seed: int) -> None:
    crashes = [each for each in crash_programs(small_programs(), 1000, seed) if each is not None]
    assert not crashes, lines(crashes, seed)


@pytest.mark.parametrize("part", range(8))
def test_any_packet(part: int) -> None:
    crashes = [each for name in NAMES[part::8] for each in crash_packets(name, 800, SEED)]
    assert not crashes, lines(crashes, SEED)


@pytest.mark.parametrize("profile", ["spec", "bmv2"])
@pytest.mark.parametrize("part", range(5))
def test_damaged_messages(part: int, profile: Literal["spec", "bmv2"]) -> None:
    crashes = crash_grpc(PROGRAMS[part::5], 300, SEED, profile)
    assert not crashes, lines(crashes, SEED)


@pytest.mark.parametrize(
    ("error", "text"), [(KeyError("x"), "KeyError: 'x' (test_crash_fuzz.py:"), (Hang(), "Hang: ")], ids=str
)
def test_crashes_are_found(monkeypatch: pytest.MonkeyPatch, error: BaseException, text: str) -> None:
    def broken(_: str) -> Callable[..., object]:
        raise error

    monkeypatch.setattr(crash, "load_program", broken)
    (found,) = crash_programs(small_programs()[:1], 1, SEED)
    assert found is not None
    assert found.error.startswith(text)


def test_endless_programs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(_: str) -> object:
        while True:
            pass

    monkeypatch.setattr(crash, "load_program", endless)
    monkeypatch.setattr("tests.conformance.fuzz.watch.CPU_SECONDS", 0.05)
    found = crash.exercise("endless", json.dumps(minimal()))
    assert found is not None
    assert found.error.startswith("Hang")
