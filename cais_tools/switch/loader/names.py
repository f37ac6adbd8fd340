"""Headers, stacks and unions of a bmv2 JSON, and finding them by name."""

from __future__ import annotations

from typing import Any

from cais_tools.switch.headers import Field, Header, HeaderStack, HeaderUnion, HeaderUnionStack
from cais_tools.switch.loader.limits import field_width
from cais_tools.switch.loader.shapes import same_members, same_shape
from cais_tools.switch.refusals import ProgramError

__all__ = ["VALID", "Json", "Names"]

Json = Any
VALID = "$valid$"
"""The hidden field by which bmv2's JSON refers to a header's validity."""


class Names:
    """All header instances of a program, by name. Unknown names are ProgramErrors."""

    def __init__(self, root: Json) -> None:
        self.headers: dict[str, Header] = {}
        self.stacks: dict[str, HeaderStack] = {}
        self.unions: dict[str, HeaderUnion] = {}
        self.union_stacks: dict[str, HeaderUnionStack] = {}
        self._fields: dict[tuple[str, str], Field] = {}
        self._registers = {each["name"]: each["name"] for each in root.get("register_arrays", [])}
        self._read_headers(root)
        self._read_groups(root)

    def header(self, name: str) -> Header:
        return _find(self.headers, name, "header")

    def packet_header(self, name: str) -> Header:
        """A header that can be part of a packet: no metadata."""
        header = self.header(name)
        if header.metadata:
            raise ProgramError(f"the program uses {name} as a header, but it is metadata")
        return header

    def stack(self, name: str) -> HeaderStack:
        return _find(self.stacks, name, "header stack")

    def union(self, name: str) -> HeaderUnion:
        return _find(self.unions, name, "header union")

    def union_stack(self, name: str) -> HeaderUnionStack:
        return _find(self.union_stacks, name, "stack of header unions")

    def register(self, name: str) -> str:
        return _find(self._registers, name, "register")

    def field(self, header: str, name: str) -> Field:
        self.header(header)
        found = self._fields.get((header, name))
        if found is None:
            raise ProgramError(f"the program refers to field {header}.{name}, which it does not define")
        return found

    def offset(self, header: Header, name: str) -> int:
        return self.field(header.name, name).offset

    def _read_headers(self, root: Json) -> None:
        types = {each["name"]: each for each in root["header_types"]}
        ident = 0
        for number, each in enumerate(root["headers"]):
            if each["name"] in self.headers:
                raise ProgramError(f"the program has two headers with the name {each['name']}")
            kind = _find(types, each["header_type"], "header type")
            fields: list[Field] = []
            for offset, (name, width, *rest) in enumerate(kind["fields"]):
                varbit = width == "*"
                bits = field_width(f"field {each['name']}.{name}", _varbit_width(kind) if varbit else int(width))
                signed = bool(rest and rest[0])
                fields.append(Field(ident, each["name"], name, offset, bits, signed, varbit))
                self._fields[each["name"], name] = fields[-1]
                ident += 1
            self.headers[each["name"]] = Header(
                number,
                each["name"],
                kind["name"],
                tuple(fields),
                bool(each["metadata"]),
                kind.get("max_length"),
            )
            _check_layout(self.headers[each["name"]])

    def _read_groups(self, root: Json) -> None:
        by_id = {each["id"]: self.headers[each["name"]] for each in root["headers"] if not each["metadata"]}
        for number, each in enumerate(root.get("header_stacks", [])):
            elements = tuple(by_id[ident] for ident in each["header_ids"])
            _check_size(each["name"], elements)
            same_shape(f"{each['name']} is a stack", *elements)
            self.stacks[each["name"]] = HeaderStack(number, each["name"], elements)
        unions: dict[int, HeaderUnion] = {}
        for number, each in enumerate(root.get("header_unions", [])):
            members = tuple(by_id[ident] for ident in each["header_ids"])
            _check_size(each["name"], members)
            unions[each["id"]] = self.unions[each["name"]] = HeaderUnion(number, each["name"], members)
        for number, each in enumerate(root.get("header_union_stacks", [])):
            elements = tuple(unions[ident] for ident in each["header_union_ids"])
            _check_size(each["name"], elements)
            same_members(f"{each['name']} is a stack", *elements)
            self.union_stacks[each["name"]] = HeaderUnionStack(number, each["name"], elements)


def _find(table: Any, name: str, what: str) -> Any:
    found = table.get(name)
    if found is None:
        raise ProgramError(f"the program refers to {what} {name!r}, which it does not define")
    return found


def _check_size(name: str, elements: tuple[object, ...]) -> None:
    if not elements:
        raise ProgramError(f"{name} has no elements")


def _varbit_width(kind: Json) -> int:
    """The most bits that the varbit field of a header type can have."""
    fixed = sum(int(width) for _, width, *_ in kind["fields"] if width != "*")
    return int(kind.get("max_length", 0)) * 8 - fixed


def _check_layout(header: Header) -> None:
    if not header.metadata and header.fixed_bits % 8:
        raise ProgramError(f"header {header.name} has {header.fixed_bits} bits, which is no whole number of bytes")
    if sum(field.varbit for field in header.fields) > 1:
        raise ProgramError(f"header {header.name} has more than one varbit field")
