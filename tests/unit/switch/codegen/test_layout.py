"""Headers of any layout survive the way from bytes to fields and back."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cais_tools.switch.codegen.layout import Codec
from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.headers import Field, Header
from tests.unit.switch.programs import minimal_program

WIDTHS = st.lists(st.tuples(st.integers(1, 160), st.booleans()), min_size=1, max_size=12)


def header(widths: list[tuple[int, bool]]) -> Header:
    padding = -sum(width for width, _ in widths) % 8
    shapes = [*widths, (padding, False)] if padding else widths
    fields = tuple(Field(n, "h", f"f{n}", n, width, signed) for n, (width, signed) in enumerate(shapes))
    return Header(0, "h", "h_t", fields, metadata=False)


def scope_for(shape: Header) -> Scope:
    scope = Scope(minimal_program())
    scope.headers["h"] = shape
    return scope


def unpack(shape: Header, data: bytes, offset: int) -> tuple[Scope, dict[str, Any]]:
    scope, codec = scope_for(shape), Codec(shape)
    packer = struct.Struct(codec.format)
    assert packer.size == codec.size
    names: dict[str, Any] = {
        "data": data,
        "offset": offset,
        "unpack_0": packer.unpack_from,
        "pack_0": packer.pack,
        "from_bytes": int.from_bytes,
    }
    exec("\n".join(codec.unpack(scope, "data", "offset")), names)
    return scope, names


@given(WIDTHS, st.data())
def test_fields_have_the_bits_that_stand_there(widths: list[tuple[int, bool]], draw: st.DataObject) -> None:
    shape = header(widths)
    size = shape.fixed_bits // 8
    data = draw.draw(st.binary(min_size=size, max_size=size))
    scope, names = unpack(shape, b"\xaa\xbb" + data, 2)
    number, rest = int.from_bytes(data), shape.fixed_bits
    for field in shape.fields:
        rest -= field.width
        value = number >> rest & ((1 << field.width) - 1)
        if field.signed and value >> (field.width - 1):
            value -= 1 << field.width
        assert names[scope.name_of(field)] == value
    assert eval(Codec(shape).pack(scope), names) == data


@given(st.integers(1, 20), st.integers(0, 9), st.data())
def test_varbit_fields(before: int, length: int, draw: st.DataObject) -> None:
    """A varbit field between two others, of which neither need end on a byte."""
    after = -before % 8 or 8
    fields = (
        Field(0, "h", "a", 0, before),
        Field(1, "h", "v", 1, 80, varbit=True),
        Field(2, "h", "z", 2, after),
    )
    shape = Header(0, "h", "h_t", fields, metadata=False, max_length=20)
    size = shape.fixed_bits // 8 + length
    data = draw.draw(st.binary(min_size=size, max_size=size))
    scope = scope_for(shape)
    names: dict[str, Any] = {"data": data, "from_bytes": int.from_bytes, scope.bits(fields[1]): length * 8}
    exec("\n".join(Codec(shape).unpack(scope, "data", "0")), names)
    number = int.from_bytes(data)
    assert names[scope.name_of(fields[0])] == number >> (length * 8 + after)
    assert names[scope.name_of(fields[1])] == number >> after & ((1 << (length * 8)) - 1)
    assert eval(Codec(shape).pack(scope), names) == data
