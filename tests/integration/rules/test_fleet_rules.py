"""`cais rules` on a fleet of eight, of which one is down, one runs another program, and one has another primary."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.functional.runner import invoke
from tests.integration.fleets import DOWN, FINE, NAMES, OTHER_PROGRAM, TAKEN, Fleet, a_fleet
from tests.integration.test_fleet import verdicts

WANTED = """\
[[groups]]
id = 0
ports = ["swp1", "swp2", 3, 4]

[[rules]]
group = 0
layer = 5

[[rules]]
group = 0
layer = "6-9"
devices = ["leaf1", "leaf2"]
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Generator[Fleet]:
    with a_fleet(tmp_path) as running:
        with running.file.open("a") as file:
            file.write(WANTED)
        yield running


def test_apply_diff_and_dump_on_all(fleet: Fleet, tmp_path: Path) -> None:
    config = ("--config", str(fleet.file))
    diff = invoke(*config, "rules", "diff")
    assert diff.exit_code == 5, "the worst: the one with another program refuses"
    assert diff.stdout.startswith("leaf1, leaf2:\n+ group 0: ports ")
    assert "\nleaf4, leaf6, leaf7, leaf8:\n+ group 0: ports " in diff.stdout
    assert verdicts(diff.stdout)[TAKEN] == ("ok", "2 to add, 0 to change, 0 to remove")
    applied = invoke(*config, "rules", "apply", "--device", "all", "--yes")
    found = verdicts(applied.stdout)
    assert applied.exit_code == 5
    assert tuple(found) == NAMES
    assert found["leaf1"] == ("ok", "3 added, 0 changed, 0 removed")
    assert found["leaf4"] == ("ok", "2 added, 0 changed, 0 removed")
    assert {name: found[name][0] for name in (DOWN, OTHER_PROGRAM, TAKEN)} == {
        DOWN: "unreachable",
        OTHER_PROGRAM: "refused",
        TAKEN: "not permitted",
    }
    fine = ("--device", ",".join(FINE))
    again = invoke(*config, "rules", "apply", *fine)
    assert again.exit_code == 0
    assert verdicts(again.stdout)["leaf1"] == ("ok", "as wanted: 1 group and 2 rules")
    dumped = tmp_path / "dumped.toml"
    dumped.write_text(invoke(*config, "rules", "dump", *fine).stdout)
    assert 'devices = ["leaf1", "leaf2"]' in dumped.read_text()
    assert invoke(*config, "rules", "diff", str(dumped), *fine).exit_code == 0


def test_the_verdicts_as_json(fleet: Fleet) -> None:
    arguments = ("--config", str(fleet.file), "rules", "apply", "--device", "all", "--yes", "--json")
    result = invoke(*arguments)
    document = json.loads(result.stdout)
    assert document["exit_code"] == result.exit_code == 5
    devices = {each["device"]: each["verdict"] for each in document["devices"]}
    assert devices == {
        **dict.fromkeys(FINE, "applied"),
        DOWN: "unreachable",
        OTHER_PROGRAM: "refused",
        TAKEN: "not permitted",
    }
    assert json.loads(result.stderr)["exit_code"] == 5


def test_an_error_for_one_device_keeps_all_as_they_are(fleet: Fleet) -> None:
    fleet.file.write_text(fleet.file.read_text().replace("3, 4]", "3, 5]").replace("swp4 = 4", "swp5 = 5", 1))
    result = invoke("--config", str(fleet.file), "rules", "apply", "--device", "leaf1,leaf2,leaf4", "--yes")
    assert result.exit_code == 2
    assert "error: leaf2, leaf4: " not in result.stderr, "each names its own ports"
    assert "port 5 does not exist: leaf2 has 1, 2, 3, 4" in result.stderr
    assert (
        invoke("--config", str(fleet.file), "dump-rules", "--device", "leaf1", "--json").stdout.count("group_id") == 0
    )
