"""Controller headers: packet-out messages to frames of the CPU port, and its frames to packet-ins. Sans I/O.

P4Runtime 1.4, sections 6.4.6 "ControllerPacketMetadata" and 16.1 "Packet I/O".
"""

from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.values import decode, encode
from cais_tools.switch.server.schema import HeaderSchema
from cais_tools.switch.server.status import invalid

__all__ = ["frame_of", "packet_in_of"]


def frame_of(packet: p4runtime_pb2.PacketOut, header: HeaderSchema | None) -> bytes:
    """The frame that enters at the CPU port. Raises P4Error when the metadata is not what the P4Info says."""
    fields = header.fields if header is not None else ()
    given: dict[int, bytes] = {}
    for metadata in packet.metadata:
        if metadata.metadata_id in given:
            raise invalid(f"metadata field id {metadata.metadata_id} is given twice")
        given[metadata.metadata_id] = metadata.value
    number = width = 0
    for field in fields:
        value = given.pop(field.id, b"")
        if not value:
            raise invalid(f"packet-out needs a value for {field.name} (metadata field id {field.id})")
        if decode(value) >> field.width:
            raise invalid(f"{field.name} = {decode(value):#x} does not fit into {field.width} bits")
        number = number << field.width | decode(value)
        width += field.width
    if given:
        raise invalid(f"unknown metadata field id {next(iter(given))}")
    return number.to_bytes(width // 8, "big") + packet.payload


def packet_in_of(frame: bytes, header: HeaderSchema | None) -> p4runtime_pb2.PacketIn:
    """The packet-in of a frame that left by the CPU port.

    A frame too short for the header that the P4Info promises comes as it is, with no metadata.
    """
    packet = p4runtime_pb2.PacketIn()
    fields = header.fields if header is not None else ()
    rest = sum(field.width for field in fields)
    length = rest // 8
    if len(frame) < length:
        packet.payload = frame
        return packet
    packet.payload = frame[length:]
    number = int.from_bytes(frame[:length], "big")
    for field in fields:
        rest -= field.width
        value = number >> rest & (1 << field.width) - 1
        packet.metadata.add(metadata_id=field.id, value=encode(value, field.width))
    return packet
