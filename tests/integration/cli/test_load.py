from __future__ import annotations

import json
from pathlib import Path

import pytest

from cais_tools.session import shipped_program
from tests.functional.runner import error_of, invoke
from tests.integration.switches import RunningSwitch

RULE = ("--group-id", "0", "--input-ports", "1,2", "--output-ports", "1,2")


def test_what_was_loaded_before_and_after(switch: RunningSwitch) -> None:
    first = invoke("load", "--device", switch.address)
    assert first.exit_code == 0, first.stderr
    assert "after:  " in first.stdout
    assert invoke("add-rule", *RULE, "--device", switch.address).exit_code == 0
    second = invoke("load", "--device", switch.address)
    lines = second.stdout.splitlines()
    assert lines[0].startswith("before: ")
    assert "cookie" in lines[0]
    assert "6 entries of the old program, its groups and counters are gone" in lines
    assert lines[-1].endswith("(the same program again)")
    assert invoke("dump-rules", "--device", switch.address).stdout == "no rules\n"


def test_a_dry_run_changes_nothing(loaded: str) -> None:
    assert invoke("add-rule", *RULE, "--device", loaded).exit_code == 0
    result = invoke("load", "--dry-run", "--device", loaded)
    assert result.exit_code == 0
    assert "nothing was loaded" in result.stdout
    document = json.loads(invoke("load", "--dry-run", "--device", loaded, "--json").stdout)
    assert document["schema"] == "cais.load/1"
    assert (document["dry_run"], document["same_program"], document["entries_dropped"]) == (True, True, 6)
    assert "allreduce" in invoke("dump-rules", "--device", loaded).stdout


def test_flooding_ports(loaded: str) -> None:
    result = invoke("load", "--ports", "1-4", "--device", loaded, "--json")
    assert json.loads(result.stdout)["flood_ports"] == [1, 2, 3, 4]
    refused = invoke("load", "--ports", "1-9", "--device", loaded)
    assert refused.exit_code == 5


def _program(tmp_path: Path, text: str) -> list[str]:
    program, p4info = tmp_path / "x.json", tmp_path / "x.p4info.txtpb"
    program.write_text(text)
    p4info.write_bytes(shipped_program()[1].read_bytes())
    return ["--program", str(program)]


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_a_program_that_is_none(loaded: str, tmp_path: Path, dry_run: list[str]) -> None:
    shipped = json.loads(shipped_program()[0].read_text())
    other = json.dumps({**shipped, "pipelines": [{"name": "pipe", "tables": []}]})
    for text, message in (("{", "no JSON"), ('{"a": 1}', "no program"), (other, "does not match")):
        result = invoke("load", *_program(tmp_path, text), *dry_run, "--device", loaded)
        assert result.exit_code == 5, result.stderr
        assert message in result.stderr
        assert len(result.stderr.splitlines()) <= 2
    assert invoke("dump-rules", "--device", loaded).exit_code == 0


def test_a_program_of_another_architecture(loaded: str, tmp_path: Path) -> None:
    """The switch says so itself, and what ran before still runs."""
    shipped = json.loads(shipped_program()[0].read_text())
    shipped["pipelines"] = [{**pipe, "name": f"{pipe['name']}_other"} for pipe in shipped["pipelines"]]
    result = invoke("load", *_program(tmp_path, json.dumps(shipped)), "--device", loaded)
    assert result.exit_code == 5, result.stderr
    assert len(result.stderr.splitlines()) <= 2
    assert invoke("dump-rules", "--device", loaded).exit_code == 0


def test_files_that_are_not_there(loaded: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.json")
    assert invoke("load", "--program", missing, "--device", loaded).exit_code == 2
    result = invoke("load", "--program", missing, "--p4info", missing, "--device", loaded)
    assert result.exit_code == 2
    assert missing in result.stderr


def test_a_wrong_device_id(loaded: str) -> None:
    result = invoke("load", "--device-id", "7", "--device", loaded)
    assert result.exit_code == 5
    assert "device" in result.stderr
    assert error_of(invoke("load", "--device-id", "7", "--device", loaded, "--json"))["hint"]


def test_flood_ports_that_do_not_exist_do_not_hide_what_was_lost(loaded: str) -> None:
    device = ("--device", loaded)
    assert invoke("add-rule", "--group-id", "0", "--input-ports", "1", "--output-ports", "1", *device).exit_code == 0
    finished = invoke("load", "--ports", "1-9", *device)
    assert finished.exit_code == 5
    assert "loaded cais" in finished.stdout
    assert "has the new program (" in finished.stderr
    assert "entries of the old one are gone), but not its flood ports" in finished.stderr
