"""What a packet is made of: header instances and their fields, stacks and unions of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Field", "Header", "HeaderStack", "HeaderUnion", "HeaderUnionStack", "elements", "value_range"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of one header instance. `ident` is unique in the program; `offset` is its place in the header.

    A varbit field has the `width` of its maximum and `varbit` set.
    """

    ident: int
    header: str
    name: str
    offset: int
    width: int
    signed: bool = False
    varbit: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.header}.{self.name}"

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value that it can have."""
        return value_range(self.width, signed=self.signed)


@dataclass(frozen=True, slots=True)
class Header:
    """A header instance (or metadata struct, `metadata`), perhaps an element of a stack or a member of a union."""

    ident: int
    name: str
    type_name: str
    fields: tuple[Field, ...]
    metadata: bool
    max_length: int | None = None
    """Bytes, for headers with a varbit field."""

    @property
    def varbit(self) -> Field | None:
        return next((each for each in self.fields if each.varbit), None)

    @property
    def fixed_bits(self) -> int:
        return sum(each.width for each in self.fields if not each.varbit)


@dataclass(frozen=True, slots=True)
class HeaderStack:
    ident: int
    name: str
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True)
class HeaderUnion:
    """At most one of `headers` is valid at any time."""

    ident: int
    name: str
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True)
class HeaderUnionStack:
    ident: int
    name: str
    unions: tuple[HeaderUnion, ...]


def value_range(width: int, *, signed: bool) -> tuple[int, int]:
    """The least and the greatest number that `width` bits hold."""
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


def elements(stack: HeaderStack | HeaderUnionStack, member: int = 0) -> tuple[Header, ...]:
    """The headers of a stack, bottom first; of a stack of unions those that are `member` of their union."""
    if isinstance(stack, HeaderStack):
        return stack.headers
    return tuple(union.headers[member] for union in stack.unions)
