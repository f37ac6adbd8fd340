"""`cais rules` against a switch: apply, diff, dump, delete, clear, and a file that comes back as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.functional.runner import error_of, invoke


def _rules(address: str, *arguments: str | Path) -> Result:
    return invoke("rules", *map(str, arguments), "--device", address, "--timeout", "20s")


def _document(result: Result) -> dict[str, Any]:
    document = json.loads(result.stdout)
    assert document["schema"] == "cais.rules-changes/1"
    return document


def _counts(result: Result) -> dict[str, int]:
    [device] = _document(result)["devices"]
    return device["summary"]


def test_the_difference_is_applied_once(address: str, wanted: Path) -> None:
    diff = _rules(address, "diff", wanted)
    assert diff.exit_code == 1
    lines = [
        "+ group 0: ports 1,2,3,4, 512 slots",
        "+ rule for group 0, allreduce, layer any, chunk 0-127: outputs 1,2,3,4, priority 163",
        "+ rule for group 0, broadcast, layer 3-9, chunk any: outputs 2,3,4, priority 17",
        "3 to add, 0 to change, 0 to remove",
    ]
    assert diff.stdout.splitlines() == lines
    look = _rules(address, "apply", wanted, "--dry-run")
    assert (look.exit_code, look.stdout) == (0, diff.stdout)
    applied = _rules(address, "apply", wanted, "--yes")
    assert (applied.exit_code, applied.stdout.splitlines()[-1]) == (0, f"{address}: 3 added, 0 changed, 0 removed")
    assert _rules(address, "diff", wanted).exit_code == 0
    again = _rules(address, "apply", wanted)  # nothing to ask about
    assert (again.exit_code, again.stdout) == (0, f"nothing to do: {address} has 1 group and 2 rules as wanted\n")


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_what_is_dumped_is_applied_unchanged(address: str, wanted: Path, tmp_path: Path, kind: str) -> None:
    assert _rules(address, "apply", wanted, "--yes").exit_code == 0
    more = ["--group-id", "7", "--input-ports", "5,3", "--output-ports", "3", "--priority", "9", "--slots", "16"]
    assert invoke("add-rule", *more, "--device", address).exit_code == 0
    dumped = _rules(address, "dump", "--format", kind)
    file = tmp_path / f"dumped.{kind}"
    file.write_text(dumped.stdout)
    assert _rules(address, "diff", file).exit_code == 0
    before = invoke("dump-rules", "--device", address).stdout
    assert _rules(address, "clear", "--yes").exit_code == 0
    assert invoke("dump-rules", "--device", address).stdout == "no rules\n"
    assert _rules(address, "apply", file, "--yes").exit_code == 0
    assert [line.split()[:7] for line in invoke("dump-rules", "--device", address).stdout.splitlines()] == [
        line.split()[:7] for line in before.splitlines()
    ]
    assert _rules(address, "dump", "--format", kind).stdout == dumped.stdout


def test_an_empty_switch_is_dumped_as_a_file_that_wants_nothing(address: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.toml"
    file.write_text(_rules(address, "dump").stdout)
    assert _rules(address, "apply", file).exit_code == 0


def test_what_the_file_does_not_name_goes_or_is_kept(address: str, wanted: Path) -> None:
    for group in ("0", "5"):
        ports = ["--input-ports", "1-4", "--output-ports", "1-4"]
        assert invoke("add-rule", "--group-id", group, "--slots", "512", *ports, "--device", address).exit_code == 0
    kept = _rules(address, "apply", wanted, "--keep-others", "--yes")
    assert kept.stdout.splitlines()[-1] == f"{address}: 2 added, 0 changed, 0 removed"
    assert _rules(address, "diff", wanted, "--keep-others").exit_code == 0
    gone = _rules(address, "apply", wanted, "--yes", "--json")
    assert _counts(gone) == {"add": 0, "change": 0, "remove": 3}
    [device] = _document(gone)["devices"]
    assert [change["what"] for change in device["changes"]] == ["group", "rule", "rule"]
    assert _rules(address, "diff", wanted).exit_code == 0


def test_changes_in_place(address: str, wanted: Path) -> None:
    assert _rules(address, "apply", wanted, "--yes").exit_code == 0
    text = wanted.read_text()
    wanted.write_text(text.replace("slots = 512", "slots = 256").replace("priority = 17", "priority = 18"))
    result = _rules(address, "apply", wanted, "--yes")
    assert result.stdout.splitlines()[:3] == [
        "~ group 0: slots 512 -> 256; begins anew, so a job on it must, too",
        "~ rule for group 0, broadcast, layer 3-9, chunk any: priority 17 -> 18",
        "0 to add, 2 to change, 0 to remove",
    ]
    assert _rules(address, "diff", wanted).exit_code == 0


def test_delete_by_the_selectors_of_delete_rule(address: str, wanted: Path) -> None:
    assert _rules(address, "apply", wanted, "--yes").exit_code == 0
    result = _rules(address, "delete", "--group-id", "0", "--op-type", "broadcast", "--layer-id", "3-9")
    assert result.stdout == "deleted rule for group 0, broadcast, layer 3-9, chunk any (0 hits)\n"
    assert _counts(_rules(address, "diff", wanted, "--json")) == {"add": 1, "change": 0, "remove": 0}


def test_without_a_terminal_nothing_is_changed_unasked(address: str, wanted: Path) -> None:
    result = _rules(address, "apply", wanted)
    assert result.exit_code == 2
    assert "there is no terminal to ask" in result.stderr
    assert "+ group 0" in result.stdout
    assert invoke("dump-rules", "--device", address).stdout == "no rules\n"
    assert _rules(address, "apply", wanted, "--yes").exit_code == 0
    assert _rules(address, "clear").exit_code == 2
    assert _rules(address, "diff", wanted).exit_code == 0


def test_errors_of_the_file_with_their_lines_and_nothing_is_sent(address: str, wanted: Path) -> None:
    wanted.write_text(wanted.read_text().replace("[1, 2, 3, 4]", "[0, 1, 2, 3]").replace("512", "8192"))
    result = _rules(address, "apply", wanted, "--yes")
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith(f"error: {wanted}:")]
    assert [line.split(":")[2] for line in errors] == ["3", "4", "3"][: len(errors)]
    assert "did you mean 1, 2, 3, 4?" in result.stderr
    assert invoke("dump-rules", "--device", address).stdout == "no rules\n"


def test_unreadable_values_are_found_without_a_switch(wanted: Path) -> None:
    wanted.write_text(wanted.read_text().replace("chunk =", "chnk =").replace('"3-9"', '"9-3"'))
    result = _rules("127.0.0.1:1", "diff", wanted, "--json")
    assert result.exit_code == 2
    findings = _document(result)["findings"]
    assert [(each["line"], each["hint"]) for each in findings] == [
        (10, "did you mean chunk?"),
        (15, "write the smaller number first"),
    ]
    assert json.loads(result.stderr)["exit_code"] == 2


def test_nothing_to_apply_is_no_wish_to_remove_everything(address: str, tmp_path: Path) -> None:
    file = tmp_path / "cais.toml"
    file.write_text("[defaults]\nchunk_size = 4096\n")
    assert error_of(_rules(address, "apply", file, "--yes", "--json"))["hint"] == (
        "cais rules clear removes all from a switch"
    )
