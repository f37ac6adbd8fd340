"""The README's test of a P4 program is a test that pytest collects, and it passes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.traffic import PROGRAMS
from tests.functional.runner import ROOT, environment


def snippet() -> str:
    section = (ROOT / "README.md").read_text().partition("## Test your P4 program in pytest\n")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("change", "code"), [("", 0), ("port == 2", 1)])
def test_the_snippet(tmp_path: Path, change: str, code: int) -> None:
    shutil.copy(PROGRAMS / "router.json", tmp_path)
    text = snippet()
    if change:
        assert change in text
        text = text.replace(change, "port == 1")
    (tmp_path / "test_router.py").write_text(text)
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_router.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == code, finished.stdout
    assert ("1 passed" if not code else "hit 0xa010000/16") in finished.stdout
