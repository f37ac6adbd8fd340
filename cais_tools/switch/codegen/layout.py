"""How headers lie in packets: from bytes to fields and back, with as few operations as possible.

Fields that end on byte boundaries together are one group; groups of the sizes that `struct` knows are one item of its
format, others two or three; the whole header is one call. Headers with a varbit field go through one big number.
"""

from __future__ import annotations

from dataclasses import dataclass

from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.headers import Field, Header

__all__ = ["Codec"]

_ITEMS = ((64, "Q"), (32, "I"), (16, "H"), (8, "B"))
_NATIVE = {8: "b", 16: "h", 32: "i", 64: "q"}


@dataclass(frozen=True, slots=True)
class _Group:
    """Consecutive fields that fill whole bytes together."""

    fields: tuple[Field, ...]

    @property
    def width(self) -> int:
        return sum(field.width for field in self.fields)

    def items(self) -> list[tuple[str, int]]:
        """The items of the struct format and their widths, most significant first."""
        width = self.width
        if len(self.fields) == 1 and self.fields[0].signed and width in _NATIVE:
            return [(_NATIVE[width], width)]
        if width > 128:
            return [(f"{width // 8}s", width)]
        items: list[tuple[str, int]] = []
        rest = width
        while rest:
            # From the least significant end, so that the big items stand last: 48 bits are H then I.
            bits, code = next(each for each in _ITEMS if each[0] <= rest)
            items.insert(0, (code, bits))
            rest -= bits
        return items


class Codec:
    """The code that takes one header apart and puts it together; `format` is its struct format."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.groups = [] if header.varbit is not None else _groups(header.fields)
        self.format = "!" + _compressed([code for group in self.groups for code, _ in group.items()])
        self.size = header.fixed_bits // 8

    # --- bytes to fields ---

    def unpack(self, scope: Scope, source: str, offset: str) -> list[str]:
        """Statements that set the fields from the bytes of `source` at `offset` (checked to be there)."""
        if not self.header.fields:
            return []
        if self.header.varbit is not None:
            return self._unpack_varbit(scope, self.header.varbit, source, offset)
        targets: list[str] = []
        after: list[str] = []
        for group in self.groups:
            names, lines = self._unpack_group(scope, group)
            targets += names
            after += lines
        call = f"unpack_{self.header.ident}({source}, {offset})"
        return [f"{', '.join(targets)}, = {call}" if len(targets) == 1 else f"{', '.join(targets)} = {call}", *after]

    def _unpack_group(self, scope: Scope, group: _Group) -> tuple[list[str], list[str]]:
        """The names that take the items, and the statements that make fields of them."""
        items, fields = group.items(), group.fields
        as_bytes = items[0][0].endswith("s")
        if len(items) == len(fields) == 1 and not as_bytes:
            return [scope.field(fields[0])], []
        pieces = [scope.temporary() for _ in items]
        whole = f"from_bytes({pieces[0]})" if as_bytes else _side_by_side(pieces, [bits for _, bits in items])
        if len(fields) == 1:
            return pieces, [f"{scope.field(fields[0])} = {_signed(whole, fields[0])}"]
        lines: list[str] = []
        if not whole.isidentifier():
            name = scope.temporary()
            lines.append(f"{name} = {whole}")
            whole = name
        rest = group.width
        for field in fields:
            rest -= field.width
            text = f"{whole} >> {rest}" if rest else whole
            if rest + field.width != group.width:
                text = f"{text} & {(1 << field.width) - 1:#x}"
            lines.append(f"{scope.field(field)} = {_signed(text, field)}")
        return pieces, lines

    def _unpack_varbit(self, scope: Scope, varbit: Field, source: str, offset: str) -> list[str]:
        """The length of the varbit field is in its `bits` variable already."""
        before, after = self._around(varbit)
        bits = scope.bits(varbit)
        suffix = sum(field.width for field in after)
        whole = scope.temporary()
        lines = [f"{whole} = from_bytes({source}[{offset}:{offset} + {self.size} + ({bits} >> 3)])"]
        rest = sum(field.width for field in before)
        for field in before:
            rest -= field.width
            text = f"{whole} >> {rest + suffix} + {bits} & {(1 << field.width) - 1:#x}"
            lines.append(f"{scope.field(field)} = {_signed(text, field)}")
        lines.append(f"{scope.field(varbit)} = {whole} >> {suffix} & (1 << {bits}) - 1")
        rest = suffix
        for field in after:
            rest -= field.width
            text = f"{whole} >> {rest} & {(1 << field.width) - 1:#x}"
            lines.append(f"{scope.field(field)} = {_signed(text, field)}")
        return lines

    # --- fields to bytes ---

    def pack(self, scope: Scope) -> str:
        """An expression for the bytes of the header, whether valid or not."""
        if not self.header.fields:
            return "b''"
        if self.header.varbit is not None:
            return self._pack_varbit(scope, self.header.varbit)
        parts = [text for group in self.groups for text in self._pack_group(scope, group)]
        return f"pack_{self.header.ident}({', '.join(parts)})"

    def _pack_group(self, scope: Scope, group: _Group) -> list[str]:
        items = group.items()
        if len(items) == 1 and len(group.fields) == 1 and not items[0][0].endswith("s"):
            return [scope.field(group.fields[0])]
        whole = _combined(scope, group.fields)
        if items[0][0].endswith("s"):
            return [f"({whole}).to_bytes({group.width // 8})"]
        if not whole.isidentifier():
            whole = f"({whole})"
        texts: list[str] = []
        rest = group.width
        for _, bits in items:
            rest -= bits
            text = f"{whole} >> {rest}" if rest else whole
            texts.append(text if rest + bits == group.width else f"{text} & {(1 << bits) - 1:#x}")
        return texts

    def _pack_varbit(self, scope: Scope, varbit: Field) -> str:
        before, after = self._around(varbit)
        bits = scope.bits(varbit)
        text = scope.field(varbit)
        if before:
            text = f"({_combined(scope, before)}) << {bits} | {text}"
        if after:
            text = f"({text}) << {sum(field.width for field in after)} | {_combined(scope, after)}"
        return f"({text}).to_bytes({self.size} + ({bits} >> 3))"

    def _around(self, varbit: Field) -> tuple[list[Field], list[Field]]:
        fields = self.header.fields
        return list(fields[: varbit.offset]), list(fields[varbit.offset + 1 :])


def _groups(fields: tuple[Field, ...]) -> list[_Group]:
    groups: list[_Group] = []
    current: list[Field] = []
    for field in fields:
        current.append(field)
        if sum(each.width for each in current) % 8 == 0:
            groups.append(_Group(tuple(current)))
            current = []
    return groups


def _compressed(codes: list[str]) -> str:
    """64 times I is `64I`."""
    text = ""
    count = 0
    for place, code in enumerate(codes):
        count += 1
        if place + 1 == len(codes) or codes[place + 1] != code or code.endswith("s"):
            text += (str(count) if count > 1 else "") + code
            count = 0
    return text


def _signed(text: str, field: Field) -> str:
    """A number of the field's width, taken as two's complement where the field is signed."""
    if not field.signed:
        return text
    half = 1 << (field.width - 1)
    return f"(({text}) ^ {half:#x}) - {half:#x}"


def _combined(scope: Scope, fields: tuple[Field, ...] | list[Field]) -> str:
    """Fields side by side in one number."""
    texts = [
        f"({scope.field(field)} & {(1 << field.width) - 1:#x})" if field.signed else scope.field(field)
        for field in fields
    ]
    return _side_by_side(texts, [field.width for field in fields])


def _side_by_side(texts: list[str], widths: list[int]) -> str:
    rest = sum(widths)
    parts: list[str] = []
    for text, width in zip(texts, widths, strict=True):
        rest -= width
        parts.append(f"{text} << {rest}" if rest else text)
    return " | ".join(parts) or "0"
