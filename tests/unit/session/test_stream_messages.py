from __future__ import annotations

import pytest

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.session.events import DigestList, PacketIn, StreamError
from cais_tools.session.stream_messages import acknowledge, decode_event, packet_out
from tests.unit.session.demo import demo_index

INDEX = demo_index()


def test_packet_out_fills_in_zeros() -> None:
    packet = packet_out(INDEX, b"frame", {"egress_port": 300}).packet
    assert packet.payload == b"frame"
    assert [(each.metadata_id, each.value) for each in packet.metadata] == [(1, b"\x01\x2c"), (2, b"\0")]


def test_metadata_without_a_header_is_refused() -> None:
    assert not packet_out(None, b"frame", {}).packet.metadata
    with pytest.raises(UsageError):
        packet_out(None, b"frame", {"egress_port": 1})


def test_packet_in_has_names() -> None:
    response = p4runtime_pb2.StreamMessageResponse()
    response.packet.payload = b"frame"
    response.packet.metadata.add(metadata_id=1, value=b"\x07")
    assert decode_event(INDEX, response) == PacketIn(b"frame", {"ingress_port": 7})
    assert decode_event(None, response) == PacketIn(b"frame", {"1": 7})


def test_digests_are_acknowledged() -> None:
    response = p4runtime_pb2.StreamMessageResponse()
    response.digest.digest_id = 51
    response.digest.list_id = 4
    response.digest.data.add().bitstring = b"\x01"
    event = decode_event(INDEX, response)
    assert isinstance(event, DigestList)
    assert (event.digest, event.list_id, len(event.data)) == ("learn", 4, 1)
    ack = acknowledge(response)
    assert ack is not None
    assert (ack.digest_ack.digest_id, ack.digest_ack.list_id) == (51, 4)


def test_stream_errors() -> None:
    response = p4runtime_pb2.StreamMessageResponse()
    response.error.canonical_code = 3
    response.error.message = "bad metadata"
    assert decode_event(INDEX, response) == StreamError("INVALID_ARGUMENT", "bad metadata")
    assert acknowledge(response) is None
