"""Capture files written, and their rotation under tcpdump's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff.batch import LinkType, batch_of
from cais_tools.sniff.dump import Rotation, Writer, parse_size
from tests.unit.sniff.captures import START, frame, frames_of, read, times_of

SIZE = 24 + 2 * (16 + len(frame()))  # a file header and two records


def write(path: Path, rotation: Rotation, count: int, *, seconds: int = 0) -> Writer:
    now = [1000.0]
    writer = Writer(str(path), rotation, LinkType.ETHERNET, clock=lambda: now[0])
    for i in range(count):
        writer.write(batch_of([frame(i)]))
        now[0] += seconds
    writer.close()
    return writer


def sequence_numbers(path: Path) -> list[int]:
    frames = frames_of(read(path, path.read_bytes())[1])
    return [int.from_bytes(each[22:26], "big") for each in frames]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_is_what_was_read(tmp_path: Path) -> None:
    frames = [frame(i, lanes=[i] * i) for i in range(9)]
    times = [START * 10**9 + i * 1_234_567 for i in range(9)]
    batch = batch_of(frames, time_ns=times, length=[len(each) + 5 for each in frames])
    path = tmp_path / "x.pcap"
    writer = Writer(str(path), Rotation(), LinkType.LINUX_SLL)
    writer.write(batch_of([], link_type=LinkType.LINUX_SLL))
    writer.write(batch_of(frames, time_ns=times, length=batch.length.tolist(), link_type=LinkType.LINUX_SLL))
    writer.close()
    source, batches, _ = read(path, path.read_bytes())
    assert (frames_of(batches), times_of(batches), writer.count) == (frames, times, 9)
    assert batches[0].length.tolist() == batch.length.tolist()
    assert source.interfaces[0].link_type == LinkType.LINUX_SLL


def test_next_file_when_one_is_larger_than_the_size(tmp_path: Path) -> None:
    write(tmp_path / "x", Rotation(size=SIZE - 1), 5)
    assert names(tmp_path) == ["x", "x1", "x2"]
    assert [sequence_numbers(tmp_path / name) for name in names(tmp_path)] == [[0, 1], [2, 3], [4]]


def test_a_ring_of_files_has_leading_zeros_and_begins_again(tmp_path: Path) -> None:
    write(tmp_path / "x", Rotation(size=SIZE - 1, files=11), 26)
    assert names(tmp_path) == [f"x{i:02d}" for i in range(11)]
    assert sequence_numbers(tmp_path / "x00") == [22, 23]
    assert sequence_numbers(tmp_path / "x02") == [4, 5]


def test_a_file_for_every_so_many_seconds(tmp_path: Path) -> None:
    write(tmp_path / "x%s", Rotation(seconds=10), 6, seconds=5)
    assert names(tmp_path) == ["x1000", "x1010", "x1020"]
    assert sequence_numbers(tmp_path / "x1010") == [2, 3]


def test_with_seconds_the_count_ends_the_capture(tmp_path: Path) -> None:
    writer = write(tmp_path / "x%s", Rotation(seconds=10, files=2), 9, seconds=5)
    assert names(tmp_path) == ["x1000", "x1010"]
    assert writer.full
    assert writer.count == 4


def test_with_seconds_and_size_the_count_changes_names_only(tmp_path: Path) -> None:
    writer = write(tmp_path / "x%s.", Rotation(seconds=10, size=30, files=3), 6, seconds=5)
    assert names(tmp_path) == ["x1000.0", "x1000.1", "x1010.0", "x1010.1", "x1020.0", "x1020.1"]
    assert not writer.full


@pytest.mark.parametrize(
    ("text", "size"),
    [("10", 10_000_000), ("64k", 65_536), ("2M", 2 << 20), ("1g", 1 << 30), ("999999", 999_999 * 10**6)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "k", "-1", "1x", "1kk", "1.5", "1000000", "²"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        parse_size(text)


def test_link_types_do_not_mix_and_places_that_cannot_be_written(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path / "x"), Rotation(), LinkType.ETHERNET)
    with pytest.raises(UsageError, match="link types 1 and 113"):
        writer.write(batch_of([frame()], link_type=LinkType.LINUX_SLL))
    writer.close()
    with pytest.raises(UsageError, match="cannot write"):
        Writer(str(tmp_path / "none" / "x"), Rotation(), LinkType.ETHERNET)
