"""What the parts of a program read, write and switch: computed once for each action when it is loaded.

From it a back end knows which headers a stage looks into (the others travel as bytes), which leave as they came in,
and which may change their validity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import cast

from cais_tools.switch.expressions import (
    ElementField,
    FieldValue,
    HeadersEqual,
    LastField,
    LastIndex,
    StackElement,
    UnionElement,
    UnionMember,
)
from cais_tools.switch.headers import Field, Header, HeaderStack, HeaderUnion, HeaderUnionStack
from cais_tools.switch.primitives import (
    AddHeader,
    Assign,
    AssignVarbit,
    CopyHeader,
    CopyStack,
    CopyUnion,
    ExecuteMeter,
    HashInto,
    Pop,
    Push,
    RandomInto,
    RegisterRead,
    RemoveHeader,
)

__all__ = ["Effects", "effects_of", "target_effects"]


@dataclass(frozen=True, slots=True)
class Effects:
    """Fields that may be read and written, and names of headers whose validity may change.

    A header chosen at run time counts with all that may be meant; whole headers with all their fields.
    """

    reads: frozenset[Field] = frozenset()
    writes: frozenset[Field] = frozenset()
    switches: frozenset[str] = frozenset()

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.reads | other.reads, self.writes | other.writes, self.switches | other.switches)

    @property
    def written(self) -> frozenset[str]:
        """Names of headers of which a field is written."""
        return frozenset(each.header for each in self.writes)

    @property
    def touched(self) -> frozenset[str]:
        """Names of headers that are looked into or written."""
        return frozenset(each.header for each in self.reads | self.writes)


def effects_of(*parts: object) -> Effects:
    """The effects of steps, expressions, calculations and (nested) collections of them."""
    notes = _Notes()
    for part in parts:
        notes.walk(part)
    return notes.effects()


def target_effects(target: object) -> Effects:
    """The effects of an assignment to a target (primitives.Target)."""
    notes = _Notes()
    notes.write(_targets(target))
    return notes.effects()


class _Notes:
    def __init__(self) -> None:
        self._reads: set[Field] = set()
        self._writes: set[Field] = set()
        self._switches: set[str] = set()

    def effects(self) -> Effects:
        return Effects(frozenset(self._reads), frozenset(self._writes), frozenset(self._switches))

    def write(self, targets: Iterable[Field]) -> None:
        self._writes.update(targets)

    def walk(self, value: object) -> None:
        if isinstance(value, tuple | list):
            for each in cast(Iterable[object], value):
                self.walk(each)
            return
        if isinstance(value, Header):
            self._reads.update(value.fields)  # a whole header as input of a calculation
            return
        if value is None or isinstance(value, Field | HeaderStack | HeaderUnion | HeaderUnionStack):
            return
        self._note(value)
        if is_dataclass(value):
            for each in fields(value):
                part = getattr(value, each.name)
                if each.name == "target":
                    # What is assigned to is not read, but the index is that chooses it.
                    part = part.header if isinstance(part, ElementField) else part
                    part = None if isinstance(part, LastField) else part
                if not isinstance(part, Header):
                    self.walk(part)

    def _note(self, value: object) -> None:
        """What one node itself does."""
        if isinstance(value, FieldValue):
            self._reads.add(value.field)
        elif isinstance(value, Assign | RegisterRead | HashInto | RandomInto | ExecuteMeter):
            self.write(_targets(value.target))
        elif isinstance(value, AssignVarbit):
            self._writes.add(value.target)
            self._reads.add(value.source)
        elif isinstance(value, AddHeader):
            self._switch(value.header)
            self.write(_contents(value.header))
        elif isinstance(value, RemoveHeader):
            self._switch(value.header)
            # Its length counts, where it has a varbit field.
            self._reads.update(each for header in _headers(value.header) if header.varbit for each in header.fields)
        elif isinstance(value, CopyHeader | CopyUnion | CopyStack):
            self._switch(value.target)
            self.write(_contents(value.target))
            self._reads.update(_contents(value.source))
        elif isinstance(value, Push | Pop):
            self._switch(value.stack)
            self.write(_contents(value.stack))
        else:
            self._note_choice(value)

    def _note_choice(self, value: object) -> None:
        if isinstance(value, ElementField):
            self._reads.update(_contents(value.header))
        elif isinstance(value, LastField | LastIndex):
            self._reads.update(_contents(value.stack))
        elif isinstance(value, HeadersEqual):
            self._reads.update((*_contents(value.left), *_contents(value.right)))

    def _switch(self, value: object) -> None:
        self._switches.update(header.name for header in _headers(value))


def _targets(target: object) -> Iterator[Field]:
    if isinstance(target, Field):
        yield target
    elif isinstance(target, ElementField):
        yield from (header.fields[target.offset] for header in _candidates(target.header))
    elif isinstance(target, LastField):
        yield from (header.fields[target.offset] for header in _candidates_of_stack(target.stack, target.member))


def _candidates(ref: object) -> Iterator[Header]:
    """The headers of which a field may be meant, without the others of their unions."""
    if isinstance(ref, StackElement):
        yield from ref.stack.headers
    elif isinstance(ref, UnionMember):
        yield from (union.headers[ref.member] for union in ref.union.stack.unions)


def _candidates_of_stack(stack: HeaderStack | HeaderUnionStack, member: int) -> Iterator[Header]:
    if isinstance(stack, HeaderStack):
        yield from stack.headers
    else:
        yield from (union.headers[member] for union in stack.unions)


def _contents(value: object) -> Iterator[Field]:
    for header in _headers(value):
        yield from header.fields


def _headers(value: object) -> Iterator[Header]:
    """All headers that a reference may mean; with a member of a union also the others, whose validity follows."""
    if isinstance(value, Header):
        yield value
    elif isinstance(value, HeaderStack | HeaderUnion):
        yield from value.headers
    elif isinstance(value, HeaderUnionStack):
        yield from _flat(value.unions)
    elif isinstance(value, StackElement):
        yield from value.stack.headers
    elif isinstance(value, UnionElement):
        yield from _flat(value.stack.unions)
    elif isinstance(value, UnionMember):
        yield from _flat(value.union.stack.unions)


def _flat(unions: Iterable[HeaderUnion]) -> Iterator[Header]:
    for union in unions:
        yield from union.headers
