"""add-rule, delete-rule, dump-rules and show-stats against `cais switch`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functional.runner import error_of, invoke

LINE = "--group-id 0 --layer-id 5 --chunk-id 0 --input-ports 1,2,3,4 --output-ports 1,2,3,4 --op-type allreduce"
ORIGINAL = LINE.split()


def _rules(address: str, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(invoke("dump-rules", "--device", address, "--json", *arguments).stdout)["rules"]


def test_the_originals_lines(loaded: str) -> None:
    env = {"CAIS_DEVICE": loaded}
    added = invoke("add-rule", *ORIGINAL, env=env)
    assert added.exit_code == 0, added.stderr
    assert "added rule for group 0, allreduce, layer 5, chunk 0" in added.stdout
    assert "created group 0: ranks 0-3, slots 0-255" in added.stdout
    dumped = invoke("dump-rules", env=env)
    assert dumped.exit_code == 0
    header, row = dumped.stdout.splitlines()
    assert header.split()[:5] == ["group", "op", "layer", "chunk", "priority"]
    assert row.split() == ["0", "allreduce", "5", "0", row.split()[4], "1,2,3,4", "1,2,3,4", "0-255", "0", "0"]
    stats = invoke("show-stats", "--device", loaded, "--interval", "10ms").stdout.splitlines()
    assert stats[0] == f"Device: {loaded}"
    assert [line.partition(":")[0] for line in stats[1:5]] == [
        "SRAM Usage",
        "Reduce Throughput",
        "Avg Queue Delay",
        "Fallback Ratio",
    ]
    assert stats[1] == "SRAM Usage: 0%"
    assert stats[2] == "Reduce Throughput: 0.0 ops/sec"
    assert stats[4] == "Fallback Ratio: 0.0%"


def test_rules_for_ranges_and_any(loaded: str) -> None:
    for layer, chunk in (("any", "any"), ("3-9", "0"), ("5", "any")):
        arguments = ["--layer-id", layer, "--chunk-id", chunk, "--group-id", "7"]
        ports = ["--input-ports", "1-3", "--output-ports", "2"]
        assert invoke("add-rule", *arguments, *ports, "--device", loaded).exit_code == 0
    rules = _rules(loaded, "--group-id", "7")
    assert sorted((rule["layer_first"], rule["layer_last"], rule["chunk_last"]) for rule in rules) == [
        (0, 65535, 65535),
        (3, 9, 0),
        (5, 5, 65535),
    ]
    assert {tuple(rule["input_ports"]) for rule in rules} == {(1, 2, 3)}
    assert {tuple(rule["output_ports"]) for rule in rules} == {(2,)}
    assert not _rules(loaded, "--group-id", "8")
    assert invoke("dump-rules", "--device", loaded, "--group-id", "8").stdout == "no rules\n"


def test_json_of_every_command(loaded: str) -> None:
    added = json.loads(invoke("add-rule", *ORIGINAL, "--device", loaded, "--json").stdout)
    assert added["schema"] == "cais.rule/1"
    assert (added["change"], added["group_change"], added["rule"]["slots"]) == ("created", "created", 256)
    stats = json.loads(invoke("show-stats", "--device", loaded, "--interval", "10ms", "--json").stdout)
    assert stats["schema"] == "cais.stats/1"
    assert stats["slots_allocated"] == 256
    assert [group["group_id"] for group in stats["groups"]] == [0]
    assert [port["port"] for port in stats["ports"]] == [1, 2, 3, 4]
    assert stats["avg_queue_delay_us"] is None
    arguments = ["--group-id", "0", "--layer-id", "5", "--chunk-id", "0", "--device", loaded, "--json"]
    deleted = json.loads(invoke("delete-rule", *arguments).stdout)
    assert deleted["group_removed"] is True
    assert [rule["op_type"] for rule in deleted["rules"]] == ["allreduce"]


def test_the_last_rule_takes_the_group_along(loaded: str) -> None:
    ports = ["--input-ports", "1,2", "--output-ports", "1,2", "--group-id", "3", "--device", loaded]
    assert invoke("add-rule", "--layer-id", "1", *ports).exit_code == 0
    assert invoke("add-rule", "--layer-id", "2", *ports, "--op-type", "ALLREDUCE-MAX").exit_code == 0
    first = invoke("delete-rule", "--group-id", "3", "--layer-id", "1", "--device", loaded)
    assert "removed group" not in first.stdout
    last = invoke("delete-rule", "--group-id", "3", "--layer-id", "2", "--op-type", "allreduce-max", "--device", loaded)
    assert "removed group 3: 256 slots are free" in last.stdout


def test_a_whole_group_at_once(loaded: str) -> None:
    ports = ["--input-ports", "1,2", "--output-ports", "1,2", "--group-id", "3", "--device", loaded]
    for layer in ("1", "2"):
        assert invoke("add-rule", "--layer-id", layer, *ports).exit_code == 0
    deleted = invoke("delete-rule", "--group-id", "3", "--all", "--device", loaded)
    assert deleted.stdout.count("deleted rule") == 2
    assert not _rules(loaded)


def test_a_group_is_extended_and_never_contradicted(loaded: str) -> None:
    rule = ["--group-id", "0", "--output-ports", "1", "--device", loaded]
    assert invoke("add-rule", *rule, "--layer-id", "5", "--input-ports", "1,2,3").exit_code == 0
    extended = invoke("add-rule", *rule, "--layer-id", "6", "--input-ports", "1,2,3,4")
    assert "extended group 0 by ports 4" in extended.stdout
    assert {tuple(each["input_ports"]) for each in _rules(loaded)} == {(1, 2, 3, 4)}
    contradicted = invoke("add-rule", *rule, "--layer-id", "7", "--input-ports", "1,2,3")
    assert contradicted.exit_code == 5
    assert "contradict" in contradicted.stderr


def test_the_same_rule_twice(loaded: str) -> None:
    assert invoke("add-rule", *ORIGINAL, "--device", loaded).exit_code == 0
    again = invoke("add-rule", *ORIGINAL, "--device", loaded)
    assert again.exit_code == 5
    assert "this rule exists" in again.stderr
    assert error_of(invoke("add-rule", *ORIGINAL, "--device", loaded, "--json"))["exit_code"] == 5
    ensured = invoke("add-rule", *ORIGINAL, "--ensure", "--device", loaded)
    assert ensured.exit_code == 0
    assert "unchanged" in ensured.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--group-id 0 --input-ports 1,2,9 --output-ports 1", 5, "ports"),
        ("--group-id 0 --input-ports 1,2 --output-ports 9", 5, "ports"),
        ("--group-id 0 --input-ports 1-33 --output-ports 1", 5, "full"),
        ("--group-id 0 --input-ports 1,2 --output-ports 1 --slots 8192", 5, "slots used up"),
        ("--group-id 0 --input-ports 1,2 --output-ports 1 --slots 100", 2, "power of two"),
        ("--group-id 0 --input-ports 1,2 --output-ports 1 --layer-id 70000", 2, "--layer-id"),
        ("--group-id 0 --input-ports 1,2 --output-ports 1 --chunk-id 9-3", 2, "--chunk-id"),
        ("--group-id 0 --input-ports 1,2 --output-ports 1 --chunk-id x", 2, "--chunk-id"),
    ],
)
def test_what_the_switch_cannot_have_leaves_nothing_behind(
    loaded: str, arguments: str, code: int, message: str
) -> None:
    result = invoke("add-rule", *arguments.split(), "--device", loaded)
    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    assert not _rules(loaded)
    assert json.loads(invoke("show-stats", "--device", loaded, "--interval", "1ms", "--json").stdout)["groups"] == []


def test_a_rule_that_is_not_there(loaded: str) -> None:
    result = invoke("delete-rule", "--group-id", "0", "--device", loaded)
    assert result.exit_code == 5
    assert "there is no rule for group 0" in result.stderr
    assert invoke("delete-rule", "--group-id", "0", "--all", "--device", loaded).exit_code == 5


def test_reading_disturbs_no_primary_and_writing_says_who_is_in_the_way(loaded: str) -> None:
    from cais_tools.session import SessionOptions, connect

    with connect(loaded, SessionOptions(device_id=1)) as primary:
        assert invoke("dump-rules", "--device", loaded).exit_code == 0
        assert invoke("show-stats", "--device", loaded, "--interval", "1ms").exit_code == 0
        refused = invoke("add-rule", *ORIGINAL, "--device", loaded)
        assert refused.exit_code == 4
        assert "primary" in refused.stderr
        assert primary.is_primary
        assert invoke("add-rule", *ORIGINAL, "--take-over", "--device", loaded).exit_code == 0
