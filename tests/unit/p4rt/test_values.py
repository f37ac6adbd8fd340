from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.p4rt.values import decode, encode


@pytest.mark.parametrize(
    ("value", "width", "data"), [(0, 9, b"\0"), (255, 8, b"\xff"), (256, 9, b"\x01\0"), (1, 128, b"\x01")]
)
def test_encoding_is_canonical(value: int, width: int, data: bytes) -> None:
    assert encode(value, width) == data


@given(st.integers(1, 256).flatmap(lambda width: st.tuples(st.integers(0, (1 << width) - 1), st.just(width))))
def test_round_trip_in_the_fewest_bytes(case: tuple[int, int]) -> None:
    value, width = case
    data = encode(value, width)
    assert decode(data) == value
    assert len(data) == 1 or data[0] != 0


@pytest.mark.parametrize(("value", "width"), [(-1, 8), (256, 8), (2, 1)])
def test_what_does_not_fit_is_refused(value: int, width: int) -> None:
    with pytest.raises(ValueError, match=r"fit|negative"):
        encode(value, width)


def test_servers_may_send_leading_zeros_or_nothing() -> None:
    assert decode(b"\0\0\x07") == 7
    assert decode(b"") == 0
