"""`cais top` without a screen, against a real switch: --once, --json, --count, --check, --record and --replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.session import connect, load_shipped
from cais_tools.top.record import encode, encode_header
from tests.functional.runner import invoke
from tests.integration.controller.lab import a_lab, a_switch
from tests.integration.fleets import free_address
from tests.unit.top.scenes import a_snapshot, observation, sources

FAST = ("--interval", "20ms")


def documents(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_once_says_what_show_stats_says(address: str) -> None:
    (seen,) = documents(invoke("top", "--device", address, *FAST, "--json").stdout)
    stats = json.loads(invoke("show-stats", "--device", address, *FAST, "--json").stdout)
    same = (
        "sram_usage",
        "slots",
        "slots_in_use",
        "reduce_throughput_ops_per_s",
        "fallback_ratio",
        "avg_queue_delay_us",
    )
    assert {name: seen[name] for name in same} == {name: stats[name] for name in same}
    assert (seen["slots_in_use"], seen["state"], seen["program"]["name"]) == (3, "up", "cais")
    assert seen["primary"]["taken"] is False
    outcomes = stats["groups"][0]["outcomes_packets"]
    first, second = seen["groups"]
    assert (first["completed"], first["slots_open"], first["members"], first["rules"]) == (2, 3, 4, 1)
    assert (first["completed"], first["stale"]) == (outcomes["completed"], outcomes["stale"])
    assert first["missing"] == "rank 2 (port 3)"
    assert first["oldest_us"] > 0
    assert (second["completed"], second["missing"]) == (0, None)
    assert [port["packets_in"] for port in seen["ports"]] == [port["packets_in"] for port in stats["ports"]]
    text = invoke("top", "--device", address, *FAST).stdout
    assert "rank 2 (port 3)" in text
    assert "3/64" in text


def test_a_controller_says_which_way_groups_go() -> None:
    with a_lab() as lab:
        leader = lab.lead(lab.create())
        lab.client.set_offload([3], pb.PATH_ENDPOINT, "maintenance")
        where = ("--device", lab.switch.address, "--controller", lab.controller.address)
        (seen,) = documents(invoke("top", *where, *FAST, "--json").stdout)
        (group,) = seen["groups"]
        assert group["path"] == "endpoint"
        assert group["controller"]["wanted"] == "endpoint"
        assert "endpoint!" in invoke("top", *where, *FAST, "--once").stdout
        leader.leave()


def test_a_controller_that_is_not_there_is_no_obstacle(address: str) -> None:
    result = invoke("top", "--device", address, "--controller", free_address(), *FAST, "--once")
    assert result.exit_code == 0
    assert "no controller answers" in result.stderr
    assert "PATH" not in result.stdout


def test_a_switch_tells_its_temperature_and_too_much_is_an_alarm() -> None:
    with a_switch(temperature=91.0) as switch, connect(switch.address) as session:
        session.load(load_shipped())
        result = invoke("top", "--device", switch.address, *FAST, "--json", "--check")
        (seen,) = documents(result.stdout)
        assert seen["temperature_c"] == 91.0
        assert [alarm["name"] for alarm in seen["alarms"]] == ["temperature"]
        assert result.exit_code == 2


def test_count_rounds_one_after_another(address: str) -> None:
    result = invoke("top", "--device", address, *FAST, "--json", "--count", "3")
    seen = documents(result.stdout)
    assert [each["schema"] for each in seen] == ["cais.top/1"] * 3
    assert [each["ts_ns"] for each in seen] == sorted({each["ts_ns"] for each in seen})
    assert invoke("top", "--device", address, *FAST, "--count", "2").stdout.count("DEVICE") == 2


def test_check_is_0_when_all_is_fine_and_3_when_a_switch_is_gone(address: str) -> None:
    assert invoke("top", "--device", address, *FAST, "--once", "--check").exit_code == 0
    result = invoke("top", "--device", f"{address},{free_address()}", *FAST, "--once", "--check")
    assert result.exit_code == 3
    assert "x DOWN" in result.stdout
    assert "* up" in result.stdout


@pytest.mark.parametrize(
    ("open_slots", "celsius", "code", "name"),
    [(10, 60.0, 0, "no alarms"), (3600, 60.0, 1, "sram"), (3600, 90.0, 2, "temperature")],
)
def test_check_says_how_bad_the_worst_is(tmp_path: Path, open_slots: int, celsius: float, code: int, name: str) -> None:
    recorded = [
        observation("leaf1", tick, a_snapshot(tick, open_slots=open_slots), temperature_c=celsius) for tick in (1, 2)
    ]
    file = tmp_path / "run.ndjson"
    file.write_text("\n".join([encode_header(sources(1), 1.0), *map(encode, recorded), ""]))
    result = invoke("top", "--replay", str(file), "--check")
    assert result.exit_code == code
    assert name in result.stdout
    assert invoke("top", "--replay", str(file), "--once").exit_code == 0


def test_what_is_recorded_is_replayed(address: str, tmp_path: Path) -> None:
    file = str(tmp_path / "run.ndjson")
    live = documents(invoke("top", "--device", address, *FAST, "--json", "--count", "3", "--record", file).stdout)
    last = documents(invoke("top", "--replay", file, "--json").stdout)
    every = documents(invoke("top", "--replay", file, "--json", "--count", "0").stdout)
    assert last == every[-1:]
    assert all(abs(one["ts_ns"] - other["ts_ns"]) <= 2000 for one, other in zip(live, every[1:], strict=True))
    assert [each["groups"] for each in live] == [each["groups"] for each in every[1:]]
    from_its_begin = documents(invoke("top", "--replay", file, "--json", "--seek", "0").stdout)
    assert from_its_begin == every[:1]
    assert "rank 2 (port 3)" in invoke("top", "--replay", file, "--once").stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--replay", "no-such-file"), "cannot read no-such-file"),
        (("--seek", "5s"), "--seek needs --replay"),
        (("--speed", "2"), "--speed needs --replay"),
        (("--once", "--write"), "--write is for the screen"),
        (("--replay", "x", "--write"), "neither with --record nor with --write"),
        (("--record", "/no/such/folder/x"), "cannot write /no/such/folder/x"),
        (("--interval", "soon"), "--interval"),
        (("--interval", "1us"), "too short"),
    ],
)
def test_options_that_do_not_go_together_are_told(arguments: tuple[str, ...], reason: str) -> None:
    result = invoke("top", "--device", "127.0.0.1:1", *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr
