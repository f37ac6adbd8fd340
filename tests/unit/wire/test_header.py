from __future__ import annotations

import pytest

from cais_tools.wire.header import HEADER_BYTES, HEADER_FIELDS, Header, Op, frame_bytes, group_mac, lanes_in


def test_header_is_twenty_bytes_in_the_order_of_the_design() -> None:
    assert HEADER_BYTES == 20
    assert [field.name for field in HEADER_FIELDS] == list(Header._fields)
    header = Header(1, 2, 0x0304, 0x0506, 0x0708, 0x090A0B0C, 0x0D0E0F10, 0x11121314)
    assert header.pack() == bytes(range(1, 0x15))
    assert Header.unpack(b"??" + header.pack(), 2) == header


def test_p4_program_has_the_same_header(p4_source: dict[str, str]) -> None:
    declaration = p4_source["headers.p4"].split("header cais_t {")[1].split("}")[0]
    words = [line.split("//")[0].replace(";", "").split() for line in declaration.splitlines()]
    fields = [(name, int(width.removeprefix("bit<").removesuffix(">"))) for width, name in filter(None, words)]
    assert fields == [tuple(field) for field in HEADER_FIELDS]


def test_p4_program_has_the_same_operations(p4_source: dict[str, str]) -> None:
    declaration = p4_source["headers.p4"].split("enum bit<8> Op {")[1].split("}")[0]
    values = dict(line.replace(",", "").replace(" ", "").split("=") for line in declaration.strip().splitlines())
    assert {name: int(value) for name, value in values.items()} == {op.name: op.value for op in Op}


@pytest.mark.parametrize(("op", "label"), [(Op.ALLREDUCE, "allreduce"), (Op.ALLREDUCE_MAX, "allreduce-max")])
def test_labels_are_those_of_the_command_line(op: Op, label: str) -> None:
    assert op.label == label


def test_only_sums_and_copies_are_linear() -> None:
    assert [op for op in Op if op.is_linear] == [Op.ALLREDUCE, Op.ALLGATHER, Op.BROADCAST]


def test_frame_sizes() -> None:
    assert [frame_bytes(lanes) for lanes in (0, 32, 64, 256)] == [34, 162, 290, 1058]
    assert group_mac(255) == "03:ca:15:00:00:ff"


@pytest.mark.parametrize(
    ("payload_len", "body", "lanes"),
    [
        (0, 256, 0),  # header-only
        (256, 256, 64),
        (12, 256, 64),  # the last packet of a tensor: all lanes are there
        (12, 26, 3),  # padded to 60 bytes by Ethernet
        (10, 26, 3),
        (4000, 26, 6),  # more is promised than is there
        (256, 7, 1),  # cut off
    ],
)
def test_lanes_behind_a_header(payload_len: int, body: int, lanes: int) -> None:
    assert lanes_in(payload_len, body) == lanes
