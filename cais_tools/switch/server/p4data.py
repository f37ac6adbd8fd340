"""P4Data for what registers and digests hold: bits, booleans, structs and tuples of them. Sans I/O.

P4Runtime 1.4, section 8.5 "Representation of Arbitrary P4 Types".
"""

from __future__ import annotations

from collections.abc import Iterator

from cais_tools.p4rt import code_pb2, p4data_pb2, p4types_pb2
from cais_tools.p4rt.values import decode
from cais_tools.switch.server.matching import value_of
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["data_of", "value_of_data", "width_of"]


def data_of(
    spec: p4types_pb2.P4DataTypeSpec, types: p4types_pb2.P4TypeInfo, values: Iterator[int]
) -> p4data_pb2.P4Data:
    """Take as many values as the type has leaves, each a bit string (never negative), and put them into it."""
    data = p4data_pb2.P4Data()
    match spec.WhichOneof("type_spec"):
        case "bitstring":
            data.bitstring = _bitstring(spec.bitstring, next(values))
        case "bool":
            data.bool = bool(next(values))
        case "tuple":
            data.tuple.members.extend(data_of(member, types, values) for member in spec.tuple.members)
        case "struct":
            members = types.structs[spec.struct.name].members
            data.struct.members.extend(data_of(member.type_spec, types, values) for member in members)
        case "header":
            data.header.is_valid = True
            for member in types.headers[spec.header.name].members:
                data.header.bitstrings.append(_bitstring(member.type_spec, next(values)))
        case "serializable_enum":
            width = types.serializable_enums[spec.serializable_enum.name].underlying_type.bitwidth
            data.enum_value = next(values).to_bytes(max(1, -(-width // 8)), "big").lstrip(b"\0") or b"\0"
        case "new_type":
            return data_of(types.new_types[spec.new_type.name].original_type, types, values)
        case other:
            raise _unsupported(other)
    return data


def value_of_data(
    spec: p4types_pb2.P4DataTypeSpec, types: p4types_pb2.P4TypeInfo, data: p4data_pb2.P4Data, where: str
) -> int:
    """The value of a register cell, a bit string. Raises P4Error where the data is not of the type."""
    given = data.WhichOneof("data")
    match spec.WhichOneof("type_spec"):
        case "bitstring":
            if given != "bitstring":
                raise invalid(f"{where} holds a bitstring, not {given}")
            return _value(spec.bitstring, data.bitstring, where)
        case "bool":
            if given != "bool":
                raise invalid(f"{where} holds a bool, not {given}")
            return int(data.bool)
        case "new_type":
            return value_of_data(types.new_types[spec.new_type.name].original_type, types, data, where)
        case other:
            raise _unsupported(other)


def width_of(spec: p4types_pb2.P4DataTypeSpec, types: p4types_pb2.P4TypeInfo) -> int | None:
    """Bits of a type that is one value; None for what has members."""
    match spec.WhichOneof("type_spec"):
        case "bitstring":
            return spec.bitstring.bit.bitwidth or spec.bitstring.int.bitwidth or spec.bitstring.varbit.max_bitwidth
        case "bool":
            return 1
        case "new_type":
            return width_of(types.new_types[spec.new_type.name].original_type, types)
        case _:
            return None


def _bitstring(spec: p4types_pb2.P4BitstringLikeTypeSpec, value: int) -> bytes:
    if spec.WhichOneof("type_spec") != "int":
        return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    width = spec.int.bitwidth
    signed = value - (1 << width) if value >> width - 1 else value
    # Two's complement in the fewest bytes that keep the sign.
    bits = (signed if signed >= 0 else ~signed).bit_length() + 1
    return signed.to_bytes(max(1, (bits + 7) // 8), "big", signed=True)


def _value(spec: p4types_pb2.P4BitstringLikeTypeSpec, data: bytes, where: str) -> int:
    if spec.WhichOneof("type_spec") != "int":
        return value_of(data, spec.bit.bitwidth or spec.varbit.max_bitwidth, where)
    width = spec.int.bitwidth
    signed = int.from_bytes(data, "big", signed=True)
    if not data or not -(1 << width - 1) <= signed < 1 << width - 1:
        raise invalid(f"{where}: 0x{decode(data):x} does not fit into int<{width}>")
    return signed & (1 << width) - 1


def _unsupported(kind: str | None) -> P4Error:
    return P4Error(code_pb2.UNIMPLEMENTED, f"data of the type {kind or 'unset'} cannot be represented here")
