from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cais_tools.errors import Refused, UsageError
from cais_tools.session.pipeline import ProgramInfo, fingerprint_of, read_pipeline
from cais_tools.session.program import load_shipped
from tests.unit.session.demo import P4INFO

PROGRAM: dict[str, Any] = {
    "parsers": [],
    "pipelines": [
        {
            "tables": [
                {"name": "In.exact", "key": [1, 2]},
                {"name": "In.lpm", "key": [1]},
                {"name": "In.acl", "key": [1] * 3},
            ]
        }
    ],
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    config, p4info = tmp_path / "demo.json", tmp_path / "demo.p4info.txtpb"
    config.write_text(json.dumps(PROGRAM))
    p4info.write_text(P4INFO)
    return config, p4info


def test_the_fingerprint_follows_from_both_files(files: tuple[Path, Path]) -> None:
    fingerprint = read_pipeline(*files).fingerprint
    assert 0 < fingerprint < 1 << 32
    assert read_pipeline(*files).fingerprint == fingerprint
    files[0].write_text(json.dumps(PROGRAM) + "\n")
    other = read_pipeline(*files).fingerprint
    assert other != fingerprint
    files[1].write_text(P4INFO.replace("size: 8", "size: 9"))
    assert read_pipeline(*files).fingerprint != other


def test_every_load_has_a_cookie_of_its_own(files: tuple[Path, Path]) -> None:
    pipeline = read_pipeline(*files)
    cookies = {pipeline.message().cookie.cookie for _ in range(5)}
    assert len(cookies) == 5
    assert {fingerprint_of(cookie) for cookie in cookies} == {pipeline.fingerprint}


def test_a_program_is_shown_with_its_fingerprint() -> None:
    assert "cookie 00abcdef" in str(ProgramInfo("demo", "v1model", 0xABCDEF, 3, 0))
    assert "cookie none" in str(ProgramInfo("demo", "v1model", None, 3, 0))


@pytest.mark.parametrize("text", ["", "p4!", "\x7fELF"])
def test_no_json(files: tuple[Path, Path], text: str) -> None:
    files[0].write_text(text)
    with pytest.raises(Refused, match="is no JSON"):
        read_pipeline(*files)


@pytest.mark.parametrize("text", ["[]", '{"a": 1}'])
def test_json_of_something_else(files: tuple[Path, Path], text: str) -> None:
    files[0].write_text(text)
    with pytest.raises(Refused, match="no program for bmv2"):
        read_pipeline(*files)


def test_p4info_of_another_program(files: tuple[Path, Path]) -> None:
    files[1].write_text(P4INFO.replace("In.", "Other."))
    with pytest.raises(Refused, match=r"does not match .* no table Other\.acl"):
        read_pipeline(*files)
    files[1].write_text(P4INFO.replace('match_fields { id: 2 name: "r" bitwidth: 16 match_type: RANGE }', ""))
    with pytest.raises(Refused, match=r"3 keys in table In\.acl"):
        read_pipeline(*files)


def test_a_file_that_is_not_there(files: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*gone: No such file"):
        read_pipeline(files[0], files[1].with_name("gone"))


def test_the_shipped_program_is_whole() -> None:
    pipeline = load_shipped()
    assert pipeline.index.register("slot_state").size == 4096


def test_nesting_without_end_is_no_json(tmp_path: Path) -> None:
    config, p4info = tmp_path / "deep.json", tmp_path / "p4info.txtpb"
    config.write_text("[" * 100_000)
    p4info.write_text("")
    with pytest.raises(Refused, match="is no JSON"):
        read_pipeline(config, p4info)


def test_json_of_another_architecture_than_the_p4info_says(tmp_path: Path) -> None:
    config, p4info = tmp_path / "psa.json", tmp_path / "p4info.txtpb"
    config.write_text('{"pipelines": [], "parsers": [], "headers": [{"name": "psa_ingress_input_metadata"}]}')
    p4info.write_text('pkg_info { arch: "v1model" }')
    with pytest.raises(Refused, match="another architecture than its P4Info says"):
        read_pipeline(config, p4info)
