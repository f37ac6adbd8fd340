"""`--expect`: what differs, by field, and what it most likely comes from."""

from __future__ import annotations

from typing import Any

import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff.batch import CaptureInterface, LinkType, batch_of
from cais_tools.sniff.decode import decode
from cais_tools.sniff.expect import Expect, Expectation, ExpectReport
from tests.unit.sniff import captures
from tests.unit.sniff.traffic import INTERFACES, RANKS, captured, contribution, result

RIGHT = "group=1,layer=5,chunk=0-7,op=allreduce"


def frame(seq: int, fields: dict[str, int] | None = None) -> bytes:
    header: Any = fields or {}
    return captures.frame(seq, **header)


def compared(frames: list[bytes], expected: str) -> ExpectReport:
    expect = Expect(Expectation.parse(expected), INTERFACES)
    expect.feed(captured(frames))
    return expect.report()


def test_what_is_as_expected_passes() -> None:
    report = compared([frame(seq) for seq in range(5)], RIGHT)
    assert report.passed
    assert (report.packets, report.differing, report.counts) == (5, 0, [])


def test_nothing_captured_is_no_pass() -> None:
    assert not compared([], RIGHT).passed


@pytest.mark.parametrize(
    ("wrong", "field", "value", "expected"),
    [
        ({"layer_id": 6}, "layer_id", "6", "5"),
        ({"chunk_id": 8}, "chunk_id", "8", "0-7"),
        ({"op_type": 3}, "op_type", "allreduce-max", "allreduce"),
        ({"group_id": 2}, "group_id", "2", "1"),
    ],
)
def test_the_field_that_differs_is_named(wrong: dict[str, int], field: str, value: str, expected: str) -> None:
    report = compared([frame(1), frame(2, wrong), frame(3, wrong)], RIGHT)
    assert (report.passed, report.differing) == (False, 2)
    (count,) = report.counts
    assert (count.difference.field, count.difference.value, count.difference.expected) == (field, value, expected)
    assert (count.packets, count.first) == (2, 2)


@pytest.mark.parametrize(
    ("wrong", "expected", "cause"),
    [
        ({"group_id": 2}, RIGHT, "group mixed up"),
        ({"layer_id": 0x0500}, RIGHT, "byte order? 5 with its bytes swapped"),
        ({"layer_id": 7, "chunk_id": 5}, "layer=5,chunk=7", "layer_id and chunk_id are mixed up"),
        ({"group_id": 0, "op_type": 1}, RIGHT, "byte order? op_type and group_id are exchanged"),
    ],
)
def test_typical_causes(wrong: dict[str, int], expected: str, cause: str) -> None:
    report = compared([frame(1, wrong)], expected)
    assert cause in {count.difference.cause for count in report.counts}


def at_ports(ports: list[int], expected: str) -> ExpectReport:
    interfaces = [CaptureInterface(f"eth{port}", LinkType.ETHERNET, port) for port in ports]
    expect = Expect(Expectation.parse(expected), interfaces)
    frames = [contribution(1, rank) for rank in range(len(ports))]
    expect.feed(decode(batch_of(frames, interface=list(range(len(ports))))))
    return expect.report()


def test_ports_of_the_members() -> None:
    assert at_ports([1, 2, 3], "ports=1-3").passed
    report = at_ports([1, 2], "ports=1-3")
    assert (report.passed, report.silent) == (False, ["port 3"])


def test_ports_counted_from_0() -> None:
    report = at_ports([2, 3, 4], "ports=1-3")
    assert report.cause == "ports are counted from 0: each is one more than expected"
    assert [count.difference.cause for count in report.counts] == ["ports are counted from 0?"]


def test_without_ports_of_interfaces_ranks_tell() -> None:
    report = compared([contribution(1, 0), contribution(1, 2), result(1)], "ports=1-3")
    assert report.silent == ["rank 1 (port 2)"]
    every = compared([contribution(1, rank) for rank in range(RANKS)], "ports=1,2")
    assert [count.difference.value for count in every.counts] == ["rank 2"]


def test_lists_go_on_behind_a_comma() -> None:
    expectation = Expectation.parse("chunk=1,3-4,op=broadcast,3,ports=1,2,7")
    assert expectation.ports == (1, 2, 7)
    assert expectation.fields["chunk_id"].parts == ((1, 1), (3, 4))
    assert [value in expectation.fields["op_type"] for value in (2, 3, 0)] == [True, True, False]


@pytest.mark.parametrize(
    "text", ["", "5", "grup=1", "group=", "group=300", "group=a", "ports=0-3", "chunk=5-3", "op=add"]
)
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Expectation.parse(text)
