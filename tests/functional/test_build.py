from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.functional.runner import error_of, run

needs_p4c = pytest.mark.skipif(shutil.which("p4c") is None, reason="p4c is not installed")


def test_without_p4c_it_says_what_to_install(tmp_path: Path) -> None:
    finished = run("build", "-o", str(tmp_path), PATH=str(tmp_path))
    assert finished.returncode == 1
    assert "no p4c on PATH" in finished.stderr
    assert "github.com/p4lang/p4c" in finished.stderr
    assert not list(tmp_path.iterdir())


def test_tofino_is_not_there_yet_and_says_so(tmp_path: Path) -> None:
    finished = run("build", "--target", "tofino", "-o", str(tmp_path))
    assert finished.returncode == 1
    assert "TNA" in finished.stderr
    assert error_of(run("build", "--target", "tofino", "--json"))["exit_code"] == 1


def _fake_p4c(folder: Path, script: str) -> str:
    fake = folder / "p4c"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_what_p4c_says_is_printed_as_it_is(tmp_path: Path) -> None:
    words = "cais.p4(7): [--Werror=not-found] error: lane: declaration not found"
    path = _fake_p4c(tmp_path, f"echo '{words}' >&2; exit 1")
    finished = run("build", "-o", str(tmp_path / "out"), PATH=path)
    assert finished.returncode == 1
    assert words in finished.stderr.splitlines()
    assert not (tmp_path / "out").exists()


@needs_p4c
def test_a_variant_is_compiled_and_named(tmp_path: Path) -> None:
    finished = run("build", "-D", "LANES=32", "-D", "SLOTS=64", "-o", str(tmp_path / "out"))
    assert finished.returncode == 0, finished.stderr
    program = json.loads((tmp_path / "out" / "cais.json").read_text())
    lanes = [register for register in program["register_arrays"] if "slot_lane_" in register["name"]]
    assert len(lanes) == 32
    assert {register["size"] for register in lanes} == {64}
    assert f"wrote {tmp_path / 'out' / 'cais.json'}" in finished.stdout
    manifest = json.loads((tmp_path / "out" / "cais.build.json").read_text())
    assert manifest["defines"] == {"LANES": "32", "SLOTS": "64"}


def test_variants_do_not_overwrite_the_default_build() -> None:
    from cais_tools.cli.build import _default_folder

    assert _default_folder(Path("p4"), {}) == Path("p4/build")
    assert _default_folder(Path("p4"), {"SLOTS": "64", "LANES": "32"}) == Path("p4/build/LANES=32,SLOTS=64")
