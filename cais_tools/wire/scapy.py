"""The Scapy layer. `from cais_tools.wire.scapy import CAIS` is the one line for a Scapy shell.

>>> Ether() / CAIS(op_type="allreduce", group_id=0, layer_id=5, chunk_id=0, seq_num=7, lanes=[1, -2])

`payload_len` follows from the lanes where it is not given.
"""

# The scapy wheel carries no types that a strict checker could use.
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

from typing import ClassVar

from scapy.config import conf

# A host with a large routing table would need seconds for the import, and a layer needs no routes.
conf.route_autoload = False
conf.route6_autoload = False

from scapy.fields import (
    ByteEnumField,
    ByteField,
    ConditionalField,
    Field,
    FieldLenField,
    FieldListField,
    IntField,
    ShortField,
    SignedIntField,
)
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Padding, bind_layers

from cais_tools.wire.header import (
    ETHERTYPE_CAIS,
    HEADER_BYTES,
    HEADER_FIELDS,
    LANE_BYTES,
    SWITCH_MAC,
    Header,
    Op,
    lanes_in,
)

__all__ = ["CAIS"]


def _header_field(name: str, bits: int) -> Field:
    if name == "op_type":
        return ByteEnumField(name, 0, {op.value: op.label for op in Op})
    if name == "payload_len":
        return FieldLenField(name, None, fmt="I", length_of="lanes")
    if name == "reserved":
        return XTagField(name, 0)
    return {8: ByteField, 16: ShortField, 32: IntField}[bits](name, 0)


class XTagField(IntField):
    """The integrity tag, shown in hexadecimal."""

    def i2repr(self, pkt: Packet | None, x: int) -> str:
        return f"0x{x:08x}"


class CAIS(Packet):
    """Header and lanes: all the lanes that the frame carries, of which `payload_len` bytes are valid."""

    name = "CAIS"
    fields_desc: ClassVar = [
        *[_header_field(field.name, field.bits) for field in HEADER_FIELDS],
        ConditionalField(
            FieldListField("lanes", [], SignedIntField("lane", 0), length_from=lambda pkt: pkt.lane_bytes),
            lambda pkt: pkt.payload_len is None or pkt.payload_len > 0,
        ),
    ]
    lane_bytes = 0

    def pre_dissect(self, s: bytes) -> bytes:
        # Scapy takes this for its sign to show the bytes raw; Scapy 2.5 would make a header of a part of one.
        if s and len(s) < HEADER_BYTES:
            raise ValueError(f"{len(s)} bytes are no CAIS header")
        if s:
            self.lane_bytes = lanes_in(Header.unpack(s).payload_len, len(s) - HEADER_BYTES) * LANE_BYTES
        return s

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s

    def answers(self, other: Packet) -> bool:
        """A result answers every contribution to the same aggregate."""
        sender = getattr(self.underlayer, "src", SWITCH_MAC)
        return (
            isinstance(other, CAIS)
            and sender in (SWITCH_MAC, bytes.fromhex(SWITCH_MAC.replace(":", "")))
            and all(getattr(self, name) == getattr(other, name) for name in _AGGREGATE)
        )

    def hashret(self) -> bytes:
        return bytes([self.group_id]) + self.seq_num.to_bytes(4, "big")


_AGGREGATE = ("group_id", "seq_num", "op_type", "layer_id", "chunk_id")

bind_layers(Ether, CAIS, type=ETHERTYPE_CAIS)
bind_layers(Dot1Q, CAIS, type=ETHERTYPE_CAIS)
bind_layers(Dot1AD, CAIS, type=ETHERTYPE_CAIS)
bind_layers(CookedLinux, CAIS, proto=ETHERTYPE_CAIS)
bind_layers(CookedLinuxV2, CAIS, proto=ETHERTYPE_CAIS)
bind_layers(CAIS, Padding)
