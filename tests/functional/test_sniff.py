"""`cais sniff` on files, pipes and standard input, as somebody at a shell meets it."""

from __future__ import annotations

import gzip
import json
import os
import pty
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.functional.runner import command, environment, error_of, invoke, run
from tests.needs import needs_libpcap
from tests.unit.sniff import captures
from tests.unit.sniff.captures import ETHERNET, frame, pcap

OTHER = ETHERNET + b"\x08\x00" + bytes(46)
FRAMES = [frame(1), OTHER, frame(2, b"\x81\0\0\5", op_type=2), frame(3, group_id=7, layer_id=9), frame(4)[:25]]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(FRAMES))
    return path


def sequence(text: str) -> list[int]:
    """The packet numbers of the lines shown."""
    return [int(line.partition(" seq ")[2].split()[0]) for line in text.splitlines() if " seq " in line]


def documents(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_lines_and_what_was_captured(capture: Path) -> None:
    result = invoke("sniff", "-r", str(capture), "--utc")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "22:13:20.000000+00:00 rank 1 allreduce group 1 layer 5 chunk 7/8 seq 1 len 8",
        "22:13:20.002000+00:00 vlan 5 rank 1 broadcast group 1 layer 5 chunk 7/8 seq 2 len 8",
        "22:13:20.003000+00:00 rank 1 allreduce group 7 layer 9 chunk 7/8 seq 3 len 8",
        "22:13:20.004000+00:00 [too short for a CAIS header: 25 bytes in all]",
    ]
    assert result.stderr == "5 packets captured: 3 CAIS, 1 too short for a CAIS header, 1 other\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--group 7", [3]),
        ("--group 0-6 --op allreduce", [1]),
        ("--layer 5,9 --seq 2-3", [2, 3]),
        ("--chunk 0-6", []),
        ("-c 2", [1, 2]),
        pytest.param("vlan", [2], marks=needs_libpcap),
        pytest.param("ether proto 0x88b5 and not vlan 5", [1, 3], marks=needs_libpcap),
    ],
)
def test_filters(capture: Path, options: str, expected: list[int]) -> None:
    result = invoke("sniff", "-r", str(capture), *options.split())
    assert result.exit_code == 0
    assert sequence(result.stdout) == expected


def test_ndjson(capture: Path) -> None:
    result = invoke("sniff", "-r", str(capture), "--json", "-v", "--utc")
    packets = documents(result.stdout)
    assert [packet["seq_num"] for packet in packets] == [1, 2, 3]
    assert packets[1]["lanes"] == [1, -2]
    assert packets[1]["vlan"] == 5
    assert packets[1]["ts"] == "2023-11-14T22:13:20.002000000+00:00"
    [summary] = documents(result.stderr)
    assert summary == {
        "schema": "cais.sniff/1",
        "captured": 5,
        "cais": 3,
        "passed": 3,
        "malformed": 1,
        "other": 1,
        "interfaces": [],
    }


def test_several_files_are_one_capture_with_ports(tmp_path: Path) -> None:
    paths = [tmp_path / "p1.pcap", tmp_path / "p2.pcap"]
    paths[0].write_bytes(pcap([frame(0), frame(2)]))
    paths[1].write_bytes(pcap([frame(1), frame(3)]))
    ports = f"1={paths[0]},2={paths[1]}"
    result = invoke("sniff", "-r", *map(str, paths), "--ports", ports, "--json")
    assert [(each["seq_num"], each["port"]) for each in documents(result.stdout)] == [(0, 1), (1, 2), (2, 1), (3, 2)]
    result = invoke("sniff", "-r", str(paths[0]), "-r", str(paths[1]), "--ports", ports, "--port", "2")
    assert sequence(result.stdout) == [1, 3]
    assert all(str(paths[1]) in line for line in result.stdout.splitlines())


def test_write_what_passes(capture: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.pcap"
    assert invoke("sniff", "-r", str(capture), "-w", str(target)).exit_code == 0
    assert captures.frames_of(captures.read(target, target.read_bytes())[1]) == FRAMES
    result = invoke("sniff", "-r", str(capture), "-w", str(target), "--group", "1", "-s", "40")
    assert result.stdout == ""
    assert captures.frames_of(captures.read(target, target.read_bytes())[1]) == [FRAMES[0][:40], FRAMES[2][:40]]


def test_rotation_from_the_command_line(capture: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.pcap"
    many.write_bytes(pcap([frame(i, lanes=[1] * 64) for i in range(20)]))
    assert invoke("sniff", "-r", str(many), "-w", str(tmp_path / "out"), "-C", "1k", "-W", "3").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out0", "out1", "out2"]


def test_standard_input_and_output(capture: Path) -> None:
    packed = gzip.compress(capture.read_bytes())
    first = subprocess.run(
        command("sniff", "-r", "-", "-w", "-", "--seq", "1-2"), input=packed, capture_output=True, env=environment()
    )
    second = subprocess.run(command("sniff", "-r", "-"), input=first.stdout, capture_output=True, env=environment())
    assert sequence(second.stdout.decode()) == [1, 2]


def test_a_fifo(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(pcap(FRAMES)))
    writer.start()
    assert sequence(run("sniff", "-r", str(path)).stdout) == [1, 2, 3]
    writer.join()


def test_snaplen_40_no_packets_and_a_cut_off_last_record(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(FRAMES[:1], cut=40))
    assert "[cut off by the capture: 6 bytes of payload]" in invoke("sniff", "-r", str(path)).stdout
    path.write_bytes(pcap([]))
    result = invoke("sniff", "-r", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "0 packets captured: 0 CAIS, 0 other\n"
    path.write_bytes(pcap(FRAMES[:3])[:-1])
    result = invoke("sniff", "-r", str(path))
    assert (result.exit_code, sequence(result.stdout)) == (0, [1])
    assert f"{path} ends in the middle of record 3; the 2 before it are read\n" in result.stderr


def test_a_damaged_file_is_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(FRAMES) + b"\xff" * 16)
    result = invoke("sniff", "-r", str(path))
    assert (result.exit_code, sequence(result.stdout)) == (1, [1, 2, 3])
    assert "is damaged: record 6" in result.stderr


def test_link_types_that_are_only_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(FRAMES, link_type=147))
    result = invoke("sniff", "-r", str(path))
    assert result.stdout == ""
    assert result.stderr == (
        f"5 packets captured: 0 CAIS, 5 other\n{path}: packets of link type 147 are counted, not decoded\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-r {folder}", "is a directory"),
        ("-r {folder}/none", "No such file"),
        ("-r {capture} -i lo", "-i and -r do not go together"),
        ("-r {capture} --group 256", "--group: 256 is out of range"),
        ("-r {capture} --op sum", "no operation 'sum'"),
        ("-r {capture} --port 1", "which interface is at which port?"),
        ("-r {capture} -Q in", "does not say which way"),
        ("-r {capture} -C 1", "-C, -G and -W are about the files of -w"),
        ("-r {capture} -w {folder}/y -W 2", "-W needs -C or -G"),
        ("-r {capture} -w - -C 1", "standard output is one file"),
        ("-r {capture} -w {folder}/none/y", "cannot write"),
        ("nointerface0", "no interface 'nointerface0'"),
        ("-i nointerface0", "no interface 'nointerface0'"),
    ],
)
def test_usage_errors(capture: Path, arguments: str, message: str) -> None:
    words = arguments.format(folder=capture.parent, capture=capture).split()
    result = invoke("sniff", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert message in error_of(invoke("sniff", *words, "--json"))["error"]


@needs_libpcap
def test_a_bad_expression_is_libpcaps_message(capture: Path) -> None:
    result = invoke("sniff", "-r", str(capture), "ether", "proto")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: filter expression")
    capture.write_bytes(pcap([]))
    assert invoke("sniff", "-r", str(capture), "ether", "proto").exit_code == 2


def test_interfaces_are_listed(tmp_path: Path) -> None:
    assert "lo [" in invoke("sniff", "-D").stdout
    assert "lo" in {document["name"] for document in documents(invoke("sniff", "-D", "--json").stdout)}


def test_the_nearest_names_of_an_interface() -> None:
    assert "did you mean lo?" in invoke("sniff", "lo0").stderr


def test_head_is_quiet(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([frame(i) for i in range(20_000)]))
    process = subprocess.Popen(
        command("sniff", "-r", str(path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert " seq 0 " in process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(30) == 141
    process.stderr.close()


def on_terminal(*arguments: str, **env: str) -> str:
    """What a terminal of 60 columns gets on its standard output."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command(*arguments), stdout=slave, stderr=subprocess.DEVNULL, env=environment(COLUMNS="60", TERM="xterm", **env)
    )
    os.close(slave)
    parts: list[bytes] = []
    while True:
        try:
            parts.append(os.read(master, 65_536))
        except OSError:  # the other end is closed
            break
    process.wait(30)
    os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_colour_is_for_terminals_that_want_it(capture: Path) -> None:
    assert "\033[36mrank 1 allreduce\033[0m" in on_terminal("sniff", "-r", str(capture), NO_COLOR="")
    plain = on_terminal("sniff", "-r", str(capture), NO_COLOR="1")
    assert "\033" not in plain
    assert sequence(plain) == [1, 2, 3]  # whole lines: nothing is cut at 60 columns
    assert plain == run("sniff", "-r", str(capture)).stdout


def test_without_standard_input(capture: Path) -> None:
    finished = subprocess.run(
        ["sh", "-c", f"exec {' '.join(command('sniff', '-r', '-'))} <&-"],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert finished.returncode == 2
    assert "standard input is closed" in finished.stderr
