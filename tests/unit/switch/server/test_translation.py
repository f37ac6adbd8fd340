"""Types that clients write as strings."""

from __future__ import annotations

import pytest

from cais_tools.p4rt import code_pb2
from cais_tools.switch.server import translation
from cais_tools.switch.server.status import P4Error
from cais_tools.switch.server.translation import Translation


@pytest.fixture
def strings() -> Translation:
    strings = Translation("port_t")
    strings.width = 3
    return strings


def refusal(strings: Translation, data: bytes) -> tuple[int, str]:
    with pytest.raises(P4Error) as refused:
        strings.number(data, "here")
    return refused.value.code, refused.value.message


def test_digits_are_that_number_and_others_get_one(strings: Translation) -> None:
    numbers = [strings.number(text, "here") for text in (b"2", b"eth0", b"eth1", b"0", b"eth0")]
    assert numbers == [2, 7, 6, 0, 7]
    assert [strings.text(number) for number in (2, 7, 6, 0, 5)] == [b"2", b"eth0", b"eth1", b"0", b"5"]


def test_numbers_that_are_taken_or_do_not_exist(strings: Translation) -> None:
    strings.number(b"eth0", "here")
    assert refusal(strings, b"7") == (code_pb2.RESOURCE_EXHAUSTED, "here: 7 already stands for 'eth0'")
    for text in (b"8", b"07", b"9" * 5000):
        code, message = refusal(strings, text)
        assert (code, "is no number of 3 bits" in message) == (code_pb2.INVALID_ARGUMENT, True)
    assert refusal(strings, b"")[0] == refusal(strings, b"\xff")[0] == code_pb2.INVALID_ARGUMENT


def test_there_is_no_room_for_more(strings: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        strings.number(f"eth{number}".encode(), "here")
    assert refusal(strings, b"eth8") == (code_pb2.RESOURCE_EXHAUSTED, "here: all 8 values of port_t are taken")
    monkeypatch.setattr(translation, "_MOST", 8)
    assert "has 8 values already" in refusal(strings, b"eth8")[1]
