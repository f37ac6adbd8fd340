"""Filters by field, by expression, by direction, and the limit of -c."""

from __future__ import annotations

import numpy as np
import pytest

from cais_tools.errors import UsageError
from cais_tools.sniff import bpf
from cais_tools.sniff.batch import Batch, CaptureInterface, Direction, batch_of
from cais_tools.sniff.bpf import Expression, is_expression
from cais_tools.sniff.decode import decode
from cais_tools.sniff.filters import FieldFilter, parse_ops, parse_ranges
from cais_tools.sniff.sieve import Sieve
from tests.needs import needs_libpcap
from tests.unit.sniff.captures import ETHERNET, frame

OTHER = ETHERNET + b"\x08\x00" + bytes(46)


class Given:
    """A source of batches that are at hand."""

    damaged = False

    def __init__(self, *batches: Batch, names: tuple[str, ...] = ("veth1", "veth2")) -> None:
        self.interfaces = [CaptureInterface(name, 1) for name in names]
        self._batches = batches

    def batches(self):
        yield from self._batches


def passed(sieve: Sieve) -> list[int]:
    return [int(seq) for each in sieve.passed() for seq in each.decoded.header["seq_num"]]


def test_ranges() -> None:
    ranges = parse_ranges(" 0-3, 7 ,0x10-0x1F", option="--seq", most=255)
    assert ranges.parts == ((0, 3), (7, 7), (16, 31))
    assert ranges.mask(np.array([0, 4, 7, 31, 32])).tolist() == [True, False, True, True, False]
    assert 2 in ranges
    assert 5 not in ranges


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'' is no number"),
        ("1,", "'' is no number"),
        ("a", "'a' is no number"),
        ("-1", "'-1' is no number"),
        ("3-1", "3-1 is empty"),
        ("256", "256 is out of range"),
        ("0-256", "0-256 is out of range"),
        ("²", "'²' is no number"),
    ],
)
def test_what_is_no_list_of_numbers(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_ranges(text, option="--group", most=255)


def test_operations_by_name_or_number() -> None:
    assert parse_ops("allreduce, ALLREDUCE_MAX,5-9", option="--op").parts == ((0, 0), (3, 3), (5, 9))
    with pytest.raises(UsageError, match="no operation 'sum'") as error:
        parse_ops("sum", option="--op")
    assert "allreduce-max" in str(error.value.hint)


def test_fields_are_all_wanted() -> None:
    decoded = decode(batch_of([frame(i, op_type=i % 3, chunk_id=i) for i in range(12)]))
    wanted = FieldFilter.parse(op="broadcast", chunk="0-5,11", group="1", layer="5", seq="3-11")
    assert decoded.header["seq_num"][wanted.mask(decoded, [])].tolist() == [5, 11]
    assert not FieldFilter.parse()


def test_ports_are_those_of_the_mapping() -> None:
    source = Given(batch_of([frame(i) for i in range(4)], interface=[0, 1, 2, 1]), names=("veth1", "veth2", "veth3"))
    sieve = Sieve(source, fields=FieldFilter.parse(port="2-3"), ports={"veth1": 1, "veth2": 3})
    assert passed(sieve) == [1, 3]
    assert [interface.port for interface in source.interfaces] == [1, 3, None]
    with pytest.raises(UsageError, match="port 0 does not exist"):
        FieldFilter.parse(port="0")
    with pytest.raises(UsageError, match="out of range"):
        FieldFilter.parse(port="0-3")


def test_counts_of_each_kind() -> None:
    sieve = Sieve(Given(batch_of([frame(1), OTHER, frame(2)[:20], frame(3)])), fields=FieldFilter.parse(seq="3"))
    [only] = list(sieve.passed())
    counts = sieve.counts
    assert (counts.captured, counts.cais, counts.malformed, counts.passed, counts.other) == (4, 2, 1, 1, 1)
    assert [only.batch.frame(i) for i in range(len(only.batch))] == [frame(3)]


def test_without_filters_by_field_everything_is_written() -> None:
    frames = [frame(1), OTHER, frame(2)[:20]]
    [only] = list(Sieve(Given(batch_of(frames))).passed())
    assert [only.batch.frame(i) for i in range(3)] == frames


@pytest.mark.parametrize(("all_records", "captured", "shown"), [(False, 4, [1, 2]), (True, 2, [1])])
def test_the_limit_counts_what_is_shown_or_written(all_records: bool, captured: int, shown: list[int]) -> None:
    frames = [frame(1), OTHER, OTHER, frame(2), OTHER, frame(3)]
    sieve = Sieve(Given(batch_of(frames), batch_of(frames)), limit=2, all_records=all_records)
    assert passed(sieve) == shown
    assert sieve.counts.captured == captured


def test_the_limit_reaches_over_batches_and_filters() -> None:
    batches = [batch_of([frame(3 * i + k) for k in range(3)], first=3 * i + 1) for i in range(4)]
    sieve = Sieve(Given(*batches), fields=FieldFilter.parse(seq="1,4,7,10"), limit=3, all_records=True)
    assert passed(sieve) == [1, 4, 7]
    assert sieve.counts.captured == 8


def test_snaplen_and_direction() -> None:
    batch = batch_of([frame(1), frame(2)], direction=[Direction.IN, Direction.OUT])
    [only] = list(Sieve(Given(batch), snaplen=40, direction=Direction.OUT).passed())
    assert only.decoded.header["seq_num"].tolist() == [2]
    assert only.decoded.truncated.tolist() == [True]
    with pytest.raises(UsageError, match="veth1 does not say which way"):
        list(Sieve(Given(batch_of([frame(1)])), direction=Direction.IN).passed())


@needs_libpcap
def test_expressions_in_user_space() -> None:
    pytest.importorskip("ctypes")
    tagged = frame(2, bytes.fromhex("81000005"))
    batch = batch_of([frame(1), tagged, OTHER])
    assert Expression("ether proto 0x88b5").matches(batch).tolist() == [True, False, False]
    assert Expression("vlan 5 and ether proto 0x88b5").matches(batch).tolist() == [False, True, False]
    assert Expression("not vlan").matches(batch).tolist() == [True, False, True]
    assert Expression("greater 60").matches(batch).tolist() == [len(each) >= 60 for each in (frame(1), tagged, OTHER)]
    with pytest.raises(UsageError, match="syntax error"):
        Expression("foo bar").matches(batch)


@needs_libpcap
def test_where_an_expression_is_evaluated() -> None:
    for text in ("vlan", "ether[14] = 0", "ether proto 0x8100", "not vlan 5", "ether proto \\0x88A8"):
        assert not Expression(text).for_kernel, text
    for text in ("ether proto 0x88b5", "ether src 02:ca:15:00:00:00", "greater 100"):
        assert Expression(text).for_kernel, text


def test_words_that_begin_an_expression() -> None:
    assert all(map(is_expression, ("ether", "not", "(", "!", "VLAN", "ether[12:2]=0")))
    assert not any(map(is_expression, ("eth0", "veth1", "foo")))


def test_without_libpcap_one_line_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    bpf._libpcap.cache_clear()
    monkeypatch.setattr(bpf, "_NAMES", ("libnone.so.9",))
    try:
        with pytest.raises(UsageError, match=r"apt install libpcap0\.8"):
            Expression("vlan").program(1)
    finally:
        bpf._libpcap.cache_clear()
