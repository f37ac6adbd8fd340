"""P4Data as plain values: what registers and digests hold (P4Runtime 1.4, section 8.5). Sans I/O."""

from __future__ import annotations

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4data_pb2, p4types_pb2, values
from cais_tools.session.values import Value, encode_value, to_int

__all__ = ["Data", "decode_data", "encode_data"]

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


def encode_data(
    spec: p4types_pb2.P4DataTypeSpec, types: p4types_pb2.P4TypeInfo, value: Value, name: str
) -> p4data_pb2.P4Data:
    """What a cell of this type holds; `name` says whose value it is. Raises UsageError.

    An `int<W>` takes negative numbers too. Structs and tuples have no plain form for writing.
    """
    kind = spec.WhichOneof("type_spec")
    if kind == "new_type":
        return encode_data(types.new_types[spec.new_type.name].original_type, types, value, name)
    if kind == "bool":
        return p4data_pb2.P4Data(bool=bool(to_int(value, 1, name)))
    if kind != "bitstring":
        raise UsageError(f"{name} holds data of kind {kind}, which has no plain form")
    if spec.bitstring.WhichOneof("type_spec") == "int":
        return p4data_pb2.P4Data(bitstring=_signed(value, spec.bitstring.int.bitwidth, name))
    width = spec.bitstring.bit.bitwidth or spec.bitstring.varbit.max_bitwidth
    return p4data_pb2.P4Data(bitstring=encode_value(value, width, name))


def _signed(value: Value, width: int, name: str) -> bytes:
    """Two's complement in the fewest bytes that keep the sign (section 8.4)."""
    number = value if isinstance(value, int) else to_int(value, width, name)
    if not -(1 << width - 1) <= number < 1 << width - 1:
        raise UsageError(f"value {value!r} does not fit into int<{width}> of {name}")
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, "big", signed=True)
