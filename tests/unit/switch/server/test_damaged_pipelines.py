"""P4Infos whose parts do not belong together, and JSON that is none, are refused before a request meets them."""

from __future__ import annotations

import pytest

from cais_tools.p4rt import p4info_pb2
from cais_tools.switch.server.bmv2.profile import _is_json_object
from cais_tools.switch.server.schema import build_schema
from cais_tools.switch.server.status import P4Error


def refused(p4info: p4info_pb2.P4Info) -> str:
    with pytest.raises(P4Error) as error:
        build_schema(p4info)
    return error.value.message


def test_an_action_profile_of_a_table_that_is_not_there() -> None:
    p4info = p4info_pb2.P4Info()
    p4info.action_profiles.add(table_ids=[7]).preamble.id = 5
    assert "refers to table 7" in refused(p4info)


@pytest.mark.parametrize("widths", [(7,), (16, -8), (8, 0)])
def test_a_controller_header_that_is_no_bytes(widths: tuple[int, ...]) -> None:
    p4info = p4info_pb2.P4Info()
    header = p4info.controller_packet_metadata.add()
    header.preamble.name = "packet_out"
    for number, width in enumerate(widths, 1):
        header.metadata.add(id=number, name=f"f{number}", bitwidth=width)
    assert "packet_out" in refused(p4info)


@pytest.mark.parametrize(("text", "answer"), [(b"{}", True), (b"[]", False), (b"", False), (b"[" * 100_000, False)])
def test_what_is_json_for_bmv2(text: bytes, answer: bool) -> None:
    assert _is_json_object(text) is answer
