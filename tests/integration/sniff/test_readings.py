"""Every field of what a switch that runs the P4 program receives and sends, read by NumPy, by Scapy and by tshark."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from cais_tools.links.pcap import PcapWriter
from cais_tools.sniff.decode import decode
from cais_tools.sniff.files import open_files
from cais_tools.wire.header import ETHERTYPE_CAIS, HEADER_FIELDS, Header, Op
from tests.conformance.targets import simple_switch, skip_without_bmv2, veth_pair
from tests.functional.runner import invoke, run

RANKS = 3
QUICK = ("smoke", "--ranks", str(RANKS), "--steps", "1", "--size", "600", "--seed", "1")
NAMES = [field.name for field in HEADER_FIELDS]
WARNING = 0x600000  # PI_WARN of Wireshark's epan/proto.h
Reading = tuple[tuple[int, ...], tuple[int, ...]]
"""Header fields in the order of the wire, and lanes."""

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@pytest.fixture(scope="module", params=["embedded", "bmv2"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All operations of a smoke test, as the hosts see them."""
    folder = tmp_path_factory.mktemp("readings")
    path = folder / "smoke.pcap"
    with ExitStack() as stack:
        device: list[str] = []
        if request.param == "bmv2":
            skip_without_bmv2()
            ends = {port: stack.enter_context(veth_pair()) for port in range(1, RANKS + 1)}
            address = stack.enter_context(simple_switch({port: end[0] for port, end in ends.items()}, folder / "log"))
            ports = ",".join(f"{port}={end[1]}" for port, end in ends.items())
            assert run("load", "--device", address, "--device-id", "1", "--ports", "1-3").returncode == 0
            device = ["--device", address, "--device-id", "1", "--ports", ports]
        finished = run(*QUICK, "--write", str(path), *device)
        assert finished.returncode == 0, finished.stderr
    return path


def by_numpy(path: Path) -> list[Reading]:
    readings: list[Reading] = []
    for batch in open_files([str(path)], pytest.fail).batches():
        decoded = decode(batch)
        assert not len(decoded.malformed)
        for i in range(len(decoded)):
            header = tuple(int(decoded.header[name][i]) for name in NAMES)
            readings.append((header, tuple(decoded.lanes(i).tolist())))
    return readings


def by_scapy(path: Path) -> list[Reading]:
    from scapy.utils import PcapReader

    from cais_tools.wire.scapy import CAIS

    with PcapReader(str(path)) as reader:
        packets = [packet[CAIS] for packet in reader if CAIS in packet]
    return [(tuple(int(getattr(each, name)) for name in NAMES), tuple(each.lanes or ())) for each in packets]


def tshark(path: Path, folder: Path, *options: str) -> str:
    plugin = folder / "cais.lua"
    plugin.write_text(invoke("sniff", "--wireshark-plugin").stdout)
    command = ["tshark", "-X", f"lua_script:{plugin}", "-r", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout


def by_tshark(path: Path, folder: Path) -> list[Reading]:
    fields = [argument for name in [*NAMES, "lane"] for argument in ("-e", f"cais.{name}")]
    readings: list[Reading] = []
    for line in tshark(path, folder, "-Y", "cais", "-T", "fields", *fields).splitlines():
        *header, lanes = line.split("\t")
        values = tuple(int(lane) for lane in lanes.split(",")) if lanes else ()
        readings.append((tuple(int(each, 0) for each in header), values))
    return readings


@needs_tshark
def test_three_equal_readings(capture: Path, tmp_path: Path) -> None:
    numpy = by_numpy(capture)
    assert numpy == by_scapy(capture)
    assert numpy == by_tshark(capture, tmp_path)
    assert {header[0] for header, _ in numpy} == set(Op), "the capture has not all operations"
    assert {len(lanes) for _, lanes in numpy} == {0, 64}
    assert tshark(capture, tmp_path, "-Y", f"cais && _ws.expert.severity >= {WARNING:#x}") == ""


@needs_tshark
@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (Header(9, 0, 5, 0, 1, 1, 0, 0), "No such operation"),
        (Header(0, 0, 5, 0, 1, 1, 4000, 0), "payload_len"),
    ],
)
def test_tshark_says_what_is_wrong(header: Header, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.pcap"
    with PcapWriter(path) as writer:
        writer.write([bytes(12) + ETHERTYPE_CAIS.to_bytes(2, "big") + header.pack() + bytes(256)])
    assert problem in tshark(path, tmp_path, "-T", "fields", "-e", "_ws.expert.message")
