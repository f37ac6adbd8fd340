"""Hash algorithms against published check values (the CRC of "123456789") and worked examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.switch.hashing import ALGORITHMS
from tests.unit.switch.programs import const, engine_for, field, minimal, table

CHECK = b"123456789"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crc16", 0xBB3D),
        ("crc32", 0xCBF43926),
        ("crcCCITT", 0x29B1),
        ("identity", 0x3132333435363738),
        ("crc16_custom", 0xBB3D),
        ("crc32_custom", 0xCBF43926),
        ("crc8_custom", 0xF4),
        ("xxh64", 0x8CB841DB40E6AE83),
        ("bmv2_hash", 0x8CB841DB40E6AE83),
        ("toeplitz", 0),
        ("xor16", 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900),
        ("xor32", 0x31323334 ^ 0x35363738 ^ 0x39000000),
    ],
)
def test_check_values(name: str, value: int) -> None:
    assert ALGORITHMS[name]()(CHECK) == value


def test_internet_checksum_of_an_ipv4_header() -> None:
    header = bytes.fromhex("4500 0073 0000 4000 4011 0000 c0a8 0001 c0a8 00c7")
    assert ALGORITHMS["csum16"]()(header) == 0xB861


@given(st.binary(max_size=41))
def test_internet_checksum_is_the_complement_of_the_sum(data: bytes) -> None:
    padded = data + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(padded[place : place + 2]) for place in range(0, len(padded), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert ALGORITHMS["csum16"]()(data) == total ^ 0xFFFF


@given(st.integers(0, 255), st.integers(0, 255), st.booleans())
def test_the_checksum_in_generated_code(a: int, c: int, whole_words: bool) -> None:
    """Fields that fill whole 16-bit words are added up without making bytes of them."""
    inputs = [field("h", "a"), field("h", "c")] if whole_words else [field("h", "a")]
    program = minimal()
    program["calculations"] = [{"name": "sum", "id": 0, "algo": "csum16", "input": inputs}]
    checksum = {"name": "check", "id": 0, "target": ["h", "b"], "type": "generic", "calculation": "sum"}
    program["checksums"] = [{**checksum, "verify": False, "update": True, "if_cond": None}]
    engine = engine_for(program)
    assert ("internet_checksum(" in engine.source) is whole_words
    (queued,) = engine.process_ingress(1, [bytes([a, 0, 0, c])])
    expected = ALGORITHMS["csum16"]()(bytes([a, c] if whole_words else [a]))
    assert engine.process_egress(queued) == bytes([a, *expected.to_bytes(2, "big"), c])


def test_algorithms_with_a_state_of_their_own() -> None:
    first, second = ALGORITHMS["round_robin"](), ALGORITHMS["round_robin"]()
    assert [first(b"a"), first(b"a"), second(b"a"), first(b"b")] == [0, 1, 0, 2]
    consistent = ALGORITHMS["round_robin_consistent"]()
    assert [consistent(each) for each in (b"a", b"b", b"a", b"c", b"b")] == [0, 1, 0, 2, 1]


def test_a_reset_of_the_engine_starts_round_robin_anew() -> None:
    program = minimal()
    program["calculations"] = [{"name": "next", "id": 0, "algo": "round_robin", "input": [field("h", "a")]}]
    parameters = [field("h", "a"), const(0), {"type": "calculation", "value": "next"}, const(256)]
    step = {"op": "modify_field_with_hash_based_offset", "parameters": parameters}
    table(program, "t", [], {"act": ([], [step])}, default="act")
    engine = engine_for(program)

    def sent() -> list[bytes | None]:
        return [engine.process_egress(each) for each in engine.process_ingress(1, [b"\7" * 4] * 3)]

    expected = [bytes([number, 7, 7, 7]) for number in range(3)]
    assert sent() == expected
    engine.reset()
    assert sent() == expected
