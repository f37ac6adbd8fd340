"""The compiled programs of the benchmarks belong to their sources."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cais_tools.p4c import without_source_info
from tests.benchmarks.traffic import PROGRAMS


@pytest.mark.skipif(shutil.which("p4c") is None, reason="p4c is not on PATH")
@pytest.mark.parametrize("name", ["router", "acl_switch"])
def test_what_p4c_makes_of_the_source(name: str, tmp_path: Path) -> None:
    p4info = tmp_path / f"{name}.p4info.txtpb"
    command = ["p4c", "--target", "bmv2", "--arch", "v1model", "--p4runtime-files", str(p4info), "-o", str(tmp_path)]
    subprocess.run([*command, f"{name}.p4"], cwd=PROGRAMS, check=True, capture_output=True)
    program = without_source_info(json.loads((tmp_path / f"{name}.json").read_text()))
    assert {**program, "program": f"{name}.p4"} == json.loads((PROGRAMS / f"{name}.json").read_text())
    assert p4info.read_text() == (PROGRAMS / f"{name}.p4info.txtpb").read_text()
