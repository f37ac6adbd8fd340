"""Several captures as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff.batch import Batch, batch_of
from cais_tools.sniff.files import open_files
from cais_tools.sniff.merge import merged
from tests.unit.sniff.captures import frame, frames_of, pcap


def capture(times: list[int], interface: int, link_type: int = 1) -> Batch:
    frames = [f"{interface}:{time}".encode() for time in times]
    return batch_of(frames, time_ns=times, interface=interface, link_type=link_type)


def test_order_of_time_over_batches() -> None:
    one = [capture([1, 4, 5], 0), capture([9, 20], 0)]
    two = [capture([2, 3], 1), capture([6, 10, 30], 1), capture([31], 1)]
    three = [capture([], 2)]
    batches = list(merged([iter(one), iter(two), iter(three)]))
    times = [time for batch in batches for time in batch.time_ns.tolist()]
    assert times == sorted(times)
    assert len(times) == 11
    assert [number for batch in batches for number in batch.number.tolist()] == list(range(1, 12))
    assert all(
        batch.frame(i) == f"{batch.interface[i]}:{batch.time_ns[i]}".encode()
        for batch in batches
        for i in range(len(batch))
    )


def test_small_disorder_within_a_capture_loses_nothing() -> None:
    batches = merged([iter([capture([5, 3, 9, 8], 0), capture([1, 2], 0)]), iter([capture([4, 4, 7], 1)])])
    assert sorted(time for batch in batches for time in batch.time_ns.tolist()) == [1, 2, 3, 4, 4, 5, 7, 8, 9]


def test_link_types_stay_apart() -> None:
    batches = list(merged([iter([capture([1, 2, 5], 0)]), iter([capture([3, 4, 6], 1, link_type=113)])]))
    assert [(batch.link_type, batch.time_ns.tolist()) for batch in batches if len(batch)] == [
        (1, [1, 2]), (113, [3, 4]), (1, [5]), (113, [6])
    ]  # fmt: skip


def test_files_are_interfaces(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.pcap", "b.pcap")]
    for i, path in enumerate(paths):
        Path(path).write_bytes(pcap([frame(10 * i + k) for k in range(3)]))
    source = open_files(paths, print)
    batches = list(source.batches())
    assert [interface.name for interface in source.interfaces] == paths
    assert frames_of(batches) == [frame(n) for n in (0, 10, 1, 11, 2, 12)]
    assert [i for batch in batches for i in batch.interface.tolist()] == [0, 1, 0, 1, 0, 1]
    with pytest.raises(UsageError, match="given twice"):
        open_files([paths[0], paths[0]], print)
