"""Packets, digests and notifications on the stream, with names (P4Runtime 1.4, section 16). Sans I/O."""

from __future__ import annotations

from collections.abc import Mapping

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4runtime_pb2, values
from cais_tools.p4rt.p4info import P4InfoIndex, UnknownName
from cais_tools.p4rt.status import code_name
from cais_tools.session.events import DigestList, Event, IdleTimeout, PacketIn, StreamError
from cais_tools.session.values import Value, encode_value

__all__ = ["acknowledge", "decode_event", "packet_out"]


def packet_out(
    index: P4InfoIndex | None, payload: bytes, metadata: Mapping[str, Value]
) -> p4runtime_pb2.StreamMessageRequest:
    """A PacketOut. Metadata that is not given is 0; without a `packet_out` header there is none."""
    message = p4runtime_pb2.PacketOut(payload=payload)
    if index is not None and any(
        each.preamble.name == "packet_out" for each in index.message.controller_packet_metadata
    ):
        header = index.controller_header("packet_out")
        given = {index.metadata(header, name).id: value for name, value in metadata.items()}
        for field in header.metadata:
            data = encode_value(given.get(field.id, 0), field.bitwidth, field.name)
            message.metadata.append(p4runtime_pb2.PacketMetadata(metadata_id=field.id, value=data))
    elif metadata:
        raise UsageError("the program has no packet_out header", hint="give no metadata")
    return p4runtime_pb2.StreamMessageRequest(packet=message)


def decode_event(index: P4InfoIndex | None, response: p4runtime_pb2.StreamMessageResponse) -> Event | None:
    """The event of a response; None for kinds that a newer P4Runtime may bring."""
    match response.WhichOneof("update"):
        case "packet":
            return PacketIn(response.packet.payload, _metadata(index, response.packet))
        case "digest":
            digest = response.digest
            return DigestList(_digest_name(index, digest.digest_id), digest.list_id, tuple(digest.data))
        case "idle_timeout_notification":
            return IdleTimeout(tuple(response.idle_timeout_notification.table_entry))
        case "error":
            return StreamError(code_name(response.error.canonical_code), response.error.message)
        case _:
            return None


def acknowledge(response: p4runtime_pb2.StreamMessageResponse) -> p4runtime_pb2.StreamMessageRequest | None:
    """The DigestListAck that a digest wants."""
    if response.WhichOneof("update") != "digest":
        return None
    digest = response.digest
    ack = p4runtime_pb2.DigestListAck(digest_id=digest.digest_id, list_id=digest.list_id)
    return p4runtime_pb2.StreamMessageRequest(digest_ack=ack)


def _metadata(index: P4InfoIndex | None, packet: p4runtime_pb2.PacketIn) -> dict[str, int]:
    names: dict[int, str] = {}
    if index is not None:
        for header in index.message.controller_packet_metadata:
            if header.preamble.name == "packet_in":
                names = {field.id: field.name for field in header.metadata}
    return {names.get(each.metadata_id, str(each.metadata_id)): values.decode(each.value) for each in packet.metadata}


def _digest_name(index: P4InfoIndex | None, digest_id: int) -> str:
    try:
        return str(digest_id) if index is None else index.digest(digest_id).preamble.name
    except UnknownName:
        return str(digest_id)
