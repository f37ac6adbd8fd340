"""p4c's packet tests for v1model: bmv2 passes all of them, and so does the embedded switch."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from tests.conformance.stf import StfRun, run_stf
from tests.unit.switch.programs import minimal

DATA = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "stf"
TESTS = sorted(DATA.glob("*.stf")) if DATA.is_dir() else []


@pytest.mark.skipif(not TESTS, reason=f"the conformance data is not there: {DATA}")
def test_data_is_complete() -> None:
    assert len(TESTS) == 203


@pytest.mark.skipif(not TESTS, reason=f"the conformance data is not there: {DATA}")
@pytest.mark.parametrize("test", TESTS, ids=lambda path: path.stem)
def test_stf(test: Path) -> None:
    problems = run_stf(test.with_suffix(".json"), test)
    assert not problems, "\n".join(problems)


SMALL = """
packet 1 01 0203 04
expect {port} {frame}
"""


@pytest.mark.parametrize(
    ("port", "frame", "problem"),
    [
        (0, "01 0203 04", None),
        (0, "01 **** 04", None),
        (0, "01 02", None),
        (0, "01 02$", "frame 1: expected 0102$"),
        (0, "01 0203 05", "frame 1: expected 01020305"),
        (0, "01 0203 0405", "frame 1"),
        (2, "01 0203 04", "port 2: 1 frames expected, 0 seen"),
    ],
)
def test_the_runner_can_fail(tmp_path: Path, port: int, frame: str, problem: str | None) -> None:
    program, test = tmp_path / "p.json", tmp_path / "p.stf"
    program.write_text(json.dumps(minimal()))
    test.write_text(SMALL.format(port=port, frame=frame))
    problems = "\n".join(run_stf(program, test))
    assert problems == "" if problem is None else problem in problems


@pytest.mark.skipif(not TESTS, reason=f"the conformance data is not there: {DATA}")
@pytest.mark.parametrize("test", TESTS[::5], ids=lambda path: path.stem)
def test_no_bytes_are_too_much(test: Path) -> None:
    """Packets of the test, cut and damaged anywhere: the engine never raises and always comes to an end."""
    rng = random.Random(test.stem)
    run = StfRun(Engine(load_program(test.with_suffix(".json").read_text())))
    for line in test.read_text().splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0] != "packet":
            continue
        frame = bytearray.fromhex("".join(words[2:]))
        for _ in range(20):
            damaged = frame[: rng.randrange(len(frame) + 1)]
            for _ in range(min(3, len(damaged))):
                damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 0xFF, rng.randrange(256)])
            run.send(int(words[1]), bytes(damaged))
