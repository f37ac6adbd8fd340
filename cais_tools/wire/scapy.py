"""The Scapy layer. `from cais_tools.wire.scapy import CAIS` is the one line for a Scapy shell.

>>> Ether() / CAIS(op_type="allreduce", group_id=0, layer_id=5, chunk_id=0, seq_num=7, payload_len=8, lanes=[1, -2])
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
    FieldListField,
    IntField,
    ShortField,
    SignedIntField,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Padding, bind_layers

from cais_tools.wire.header import ETHERTYPE_CAIS, HEADER_BYTES, HEADER_FIELDS, LANE_BYTES, Op

__all__ = ["CAIS"]


def _header_field(name: str, bits: int) -> Field:
    if name == "op_type":
        return ByteEnumField(name, 0, {op.value: op.label for op in Op})
    if name == "reserved":
        return XTagField(name, 0)
    return {8: ByteField, 16: ShortField, 32: IntField}[bits](name, 0)


class XTagField(IntField):
    """The integrity tag, shown in hexadecimal."""

    def i2repr(self, pkt: Packet | None, x: int) -> str:
        return f"0x{x:08x}"


class CAIS(Packet):
    """Header and lanes. The number of lanes is taken from the bytes that are there, not from `payload_len`."""

    name = "CAIS"
    fields_desc: ClassVar = [
        *[_header_field(field.name, field.bits) for field in HEADER_FIELDS],
        ConditionalField(
            FieldListField("lanes", [], SignedIntField("lane", 0), length_from=lambda pkt: pkt.lane_bytes),
            lambda pkt: pkt.payload_len > 0,
        ),
    ]
    lane_bytes = 0

    def pre_dissect(self, s: bytes) -> bytes:
        self.lane_bytes = max(0, len(s) - HEADER_BYTES) // LANE_BYTES * LANE_BYTES
        return s

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s

    def answers(self, other: Packet) -> bool:
        """A result answers every contribution to the same packet of the same group."""
        return (
            isinstance(other, CAIS)
            and self.group_id == other.group_id
            and self.seq_num == other.seq_num
            and self.op_type == other.op_type
        )

    def hashret(self) -> bytes:
        return bytes([self.group_id]) + self.seq_num.to_bytes(4, "big")


bind_layers(Ether, CAIS, type=ETHERTYPE_CAIS)
bind_layers(Dot1Q, CAIS, type=ETHERTYPE_CAIS)
bind_layers(CAIS, Padding)
