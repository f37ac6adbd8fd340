"""Statistics as text, without a switch."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cais_tools.cli.stats_json import sample_document
from cais_tools.cli.stats_text import fleet_text, reading_text, scaled, slots_text
from cais_tools.session.cais import Member, OpenSlot
from tests.unit.exporter.samples import AFTER, BEFORE, SAMPLES
from tests.unit.session.readings import group_stats, histogram, reading, snapshot


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0"),
        (12.34, "12.3"),
        (999.94, "999.9"),
        (999.96, "1.0k"),
        (1_200_000, "1.2M"),
        (3.5e9, "3.5G"),
        (2e12, "2.0T"),
    ],
)
def test_numbers_as_the_original_shows_them(value: float, text: str) -> None:
    assert scaled(value) == text


def test_the_originals_lines_to_the_letter() -> None:
    """The example of the original: 62 %, 1.2M ops/sec, 8.3us, 3.1 %."""
    before = snapshot(group_stats(0))
    fallen = 3_200_000 * 31 // 969
    after = snapshot(
        group_stats(0, opened=1_200_062, completed=1_200_000, added=800_000 - 62, no_rule=fallen),
        delay=histogram(b3=616, b4=384),
        time=1.0,
    )
    lines = reading_text("192.168.1.10", reading(before, after), {}, None, colour=False).splitlines()
    assert lines[:5] == [
        "Device: 192.168.1.10",
        "SRAM Usage: 62%",
        "Reduce Throughput: 1.2M ops/sec",
        "Avg Queue Delay: 8.3us",
        "Fallback Ratio: 3.1%",
    ]


def test_alarms_come_last_and_name_their_playbook() -> None:
    text = reading_text("tor1", reading(BEFORE, AFTER), {}, None, colour=False)
    sram, fallback = text.splitlines()[-2:]
    assert sram == "ALARM sram: SRAM usage 85% is over 80%: 85 of 100 slots wait for a rank (playbooks/overload.md)"
    assert fallback.startswith("ALARM fallback: fallback ratio 20.3% is over 10%")
    assert fallback.endswith("(playbooks/fallback.md)")


def test_delays_are_those_of_the_interval() -> None:
    idle = replace(AFTER, time=4.0)
    text = reading_text("tor1", reading(AFTER, idle), {}, None, colour=False)
    assert "Avg Queue Delay: no traffic" in text
    assert "queue delay: no traffic" in text
    assert "queue delay since the load: p50 0.8us, p90 7.5us" in text


def test_a_first_reading_has_no_rates() -> None:
    text = reading_text("tor1", reading(None, BEFORE), {1: "swp1"}, None, colour=False)
    assert "Reduce Throughput: with the next reading" in text
    document = sample_document(SAMPLES[1])
    assert document["reduce_throughput_ops_per_s"] is None
    assert document["since_load"]["operations"] == 10


def test_several_devices() -> None:
    text = fleet_text(SAMPLES, None, colour=False)
    rows = text.splitlines()[1:4]
    assert [row.split()[-2:] for row in rows] == [["sram,", "fallback"], ["just", "connected"], ["-", "unreachable"]]
    assert "tor1: ALARM sram" in text
    assert "tor3: nothing listens" in text
    grouped = fleet_text(SAMPLES, 4, colour=False)
    assert next(line for line in grouped.splitlines() if line.startswith("device") and "slots  in use" in line)
    assert "group 9: on none of these devices" in fleet_text(SAMPLES, 9, colour=False)


def test_documents_are_json_with_everything_in_the_interval() -> None:
    document = json.loads(json.dumps(sample_document(SAMPLES[0])))
    assert document["queue_delay_p99_us"] > 16384
    assert [alarm["name"] for alarm in document["alarms"]] == ["sram", "fallback"]
    assert document["ports"][0]["name"] == "swp1"
    group = document["groups"][0]
    assert (group["opened"], group["completed"], group["replayed"], group["rejected"]) == (105, 20, 3, 30)
    assert sample_document(SAMPLES[0], 5)["groups"] == []
    assert sample_document(SAMPLES[2])["exit_code"] == 3


def _slot(number: int, age_us: int | None = 1_500_000) -> OpenSlot:
    return OpenSlot(0, number, number, 0, 5, 9, age_us, (Member(0, 1),), (Member(1, 2),))


@pytest.mark.parametrize(("age_us", "text"), [(None, "unknown"), (7, "7us"), (12_345, "12.3ms"), (1_500_000, "1.5s")])
def test_ages(age_us: int | None, text: str) -> None:
    row = slots_text([_slot(1, age_us)], {2: "swp2"}).splitlines()[1]
    assert row.split()[6] == text
    assert row.endswith("rank 1 (port 2, swp2)")


def test_many_open_slots_are_told_in_short() -> None:
    assert slots_text([], {}) == "no open slots"
    lines = slots_text([_slot(number) for number in range(25)], {}).splitlines()
    assert len(lines) == 1 + 20 + 1 + 1 + 1
    assert lines[21].startswith("and 5 younger ones")
    assert lines[-1] == "group 0: rank 1 (port 2) is missing in 25 slots"
