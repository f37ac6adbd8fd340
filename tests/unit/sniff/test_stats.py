"""`--stats`: packets and bytes by group, operation and port; losses and repetitions in the sequence."""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.sniff.stats import Stats, StatsReport
from cais_tools.wire.header import Op
from tests.unit.sniff.captures import frame
from tests.unit.sniff.traffic import GROUP, INTERFACES, aggregate, captured, contribution


def counted(frames: Sequence[bytes]) -> StatsReport:
    stats = Stats(INTERFACES)
    stats.feed(captured(frames))
    return stats.report()


def test_groups_and_operations() -> None:
    frames = [*aggregate(1), *aggregate(2), *aggregate(3, Op.BROADCAST), frame(1, group_id=9)]
    report = counted(frames)
    assert [(each.group_id, each.op, each.line.contributions, each.line.results) for each in report.groups] == [
        (GROUP, "allreduce", 6, 2),
        (GROUP, "broadcast", 3, 1),
        (9, "allreduce", 1, 0),
    ]
    assert report.total.packets == len(frames)
    assert report.total.bytes == sum(map(len, frames))


def test_rates() -> None:
    report = counted([contribution(seq, 0) for seq in range(101)])
    assert report.seconds == 0.1
    assert report.per_second(report.total.packets) == 1010
    assert counted([contribution(0, 0)]).per_second(1) is None


def test_senders() -> None:
    report = counted([*aggregate(1), *aggregate(2)[:3]])
    assert {each.sender: each.line.packets for each in report.ports} == {
        "rank 0": 2,
        "rank 1": 2,
        "rank 2": 2,
        "switch": 1,
    }


def test_gaps_and_repetitions_in_a_stream() -> None:
    report = counted([contribution(seq, 0) for seq in (0, 1, 2, 5, 6, 6, 7)])
    (stream,) = report.streams
    assert (stream.packets, stream.lost, stream.repeated) == (7, 2, 1)


def test_numbers_that_wrap_are_no_loss() -> None:
    (stream,) = counted([contribution(seq % 2**32, 0) for seq in range(2**32 - 3, 2**32 + 3)]).streams
    assert (stream.packets, stream.lost, stream.repeated) == (6, 0, 0)


def test_what_is_cut_off_or_too_short() -> None:
    stats = Stats(INTERFACES)
    stats.feed(captured([contribution(1, 0), contribution(2, 0)], cut=40))
    stats.feed(captured([contribution(3, 0)], cut=20))
    assert (stats.report().truncated, stats.report().malformed) == (2, 1)
