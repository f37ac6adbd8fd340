"""p4c's packet tests for v1model: bmv2 passes all of them, and so does the embedded switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.stf import run_stf

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
