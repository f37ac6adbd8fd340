"""`cais sniff` with what looks at all packets: expectations, slots, sums, counts; and the dissector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functional.runner import invoke
from tests.unit.sniff.captures import frame, pcap


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([frame(1), frame(2, group_id=3), frame(3)]))
    return path


def test_packets_that_differ_are_marked_where_they_stand(capture: Path) -> None:
    result = invoke("sniff", "-r", str(capture), "--expect", "group=1")
    assert result.exit_code == 1
    assert ["!" in line for line in result.stdout.splitlines() if " seq " in line] == [False, True, False]
    assert "3 packets captured: 3 CAIS, 0 other" in result.stderr
    assert invoke("sniff", "-r", str(capture), "--expect", "layer=5").exit_code == 0
    assert invoke("sniff", "-r", str(capture), "--expect", "group=1", "--group", "1").exit_code == 0


def test_differences_in_json(capture: Path) -> None:
    result = invoke("sniff", "-r", str(capture), "--expect", "group=1", "--json")
    assert result.exit_code == 1
    *packets, verdict = map(json.loads, result.stdout.splitlines())
    assert [len(packet["differs"]) for packet in packets] == [0, 1, 0]
    assert packets[1]["differs"][0]["field"] == "group_id"
    assert verdict["passed"] is False


@pytest.mark.parametrize("views", [["--slots"], ["--verify"], ["--stats"], ["--stats", "--slots", "--verify"]])
def test_views_stand_instead_of_packets(capture: Path, views: list[str]) -> None:
    result = invoke("sniff", "-r", str(capture), *views)
    assert result.exit_code in (0, 1)
    assert "rank 1 allreduce group" not in result.stdout
    assert result.stdout
    for line in invoke("sniff", "-r", str(capture), *views, "--json").stdout.splitlines():
        assert json.loads(line)["schema"] != "cais.packet/1"


def test_the_worst_verdict_counts_and_what_is_written_is_looked_at_too(capture: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.pcap"
    result = invoke("sniff", "-r", str(capture), "--stats", "--expect", "group=1", "-w", str(target))
    assert result.exit_code == 1
    assert "not as expected" in result.stdout
    assert target.read_bytes().count(b"\x88\xb5") == 3


def test_a_bad_expectation_is_a_usage_error(capture: Path) -> None:
    assert invoke("sniff", "-r", str(capture), "--expect", "colour=red").exit_code == 2


def test_the_dissector_is_printed_or_installed(tmp_path: Path) -> None:
    text = invoke("sniff", "--wireshark-plugin").stdout
    assert "0x88b5" in text
    result = invoke("sniff", "--wireshark-plugin", "install", str(tmp_path))
    assert result.exit_code == 0
    [installed] = tmp_path.iterdir()
    assert installed.read_text() == text
    assert result.stdout == f"installed {installed}\n"
    result = invoke("sniff", "--wireshark-plugin", "uninstall")
    assert result.exit_code == 2
    assert "is not install [PATH]" in result.stderr
