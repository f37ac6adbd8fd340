"""P4Data as plain values: what registers and digests hold (P4Runtime 1.4, section 8.5). Sans I/O."""

from __future__ import annotations

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4data_pb2, values

__all__ = ["Data", "decode_data"]

Data = int | bool | str | tuple["Data", ...]
"""Bits and serializable enums are integers; enums and errors their names; structs, tuples and headers their parts."""


def decode_data(message: p4data_pb2.P4Data) -> Data:
    """Raises UsageError for forms that no register and no digest has (unions, stacks)."""
    kind = message.WhichOneof("data")
    match kind:
        case "bitstring":
            return values.decode(message.bitstring)
        case "varbit":
            return values.decode(message.varbit.bitstring)
        case "enum_value":
            return values.decode(message.enum_value)
        case "bool" | "enum" | "error":
            return getattr(message, kind)
        case "tuple" | "struct":
            return tuple(decode_data(each) for each in getattr(message, kind).members)
        case "header":
            return tuple(values.decode(each) for each in message.header.bitstrings)
        case _:
            raise UsageError(f"the switch sent data of kind {kind}, which has no plain form")
