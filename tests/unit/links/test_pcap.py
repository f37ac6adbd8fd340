"""pcap files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from cais_tools.errors import Refused, UsageError
from cais_tools.links.pcap import PcapWriter, RecordingLink, read_pcap
from tests.unit.links.memory import MemoryLink


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    with PcapWriter(path) as writer:
        writer.write([b"one", b"two" * 500], timestamp_ns=1_700_000_000_123_456_789)
        writer.write([b"three"], timestamp_ns=5)
    assert list(read_pcap(path)) == [
        (1_700_000_000_123_456_789, b"one"),
        (1_700_000_000_123_456_789, b"two" * 500),
        (5, b"three"),
    ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_files_of_others(tmp_path: Path, order: str) -> None:
    path = tmp_path / "b.pcap"
    header = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(header + struct.pack(order + "IIII", 7, 42, 4, 4) + b"abcd")
    assert list(read_pcap(path)) == [(7_000_042_000, b"abcd")]


def test_what_scapy_writes_and_reads(tmp_path: Path) -> None:
    utils = pytest.importorskip("scapy.utils")
    path = tmp_path / "c.pcap"
    with PcapWriter(path) as writer:
        writer.write([b"\xff" * 60], timestamp_ns=10**18 + 1)
    with utils.RawPcapReader(str(path)) as reader:
        ((frame, metadata),) = list(reader)
    assert frame == b"\xff" * 60
    assert (metadata.sec, metadata.usec) == (10**9, 1)


@pytest.mark.parametrize(
    "data",
    [b"", b"not a pcap file, but long enough", struct.pack("!IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 113)],
    ids=["empty", "text", "Linux cooked"],
)
def test_no_pcap(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "d.pcap"
    path.write_bytes(data)
    with pytest.raises(Refused, match="no pcap file of Ethernet"):
        list(read_pcap(path))


@pytest.mark.parametrize(("cut", "says"), [(1, "middle of a frame"), (5, "middle of a record")])
def test_a_file_that_ends_early(tmp_path: Path, cut: int, says: str) -> None:
    path = tmp_path / "e.pcap"
    with PcapWriter(path) as writer:
        writer.write([b"abcd"])
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(Refused, match=says):
        list(read_pcap(path))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        list(read_pcap(tmp_path / "none.pcap"))
    with pytest.raises(UsageError, match="No such file"):
        PcapWriter(tmp_path / "none" / "f.pcap")


def test_a_recording_link_writes_both_directions(tmp_path: Path) -> None:
    memory, path = MemoryLink(), tmp_path / "g.pcap"
    with PcapWriter(path) as writer:
        link = RecordingLink(memory, writer)
        link.send([b"a"])
        memory.arriving = [b"b"]
        assert link.recv() == [b"b"]
        link.send_matrix(np.array([[1, 2], [3, 4]], np.uint8))
        link.close()
    assert [frame for _, frame in read_pcap(path)] == [b"a", b"b", b"\1\2", b"\3\4"]
    assert memory.closed


def test_frames_pass_when_the_recording_has_no_room(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    behind = MemoryLink()
    with PcapWriter(tmp_path / "f.pcap") as writer, Path("/dev/full").open("wb") as full:
        writer._file.close()  # pyright: ignore[reportPrivateUsage]
        writer._file = full  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        link = RecordingLink(behind, writer)
        assert [link.send([b"one"]), link.send([b"two"])] == [1, 1]
    assert [record.getMessage() for record in caplog.records] == [
        f"the recording of {link.name} ends here: No space left on device"
    ]


def test_a_file_that_has_no_room_at_all() -> None:
    with pytest.raises(UsageError, match="cannot write /dev/full: No space left on device"):
        PcapWriter(Path("/dev/full"))
