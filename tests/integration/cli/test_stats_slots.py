"""show-stats --slots, --group and the columns of groups, after real frames."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.functional.runner import invoke, run
from tests.integration.cli.test_stats import _frame, _stats
from tests.integration.session.targets import Embedded

RULE = ("--group-id", "4", "--input-ports", "1,2,3", "--output-ports", "1,2,3")


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, Path]]:
    """A group of three: packet 1 is complete and was repeated, 2 waits for rank 2, 3 for ranks 1 and 2."""
    embedded = Embedded("spec")
    embedded.start()
    address = embedded.address
    for arguments in (("load",), ("add-rule", *RULE)):
        assert invoke(*arguments, "--device", address).exit_code == 0
    first, second, third = (embedded.hosts[port] for port in (1, 2, 3))
    for host, numbers in ((first, (1, 2)), (second, (1, 2)), (third, (1,))):
        host.send([_frame(seq_num=number) for number in numbers])
    _stats(address, 5)
    first.send([_frame(seq_num=3), _frame(seq_num=3), _frame(seq_num=1), _frame(op=6)])
    embedded.hosts[5].send([_frame(seq_num=3)])
    _stats(address, 10)
    config = tmp_path_factory.mktemp("slots") / "cais.toml"
    config.write_text(f'[devices.tor1]\naddress = "{address}"\n[devices.tor1.ports]\nswp7 = 3\n7 = 3\n')
    yield address, config
    embedded.close()


def test_the_oldest_slots_and_who_is_missing(switch: tuple[str, Path]) -> None:
    result = invoke("show-stats", "--config", str(switch[1]), "--group", "4", "--slots")
    assert result.exit_code == 0, result.stderr
    header, older, younger, _, *silent = result.stdout.splitlines()
    assert header.split() == ["group", "slot", "seq_num", "op", "layer", "chunk", "age", "missing"]
    assert older.split()[:6] == ["4", "2", "2", "allreduce", "0", "0"]
    assert older.endswith("  rank 2 (port 3, swp7)")
    assert younger.endswith("  rank 1 (port 2), rank 2 (port 3, swp7)")
    assert silent == [
        "group 4: rank 2 (port 3, swp7) is missing in 2 slots",
        "group 4: rank 1 (port 2) is missing in 1 slot",
    ]


def test_slots_as_json(switch: tuple[str, Path]) -> None:
    document = json.loads(invoke("show-stats", "--config", str(switch[1]), "--slots", "--json").stdout)
    assert (document["schema"], document["device"], document["open"]) == ("cais.slots/1", "tor1", 2)
    assert [slot["seq_num"] for slot in document["slots"]] == [2, 3]
    assert document["slots"][0]["missing"] == [{"rank": 2, "port": 3, "name": "swp7"}]
    assert document["slots"][0]["age_us"] >= document["slots"][1]["age_us"] >= 0


def test_slots_again_and_again(switch: tuple[str, Path]) -> None:
    finished = run("show-stats", "--config", str(switch[1]), "--slots", "--watch", "20ms", "--count", "2")
    assert [json.loads(line)["open"] for line in finished.stdout.splitlines()] == [2, 2]


def test_a_group_that_is_not_there(switch: tuple[str, Path]) -> None:
    refused = invoke("show-stats", "--device", switch[0], "--group", "9", "--slots")
    assert refused.exit_code == 5
    assert "groups on the switch: 4" in refused.stderr
    stats = invoke("show-stats", "--device", switch[0], "--group", "9", "--interval", "20ms")
    assert stats.exit_code == 0
    assert "group 9: not on this switch" in stats.stdout


def test_a_switch_without_registers_is_exit_code_5_and_says_what_to_do() -> None:
    embedded = Embedded("bmv2")
    try:
        embedded.start()
        for arguments in (("load",), ("add-rule", *RULE)):
            assert invoke(*arguments, "--device", embedded.address).exit_code == 0
        result = invoke("show-stats", "--device", embedded.address, "--slots")
        assert result.exit_code == 5
        assert "shows no registers" in result.stderr
        assert "without --slots" in result.stderr
        assert len(result.stderr.splitlines()) == 2
    finally:
        embedded.close()


def test_columns_of_groups_and_names_of_ports(switch: tuple[str, Path]) -> None:
    text = invoke("show-stats", "--config", str(switch[1]), "--group", "4", "--interval", "20ms").stdout
    lines = text.splitlines()
    assert lines[0] == "Device: tor1"
    assert lines[3] == "Avg Queue Delay: no traffic"
    place = next(number for number, line in enumerate(lines) if line.startswith("group"))
    row = dict(zip(lines[place].replace("in use", "in-use").split(), lines[place + 1].split(), strict=True))
    assert row == {
        "group": "4",
        "slots": "256",
        "in-use": "2",
        "ops/s": "0.0",
        "opened": "3",
        "completed": "1",
        "duplicates": "1",
        "stale": "0",
        "replayed": "1",
        "rejected": "1",
        "bad": "1",
    }
    assert lines[place + 2] == "group 4: 1 no_member, 1 unknown_op"
    ports = next(number for number, line in enumerate(lines) if line.startswith("port"))
    assert [line.split()[:2] for line in lines[ports + 1 : ports + 4]] == [["1", "-"], ["2", "-"], ["3", "swp7"]]
    assert lines[-1] == "no alarms"
