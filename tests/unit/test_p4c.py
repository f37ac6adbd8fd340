from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cais_tools import p4c
from cais_tools.errors import CheckFailed
from cais_tools.share import shared_folder

needs_p4c = pytest.mark.skipif(shutil.which("p4c") is None, reason="p4c is not on PATH")
P4 = shared_folder("p4")


def test_shipped_build_belongs_to_the_sources() -> None:
    manifest = json.loads((P4 / "build" / p4c.MANIFEST_NAME).read_text())
    assert manifest["sources"] == p4c.source_hash(P4), "the P4 sources have changed: run `cais build`"
    assert manifest["defines"] == {}
    for name in (p4c.JSON_NAME, p4c.P4INFO_NAME):
        assert manifest[name] == p4c.file_hash(P4 / "build" / name), f"{name} is not what p4c made: run `cais build`"


def test_shipped_json_has_no_source_positions() -> None:
    assert "source_info" not in (P4 / "build" / p4c.JSON_NAME).read_text()


def test_every_byte_of_the_sources_counts(tmp_path: Path) -> None:
    shutil.copytree(P4, tmp_path / "p4")
    before = p4c.source_hash(tmp_path / "p4")
    source = tmp_path / "p4" / "slots.p4"
    source.write_text(source.read_text() + "\n")
    assert p4c.source_hash(tmp_path / "p4") != before


def test_without_p4c_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckFailed, match="no p4c on PATH") as caught:
        p4c.build(P4, tmp_path, {})
    assert caught.value.hint == p4c.INSTALL_HINT


@needs_p4c
def test_p4cs_own_words_are_kept(tmp_path: Path) -> None:
    (tmp_path / p4c.PROGRAM).write_text("#include <core.p4>\ncontrol Broken( {}\n")
    with pytest.raises(CheckFailed, match="syntax error"):
        p4c.build(tmp_path, tmp_path / "build", {})
    assert not (tmp_path / "build").exists()


@needs_p4c
def test_rebuilding_gives_the_shipped_build(tmp_path: Path) -> None:
    built = p4c.build(P4, tmp_path, {})
    assert built.json.read_bytes() == (P4 / "build" / p4c.JSON_NAME).read_bytes()
    assert built.p4info.read_bytes() == (P4 / "build" / p4c.P4INFO_NAME).read_bytes()


@needs_p4c
def test_lanes_are_a_build_parameter(tmp_path: Path) -> None:
    built = p4c.build(P4, tmp_path, {"LANES": "32"})
    registers = json.loads(built.json.read_text())["register_arrays"]
    assert sum("slot_lane_" in register["name"] for register in registers) == 32


@needs_p4c
@pytest.mark.timeout(300)
def test_the_widest_program_compiles(tmp_path: Path) -> None:
    built = p4c.build(P4, tmp_path, {"LANES": "256", "SLOTS": "64"})
    registers = json.loads(built.json.read_text())["register_arrays"]
    assert sum("slot_lane_" in register["name"] for register in registers) == 256
    assert {register["size"] for register in registers if "slot_" in register["name"]} == {64}
