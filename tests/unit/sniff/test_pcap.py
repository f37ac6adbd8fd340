"""Classic pcap files, and how files are opened."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff.files import open_files
from cais_tools.sniff.stream import CHUNK
from tests.unit.sniff.captures import START, frame, frames_of, pcap, read, times_of

FRAMES = [frame(i, lanes=[i] * (i % 5)) for i in range(40)]


@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_either_byte_order_and_unit_of_time(tmp_path: Path, order: str, nanoseconds: bool) -> None:
    source, batches, said = read(tmp_path / "x.pcap", pcap(FRAMES, order=order, nanoseconds=nanoseconds))
    assert frames_of(batches) == FRAMES
    assert times_of(batches) == [START * 10**9 + i * 1_000_000 for i in range(40)]
    assert [number for batch in batches for number in batch.number.tolist()] == list(range(1, 41))
    assert (said, source.damaged) == ([], False)
    assert source.interfaces[0].name == str(tmp_path / "x.pcap")


def test_records_of_one_size_and_of_many_across_chunks(tmp_path: Path) -> None:
    same = [frame(i, lanes=[1] * 64) for i in range(CHUNK // 150)]
    mixed = [frame(i, lanes=[i] * (i * 7 % 64)) for i in range(CHUNK // 150)]
    for frames in (same, mixed, same[:100] + mixed[:100] + same[:3000] + mixed[:50]):
        _, batches, said = read(tmp_path / "x.pcap", pcap(frames))
        assert frames_of(batches) == frames
        assert said == []


def test_a_record_larger_than_a_chunk(tmp_path: Path) -> None:
    huge = frame(1) + bytes(2 * CHUNK)
    _, batches, _ = read(tmp_path / "x.pcap", pcap([frame(0), huge, frame(2)], snaplen=4 * CHUNK))
    assert frames_of(batches) == [frame(0), huge, frame(2)]


def test_snaplen_is_told_by_the_two_lengths(tmp_path: Path) -> None:
    _, [batch], _ = read(tmp_path / "x.pcap", pcap(FRAMES, cut=40))
    assert batch.captured.tolist() == [min(40, len(each)) for each in FRAMES]
    assert batch.length.tolist() == [len(each) for each in FRAMES]


def test_no_packets(tmp_path: Path) -> None:
    source, batches, said = read(tmp_path / "x.pcap", pcap([]))
    assert (batches, said, source.damaged) == ([], [], False)


@pytest.mark.parametrize("missing", [1, 20, 41, 45])
def test_a_cut_off_last_record_is_said_and_the_others_are_read(tmp_path: Path, missing: int) -> None:
    frames = [frame(i, lanes=[1] * 8) for i in range(30)]
    source, batches, said = read(tmp_path / "x.pcap", pcap(frames)[:-missing])
    assert frames_of(batches) == frames[:-1]
    assert said == [f"{tmp_path}/x.pcap ends in the middle of record 30; the 29 before it are read"]
    assert not source.damaged


def test_a_length_that_makes_no_sense_ends_the_reading(tmp_path: Path) -> None:
    source, batches, said = read(tmp_path / "x.pcap", pcap(FRAMES) + b"\xff" * 16 + frame())
    assert frames_of(batches) == FRAMES
    assert source.damaged
    assert said == [
        f"{tmp_path}/x.pcap is damaged: record 41 says that it holds 4,294,967,295 bytes; nothing after it is read"
    ]


def test_gzip_with_several_members(tmp_path: Path) -> None:
    content = pcap(FRAMES)
    packed = gzip.compress(content[:500]) + gzip.compress(content[500:])
    _, batches, said = read(tmp_path / "x.pcap.gz", packed)
    assert (frames_of(batches), said) == (FRAMES, [])


def test_gzip_that_is_cut_off_or_broken(tmp_path: Path) -> None:
    packed = gzip.compress(pcap([frame(i, lanes=[i * 2654435761 % 2**31] * 64) for i in range(3000)]))
    source, batches, said = read(tmp_path / "x.gz", packed[:-2000])
    assert source.damaged
    assert len(said) == 1
    assert said[0].startswith(f"{tmp_path}/x.gz: the gzip stream is cut off, after ")
    assert frames_of(batches)[0] == frame(0, lanes=[0] * 64)
    with pytest.raises(UsageError, match="cannot read"):
        read(tmp_path / "y.gz", b"\x1f\x8bno gzip at all")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty: not even a file header"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends within its file header"),
        (b"GET / HTTP/1.1", "is no capture: it begins with 47 45 54 20"),
        (b"\n\r\r\n\x1c\0\0\0" + bytes(20), "its section header makes no sense"),
    ],
)
def test_what_is_no_capture(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read(tmp_path / "x.pcap", content)


def test_a_directory_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory") as error:
        open_files([str(tmp_path)], print)
    assert error.value.hint == f"its captures: -r {tmp_path}/*.pcap"
    with pytest.raises(UsageError, match="No such file"):
        open_files([str(tmp_path / "none")], print)
    with pytest.raises(UsageError, match="null"):
        open_files(["a\0b"], print)


def test_a_fifo_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    content = pcap(FRAMES)
    seen = threading.Event()

    def write() -> None:
        with path.open("wb", buffering=0) as fifo:
            fifo.write(content[:200])
            assert seen.wait(20)
            fifo.write(content[200:])

    writer = threading.Thread(target=write)
    writer.start()
    batches = open_files([str(path)], print).batches()
    first = next(batches)
    seen.set()
    assert frames_of([first, *batches]) == FRAMES
    writer.join()


def test_a_pipe_on_which_nothing_comes_can_be_left(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    fd = os.open(path, os.O_RDWR)
    os.write(fd, pcap([frame(0)]) + b"a beginning")
    asked: list[bool] = []
    said: list[str] = []
    source = open_files([str(path)], said.append, lambda: bool(asked.append(True) or len(asked) > 1))
    assert frames_of(list(source.batches())) == [frame(0)]
    assert said == []
    os.close(fd)
