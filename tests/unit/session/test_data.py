"""P4Data as plain values."""

from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4data_pb2
from cais_tools.session.data import Data, decode_data


def bits(value: int) -> p4data_pb2.P4Data:
    return p4data_pb2.P4Data(bitstring=bytes([value]))


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (p4data_pb2.P4Data(bitstring=b"\x01\x00"), 256),
        (p4data_pb2.P4Data(bool=True), True),
        (p4data_pb2.P4Data(enum="RED"), "RED"),
        (p4data_pb2.P4Data(enum_value=b"\x02"), 2),
        (p4data_pb2.P4Data(error="NoError"), "NoError"),
        (p4data_pb2.P4Data(struct=p4data_pb2.P4StructLike(members=[bits(1), bits(2)])), (1, 2)),
        (p4data_pb2.P4Data(header=p4data_pb2.P4Header(is_valid=True, bitstrings=[b"\x05"])), (5,)),
    ],
)
def test_plain_values(message: p4data_pb2.P4Data, value: Data) -> None:
    assert decode_data(message) == value


def test_what_has_no_plain_form() -> None:
    with pytest.raises(UsageError, match="header_stack"):
        decode_data(p4data_pb2.P4Data(header_stack=p4data_pb2.P4HeaderStack()))
