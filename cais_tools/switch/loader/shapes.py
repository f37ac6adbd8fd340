"""What must fit together: headers that are copied onto each other, elements of a stack, members of a union."""

from __future__ import annotations

from cais_tools.switch.expressions import HeaderRef, StackElement, UnionRef
from cais_tools.switch.headers import Header, HeaderStack, HeaderUnion, HeaderUnionStack
from cais_tools.switch.refusals import ProgramError

__all__ = ["check_headers", "check_stacks", "check_unions", "same_members", "same_shape"]

_Shape = tuple[tuple[int, bool], ...]


def check_headers(target: HeaderRef, source: HeaderRef) -> None:
    """Raises ProgramError unless the headers have the same fields."""
    same_shape("a header is copied", _sample(target), _sample(source))


def check_unions(target: UnionRef, source: UnionRef) -> None:
    """Raises ProgramError unless the unions have the same members."""
    same_members("a header union is copied", _sample_union(target), _sample_union(source))


def check_stacks(target: HeaderStack | HeaderUnionStack, source: HeaderStack | HeaderUnionStack) -> None:
    """Raises ProgramError unless both stacks have as many elements, of the same shape."""
    if isinstance(target, HeaderStack) and isinstance(source, HeaderStack):
        same_size = len(target.headers) == len(source.headers)
        same_shape(f"{source.name} is copied to {target.name}", target.headers[0], source.headers[0])
    elif isinstance(target, HeaderUnionStack) and isinstance(source, HeaderUnionStack):
        same_size = len(target.unions) == len(source.unions)
        same_members(f"{source.name} is copied to {target.name}", target.unions[0], source.unions[0])
    else:
        same_size = False
    if not same_size:
        raise ProgramError(f"{source.name} is copied to {target.name}, which is a stack of another kind")


def same_shape(what: str, *headers: Header) -> None:
    """Raises ProgramError unless all headers have fields of the same widths."""
    if len({_shape(header) for header in headers}) > 1:
        names = ", ".join(header.name for header in headers)
        raise ProgramError(f"{what}, but the headers are of different types: {names}")


def same_members(what: str, *unions: HeaderUnion) -> None:
    """Raises ProgramError unless the members of all unions are alike."""
    if len({len(union.headers) for union in unions}) > 1:
        raise ProgramError(f"{what}, but the unions have different numbers of headers")
    for members in zip(*(union.headers for union in unions), strict=True):
        same_shape(what, *members)


def _shape(header: Header) -> _Shape:
    return tuple((field.width, field.varbit) for field in header.fields)


def _sample(header: HeaderRef) -> Header:
    """One of the headers that may be meant; those of a stack are alike."""
    if isinstance(header, Header):
        return header
    if isinstance(header, StackElement):
        return header.stack.headers[0]
    return header.union.stack.unions[0].headers[header.member]


def _sample_union(union: UnionRef) -> HeaderUnion:
    return union if isinstance(union, HeaderUnion) else union.stack.unions[0]
