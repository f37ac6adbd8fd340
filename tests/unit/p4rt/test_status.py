from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.status import DETAILS_KEY, batch_status, code_name, decode_status, update_errors


def test_errors_travel_in_the_trailer() -> None:
    errors = [p4runtime_pb2.Error(), p4runtime_pb2.Error(canonical_code=6, message="there")]
    trailer = ((DETAILS_KEY, batch_status(errors).SerializeToString()),)
    assert update_errors(decode_status((("other", "x"), *trailer))) == errors


def test_no_details_are_no_errors() -> None:
    assert update_errors(decode_status(None)) == []
    assert update_errors(decode_status(((DETAILS_KEY, b"\xff\xff"),))) == []


def test_names_of_codes() -> None:
    assert code_name(6) == "ALREADY_EXISTS"
    assert code_name(99) == "code 99"
