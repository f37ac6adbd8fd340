"""What the Lua dissector makes of frames of all kinds, run by tshark, against what Scapy and NumPy make of them."""

# pyright: basic, reportAttributeAccessIssue=false
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet
from scapy.utils import wrpcap

from cais_tools.sniff.batch import batch_of
from cais_tools.sniff.decode import decode
from cais_tools.wire import wireshark
from cais_tools.wire.header import ETHERTYPE_CAIS, HEADER_FIELDS, SWITCH_MAC
from cais_tools.wire.scapy import CAIS

LANES = list(range(-32, 32))
NAMES = [field.name for field in HEADER_FIELDS]

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def header(**fields: object) -> Packet:
    whole = {"total_chunks": 4, "chunk_id": 1, "reserved": 0xCAFE, "lanes": LANES}
    return CAIS(**(whole | fields))


def ether(**fields: str) -> Packet:
    return Ether(src="02:00:00:00:00:01", dst="03:ca:15:00:00:00", type=ETHERTYPE_CAIS, **fields)


def tshark(folder: Path, packets: list[Packet], names: list[str], *options: str) -> list[list[str]]:
    """One list of the named fields for each packet."""
    path = folder / "x.pcap"
    wrpcap(str(path), packets)
    plugin = wireshark.install(folder)
    fields = [argument for name in names for argument in ("-e", name)]
    command = ["tshark", "-X", f"lua_script:{plugin}", "-r", str(path), "-T", "fields", *fields, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert "Lua" not in done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def untyped(packet: Packet) -> Packet:
    """The outer tag's EtherType left to Scapy."""
    return Ether(src=SWITCH_MAC, dst="03:ca:15:00:00:00") / packet


def test_every_way_to_the_header(tmp_path: Path) -> None:
    ways = [
        ether() / header(),
        untyped(Dot1Q(vlan=5) / header()),
        untyped(Dot1AD(vlan=7) / Dot1Q(vlan=5) / header()),
        Ether(bytes(ether() / header(lanes=[1, -2])) + bytes(18)),
        Ether(bytes(ether() / header(lanes=[])) + bytes(26)),
        ether() / header(payload_len=9),
    ]
    read = tshark(tmp_path, ways, [*(f"cais.{name}" for name in NAMES), "cais.lane", "cais.result"])
    decoded = decode(batch_of([bytes(way) for way in ways]))
    for i, (values, way) in enumerate(zip(read, ways, strict=True)):
        *numbers, lanes, result = values
        scapy = Ether(bytes(way))[CAIS]
        assert [int(each, 0) for each in numbers] == [getattr(scapy, name) for name in NAMES]
        assert [int(each, 0) for each in numbers] == list(decoded.header[i].tolist())
        assert [int(lane) for lane in lanes.split(",") if lane] == list(scapy.lanes or []) == decoded.lanes(i).tolist()
        assert result in ("01"[i in (1, 2)], str(i in (1, 2)))


@pytest.mark.parametrize("cooked", [CookedLinux, CookedLinuxV2])
def test_cooked_captures(cooked: type[Packet], tmp_path: Path) -> None:
    sender = bytes.fromhex(SWITCH_MAC.replace(":", ""))
    packet = cooked(lladdrlen=6, src=sender, proto=ETHERTYPE_CAIS, lladdrtype=1) / header()
    ((seq, lanes),) = tshark(tmp_path, [packet], ["cais.total_chunks", "cais.lane"])
    assert (seq, lanes.split(",")) == ("4", [str(lane) for lane in LANES])
    assert cooked(bytes(packet))[CAIS].lanes == LANES


def test_lanes_can_be_filtered(tmp_path: Path) -> None:
    packets = [ether() / header(lanes=[1, 2, 3] * 20), ether() / header(lanes=[4, -5, 6] * 20)]
    assert tshark(tmp_path, packets, ["frame.number"], "-Y", "cais.lane == -5") == [["2"]]
    assert tshark(tmp_path, packets, ["frame.number"], "-Y", "cais.lane_count == 60 && cais.reserved == 0xcafe") == [
        ["1"],
        ["2"],
    ]


@pytest.mark.parametrize(
    ("packet", "expert"),
    [
        (ether() / header(op_type=6), "op_type"),
        (ether() / header(payload_len=260), "payload_len"),
        (ether() / header(payload_len=254), "multiple"),
        (ether() / header(total_chunks=0), "total_chunks"),
        (ether() / header(chunk_id=4), "chunk_id"),
        (ether() / header(payload_len=8), "not_zero"),
        (ether() / header(reserved=0), "no_tag"),
        (ether() / b"1234567", "short"),
        (ether() / b"", "short"),
    ],
)
def test_what_is_wrong_is_said(packet: Packet, expert: str, tmp_path: Path) -> None:
    # Scapy would pad nothing here: the frame ends where the packet does.
    assert tshark(tmp_path, [packet], ["frame.number"], "-Y", f"cais.expert.{expert}") == [["1"]]
    all_of_them = " || ".join(f"cais.expert.{name}" for name in ("op_type", "payload_len", "multiple", "short"))
    assert tshark(tmp_path, [ether() / header()], ["frame.number"], "-Y", all_of_them) == []


def test_a_snaplen_is_no_error_of_the_frame(tmp_path: Path) -> None:
    whole, cut = ether() / header(), Ether(bytes(ether() / header())[:60])
    cut.wirelen = len(whole)
    assert tshark(tmp_path, [whole, cut], ["frame.number"], "-Y", "cais.expert.cut") == [["2"]]
    assert tshark(tmp_path, [whole, cut], ["frame.number"], "-Y", "cais.expert.payload_len") == []


def test_tshark_finds_it_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert wireshark.install() == tmp_path / ".local/lib/wireshark/plugins/cais.lua"
    plugins = subprocess.run(["tshark", "-G", "plugins"], capture_output=True, text=True, check=True, timeout=100)
    assert "cais.lua" in plugins.stdout
