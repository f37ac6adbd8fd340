"""`cais smoke` as a user runs it: real processes, sockets and frames."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cais_tools.links.pcap import read_pcap
from cais_tools.smoke.plan import DEFAULT_OPERATIONS
from tests.functional.runner import command, environment, error_of, run

QUICK = ("--steps", "2", "--size", "2KiB", "--seed", "1")
_SIGN_OF_LIFE = 100_000
"""Bytes of recorded frames: some operations are done."""


def _report(*arguments: str, code: int = 0, cwd: Path | None = None) -> dict[str, Any]:
    finished = run("smoke", "--json", *arguments, cwd=cwd)
    assert finished.returncode == code, finished.stderr
    assert finished.stderr == ""
    return json.loads(finished.stdout)


def _descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children]


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def _started(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], int]:
    """A long run whose operations run, and the pid of its switch."""
    recorded = folder / "life.pcap"
    process = subprocess.Popen(
        command("smoke", "--steps", "100000", "--size", "2KiB", "--write", str(recorded), *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    end = time.monotonic() + 30
    while not recorded.is_file() or recorded.stat().st_size < _SIGN_OF_LIFE:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    return process, _descendants(process.pid)[0]


def test_all_operations_come_out_right() -> None:
    report = _report(*QUICK)
    assert report["schema"] == "cais.smoke/1"
    assert report["passed"] is True
    assert report["mismatch"] is None
    assert [row["operation"] for row in report["operations"]] == list(DEFAULT_OPERATIONS)
    for row in report["operations"]:
        assert (row["steps"], row["mismatches"], row["undetected"], row["repeated"]) == (2, 0, 0, 0)
        # 512 words are 8 packets from each of 4 ranks; a float sum sends the exponents of 8 blocks ahead.
        assert row["packets"] == 2 * 4 * (9 if row["operation"].startswith("sum-") else 8)
        assert row["latency_p50_us"] > 0


def test_the_table_and_the_last_line() -> None:
    finished = run("smoke", *QUICK, "--ops", "sum,max")
    assert finished.returncode == 0
    assert finished.stderr == "seed 1\n"
    lines = finished.stdout.splitlines()
    assert lines[0].split()[:3] == ["operation", "steps", "packets"]
    assert [line.split()[0] for line in lines[1:3]] == ["sum", "max"]
    assert lines[-1].startswith("passed: 4 ranks, 2 steps of 2 operations, 128 packets, 0 mismatches")
    assert "\x1b" not in finished.stdout


@pytest.mark.parametrize(
    ("ranks", "ops"), [("2", "all-gather,reduce"), ("5", "sum,reduce-scatter"), ("32", "sum-float32")]
)
def test_other_numbers_of_ranks(ranks: str, ops: str) -> None:
    assert _report(*QUICK, "--ranks", ranks, "--ops", ops)["ranks"] == int(ranks)


def test_bad_cables_never_make_a_wrong_sum() -> None:
    faults = ("--loss", "5%", "--duplicate", "2%", "--reorder", "5%", "--corrupt", "1%")
    report = _report("--steps", "4", "--size", "4KiB", "--seed", "3", *faults)
    assert report["passed"] is True
    assert all(report["faults"][kind] > 0 for kind in ("lost", "duplicated", "reordered", "corrupted"))
    assert sum(row["mismatches"] for row in report["operations"]) == 0
    assert sum(row["retransmissions"] for row in report["operations"]) > 0
    assert sum(row["repeated"] for row in report["operations"]) > 0
    linear = [row for row in report["operations"] if row["operation"] not in ("max", "min", "product")]
    assert sum(row["undetected"] for row in linear) == 0


def test_flipped_bits_in_a_maximum_slip_through_and_are_counted() -> None:
    report = _report("--ops", "max,min", "--steps", "30", "--size", "4KiB", "--seed", "2", "--corrupt", "1%")
    assert report["passed"] is True
    assert sum(row["undetected"] for row in report["operations"]) > 0


def test_cables_that_lose_everything() -> None:
    finished = run("smoke", *QUICK, "--loss", "100%", "--timeout", "300ms")
    assert finished.returncode == 3
    assert finished.stdout.splitlines()[-1].startswith("failed: ended in step 1, sum; 4 ranks, 0 steps")
    assert finished.stdout.rstrip().endswith("seed 1")
    error = next(line for line in finished.stderr.splitlines() if line.startswith("error: "))
    assert "rank 0 (port 1)" in error
    assert "rank 3 (port 4)" in error
    assert "reached the switch" in error


def test_everything_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "all.pcap"
    report = _report(*QUICK, "--ops", "sum", "--write", str(path))
    frames = [frame for _, frame in read_pcap(path)]
    sent = [frame for frame in frames if frame[6:9] == b"\x02\xca\x15" and frame[9] == 1]
    received = [frame for frame in frames if frame[6:12] == bytes.fromhex("02ca15000000")]
    row = report["operations"][0]
    assert len(sent) == row["packets"] + row["retransmissions"]
    assert len(received) == row["packets"] + row["duplicates"]
    assert len(frames) == len(sent) + len(received)


def test_the_traffic_alone(tmp_path: Path) -> None:
    path = tmp_path / "traffic.pcap"
    finished = run("smoke", "--generate", str(path), "--size", "1KiB", "--seed", "1", "--json")
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    assert document["schema"] == "cais.generate/1"
    assert document["frames"] == len(list(read_pcap(path))) == 4 * (11 * 4 + 3)
    assert run("smoke", "--generate", str(tmp_path / "no" / "x.pcap")).returncode == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_everything(number: signal.Signals, code: int, tmp_path: Path) -> None:
    process, switch = _started(tmp_path, "--json")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == code
    assert (stdout, stderr) == ("", "")
    assert not _is_alive(switch)


@pytest.mark.parametrize("faults", [(), ("--corrupt", "2%", "--loss", "5%")], ids=["good cables", "bad cables"])
def test_the_switch_is_killed_in_the_middle(faults: tuple[str, ...], tmp_path: Path) -> None:
    """What was found so far is said; over bad cables the end often comes while a new job begins."""
    process, switch = _started(tmp_path, "--timeout", "60s", "--json", *faults)
    os.kill(switch, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 3
    words = f"the switch process {switch} has ended (killed by SIGKILL)"
    assert json.loads(stderr)["error"] == words
    report = json.loads(stdout)
    assert report["passed"] is False
    assert report["failure"]["error"] == words
    assert report["failure"]["exit_code"] == 3
    assert sum(row["steps"] for row in report["operations"]) > 0


def test_nothing_outlives_a_killed_smoke_test(tmp_path: Path) -> None:
    process, switch = _started(tmp_path)
    process.kill()
    process.communicate(timeout=20)
    end = time.monotonic() + 20
    while _is_alive(switch):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_torch_is_missing_and_that_is_said() -> None:
    import importlib.util

    if importlib.util.find_spec("torch"):
        pytest.skip("torch is installed")
    finished = run("smoke", *QUICK, "--against", "gloo", "--json")
    assert finished.returncode == 2
    assert "cais-tools[torch]" in error_of(finished)["hint"]


def test_against_gloo() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    report = _report(*QUICK, "--against", "gloo")
    assert report["passed"] is True
    assert [row["operation"] for row in report["against"]] == list(DEFAULT_OPERATIONS)
    assert all(row["differences"] == 0 and row["steps"] == 2 for row in report["against"])
