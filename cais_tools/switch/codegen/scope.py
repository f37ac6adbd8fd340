"""Names of the local variables of generated functions, and which of them a function uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cais_tools.switch.headers import Field, Header, HeaderStack, HeaderUnionStack
from cais_tools.switch.program import Program

__all__ = ["Scope"]

NO_LIMIT = 1 << 30


class Scope:
    """The locals of one generated function. Asking for a name notes that the function uses it.

    Fields are ints in their range, validities booleans; a varbit field also has its length in bits; a stack has the
    index of its next element. A header that nobody looks into travels as its bytes (empty where it is invalid). The
    prefixes (f_, valid_, ..) and numbers keep all names apart.
    """

    def __init__(self, program: Program, *, tracks_length: bool = False, tracing: bool = False) -> None:
        self.program = program
        self.tracing = tracing
        self.tracks_length = tracks_length
        self.zeros: dict[str, str] = {}
        """The initial value of each name that was asked for."""
        self.metadata: set[str] = set()
        """The names that are metadata (reset for clones)."""
        self.headers = {header.name: header for header in program.headers}
        self._temporaries = 0
        self._siblings = {
            header.ident: tuple(each for each in union.headers if each is not header)
            for union in program.unions
            for header in union.headers
        }

    @staticmethod
    def name_of(field: Field) -> str:
        """A field's name, without noting that it is used."""
        return f"f_{_clean(field.full_name)}_{field.ident}"

    def field(self, field: Field) -> str:
        name = self.name_of(field)
        self.zeros[name] = "0"
        if self.headers[field.header].metadata:
            self.metadata.add(name)
        return name

    def bits(self, field: Field) -> str:
        """The length of a varbit field."""
        name = f"bits_{field.ident}"
        self.zeros[name] = "0"
        return name

    def valid(self, header: Header) -> str:
        if header.metadata:
            return "True"
        name = f"valid_{_clean(header.name)}_{header.ident}"
        self.zeros[name] = "False"
        return name

    def raw(self, header: Header) -> str:
        """The bytes of a header."""
        name = f"raw_{_clean(header.name)}_{header.ident}"
        self.zeros[name] = "b''"
        return name

    def place(self, header: Header) -> str:
        """Where a header starts in the packet that came in."""
        name = f"at_{_clean(header.name)}_{header.ident}"
        self.zeros[name] = "0"
        return name

    def next(self, stack: HeaderStack | HeaderUnionStack) -> str:
        """The index of the next element of a stack."""
        kind = "stack" if isinstance(stack, HeaderStack) else "unions"
        name = f"next_{kind}_{stack.ident}"
        self.zeros[name] = "0"
        return name

    def variable(self, name: str, zero: str) -> str:
        """A variable of the function's own, with its initial value."""
        self.zeros[name] = zero
        return name

    def limit(self) -> str:
        """The length to which the frame is truncated."""
        return self.variable("limit", str(NO_LIMIT))

    def length(self) -> str:
        """bmv2's packet length register: what came in, plus headers added, minus headers removed."""
        return self.variable("length", "0")

    def rest(self) -> str:
        """What is behind the headers that were parsed."""
        return self.variable("rest", "b''")

    def temporary(self) -> str:
        """A new name, which is always assigned before it is read."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def trace(self, event: str, *arguments: str) -> list[str]:
        """The statement that tells a tracer of an event (a method of `tracing.Tracer`); none where nobody traces."""
        return [f"trace.{event}({', '.join(arguments)})"] if self.tracing else []

    def siblings(self, header: Header) -> tuple[Header, ...]:
        """The other members of the header's union."""
        return self._siblings.get(header.ident, ())

    def zero_lines(self, names: Iterable[str]) -> list[str]:
        """Initial values for `names`, equal ones in one chain."""
        by_value: dict[str, list[str]] = {}
        for name in names:
            by_value.setdefault(self.zeros[name], []).append(name)
        return [" = ".join([*group, value]) for value, group in by_value.items()]


def _clean(name: str) -> str:
    return re.sub(r"\W", "_", name)
