"""What each stage of a program does to each header: whether it looks into it, writes it, changes its validity.

Headers that a stage does not look into travel through it as bytes; headers that ingress does not write leave as the
bytes that came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
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
from cais_tools.switch.program import ActionCallNode, Calculation, Pipeline, Program, TableNode

__all__ = ["Usage", "egress_usage", "ingress_usage", "pipeline_actions"]


@dataclass(slots=True)
class Usage:
    """Names of headers: looked into (or written), written, and of changed validity; idents of fields that are read."""

    fields: set[int] = field(default_factory=set[int])
    touched: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])
    switched: set[str] = field(default_factory=set[str])

    def touch(self, name: str) -> None:
        self.touched.add(name)

    def write(self, name: str) -> None:
        self.touched.add(name)
        self.written.add(name)

    def switch(self, name: str) -> None:
        self.switched.add(name)


def pipeline_actions(program: Program, pipeline: Pipeline) -> list[int]:
    """The actions that a pipeline may run."""
    actions: dict[int, None] = {}
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            actions |= dict.fromkeys(node.actions)
        elif isinstance(node, ActionCallNode):
            actions[node.action] = None
    return [ident for ident in actions if ident in program.actions]


def ingress_usage(program: Program) -> Usage:
    """Parser, verification of checksums, ingress."""
    usage = Usage()
    for state in program.parser.states.values():
        _walk(usage, state.ops)
        _walk(usage, state.keys)
    for checksum in program.checksums:
        if checksum.verify:
            _walk(usage, (checksum.target, checksum.calculation, checksum.condition))
    _walk_pipeline(usage, program, program.ingress)
    _walk(usage, [each.elements for each in program.learn_lists.values()])
    _walk(usage, [each.elements for each in program.field_lists.values()])
    return usage


def egress_usage(program: Program) -> Usage:
    """Egress, update of checksums, primitives of the deparser."""
    usage = Usage()
    _walk_pipeline(usage, program, program.egress)
    for checksum in program.checksums:
        if checksum.update:
            usage.write(checksum.target.header)
            _walk(usage, (checksum.calculation, checksum.condition))
    _walk(usage, program.deparser_primitives)
    _walk(usage, [each.elements for each in program.field_lists.values()])
    return usage


def _walk_pipeline(usage: Usage, program: Program, pipeline: Pipeline) -> None:
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            _walk(usage, [key.source for key in node.keys])
            if node.direct_meter is not None:
                _write_target(usage, program.meters[node.direct_meter].result)
            if node.profile is not None and program.profiles[node.profile].selector is not None:
                _walk(usage, program.profiles[node.profile].selector)
        elif not isinstance(node, ActionCallNode):
            _walk(usage, node.condition)
    for ident in pipeline_actions(program, pipeline):
        _walk(usage, program.actions[ident].primitives)


def _walk(usage: Usage, value: object) -> None:
    """Note what a step, an expression or any collection of them uses."""
    if isinstance(value, tuple | list):
        for each in cast(Iterable[object], value):
            _walk(usage, each)
        return
    if value is None or isinstance(value, Header | Field | HeaderStack | HeaderUnion | HeaderUnionStack):
        return
    _note(usage, value)
    if is_dataclass(value):
        for each in fields(value):
            _walk(usage, getattr(value, each.name))


def _note(usage: Usage, value: object) -> None:
    """What one node itself does."""
    if isinstance(value, FieldValue):
        usage.fields.add(value.field.ident)
        usage.touch(value.field.header)
    elif isinstance(value, Assign | RegisterRead | HashInto | RandomInto | ExecuteMeter):
        _write_target(usage, value.target)
    elif isinstance(value, AssignVarbit):
        usage.write(value.target.header)
        usage.touch(value.source.header)
    elif isinstance(value, AddHeader | RemoveHeader):
        for header in _headers(value.header):
            usage.switch(header.name)
            # Removing does not look into a header, unless its length counts (varbit fields).
            if isinstance(value, AddHeader) or header.varbit is not None:
                usage.write(header.name)
    elif isinstance(value, CopyHeader | CopyUnion | CopyStack):
        for header in _headers(value.target):
            usage.write(header.name)
            usage.switch(header.name)
        for header in _headers(value.source):
            usage.touch(header.name)
    elif isinstance(value, Push | Pop):
        for header in _headers(value.stack):
            usage.write(header.name)
            usage.switch(header.name)
    elif isinstance(value, Calculation):
        for each in value.inputs:
            if isinstance(each, Header):
                usage.touch(each.name)
    else:
        _note_choice(usage, value)


def _note_choice(usage: Usage, value: object) -> None:
    if isinstance(value, ElementField):
        for header in _headers(value.header):
            usage.touch(header.name)
    elif isinstance(value, LastField | LastIndex):
        for header in _headers(value.stack):
            usage.touch(header.name)
    elif isinstance(value, HeadersEqual):
        for header in (*_headers(value.left), *_headers(value.right)):
            usage.touch(header.name)


def _write_target(usage: Usage, target: object) -> None:
    if isinstance(target, Field):
        usage.write(target.header)
    elif isinstance(target, ElementField):
        for header in _headers(target.header):
            usage.write(header.name)
    elif isinstance(target, LastField):
        for header in _headers(target.stack):
            usage.write(header.name)


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
