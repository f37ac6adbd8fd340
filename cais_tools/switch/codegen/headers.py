"""Steps on whole headers -> Python statements: validity, copies, stacks."""

from __future__ import annotations

from collections.abc import Callable

from cais_tools.switch.codegen.expressions import Emitter, candidates
from cais_tools.switch.codegen.flow import indent
from cais_tools.switch.codegen.scope import Scope
from cais_tools.switch.expressions import Expr, HeaderRef, UnionRef
from cais_tools.switch.headers import Header, HeaderStack, HeaderUnion, HeaderUnionStack

__all__ = ["HeaderEmitter"]


class HeaderEmitter:
    """Emits what happens to headers in one function."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._scope: Scope = emitter.scope

    # --- validity ---

    def set_valid(self, header: Header) -> list[str]:
        """Valid, and the other members of its union are not."""
        if header.metadata:
            return []
        lines = [f"{self._scope.valid(header)} = True"]
        return lines + [f"{self._scope.valid(each)} = False" for each in self._scope.siblings(header)]

    def set_invalid(self, header: Header) -> list[str]:
        return [] if header.metadata else [f"{self._scope.valid(header)} = False"]

    def add(self, ref: HeaderRef) -> list[str]:
        return self._dispatch(ref, self._add)

    def remove(self, ref: HeaderRef) -> list[str]:
        return self._dispatch(ref, self._remove)

    def _add(self, header: Header) -> list[str]:
        if header.metadata:
            return []
        zeros = [" = ".join([*self._contents(header), "0"])] if header.fields else []
        body = [*self.set_valid(header), *zeros]
        if self._scope.tracks_length:
            body.append(f"{self._scope.length()} += {header.fixed_bits // 8}")
        return [f"if not {self._scope.valid(header)}:", *indent(body)]

    def _remove(self, header: Header) -> list[str]:
        if not self._scope.tracks_length or header.metadata:
            return self.set_invalid(header)
        size = str(header.fixed_bits // 8)
        if header.varbit is not None:
            size += f" + ({self._scope.bits(header.varbit)} >> 3)"
        body = [*self.set_invalid(header), f"{self._scope.length()} -= {size}"]
        return [f"if {self._scope.valid(header)}:", *indent(body)]

    # --- copies ---

    def copy(self, target: HeaderRef, source: HeaderRef) -> list[str]:
        return self._dispatch(target, lambda to: self._dispatch(source, lambda origin: self._copy(to, origin)))

    def copy_union(self, target: UnionRef, source: UnionRef) -> list[str]:
        return self._dispatch_union(
            target, lambda to: self._dispatch_union(source, lambda origin: self._copy_union(to, origin))
        )

    def copy_stack(self, target: HeaderStack | HeaderUnionStack, source: HeaderStack | HeaderUnionStack) -> list[str]:
        lines = [f"{self._scope.next(target)} = {self._scope.next(source)}"]
        if isinstance(target, HeaderStack) and isinstance(source, HeaderStack):
            for to, origin in zip(target.headers, source.headers, strict=True):
                lines += self._copy(to, origin)
        elif isinstance(target, HeaderUnionStack) and isinstance(source, HeaderUnionStack):
            for to, origin in zip(target.unions, source.unions, strict=True):
                lines += self._copy_union(to, origin)
        return lines

    def _copy(self, target: Header, source: Header) -> list[str]:
        if target is source:
            return []
        values = _assign(self._contents(target), self._contents(source))
        if source.metadata:
            return [*self.set_valid(target), *values]
        return [
            f"if {self._scope.valid(source)}:",
            *indent([*self.set_valid(target), *values]),
            "else:",
            *indent(self.set_invalid(target) or ["pass"]),
        ]

    def _copy_union(self, target: HeaderUnion, source: HeaderUnion) -> list[str]:
        pairs = zip(target.headers, source.headers, strict=True)
        return [line for to, origin in pairs for line in self._copy(to, origin)]

    # --- stacks ---

    def push(self, stack: HeaderStack | HeaderUnionStack, count: int) -> list[str]:
        """push_front as bmv2 does it: elements are swapped upwards, the first `count` become invalid."""
        if count == 0:
            return []
        elements = _elements(stack)
        size = len(elements)
        origin = list(range(size))
        for place in range(size - 1, count - 1, -1):
            origin[place], origin[place - count] = origin[place - count], origin[place]
        name = self._scope.next(stack)
        lines = self._permute(elements, origin)
        lines += self._invalidate(elements[:count])
        return [*lines, f"{name} = min({name} + {count}, {size})"]

    def pop(self, stack: HeaderStack | HeaderUnionStack, count: int) -> list[str]:
        """pop_front as bmv2 does it: elements are swapped downwards, the last `count` become invalid."""
        if count == 0:
            return []
        elements = _elements(stack)
        size = len(elements)
        origin = list(range(size))
        kept = max(size - count, 0)
        for place in range(kept):
            origin[place], origin[place + count] = origin[place + count], origin[place]
        name = self._scope.next(stack)
        lines = self._permute(elements, origin)
        lines += self._invalidate(elements[kept:])
        return [*lines, f"{name} = max({name} - {count}, 0)"]

    def _permute(self, elements: list[tuple[Header, ...]], origin: list[int]) -> list[str]:
        targets: list[str] = []
        sources: list[str] = []
        for place, other in enumerate(origin):
            if place == other:
                continue
            for to, source in zip(elements[place], elements[other], strict=True):
                targets += [self._scope.valid(to), *self._contents(to)]
                sources += [self._scope.valid(source), *self._contents(source)]
        return _assign(targets, sources)

    def _invalidate(self, elements: list[tuple[Header, ...]]) -> list[str]:
        return [line for element in elements for header in element for line in self.set_invalid(header)]

    # --- headers chosen at run time ---

    def _dispatch(self, ref: HeaderRef, lines: Callable[[Header], list[str]]) -> list[str]:
        headers, index = candidates(ref)
        if index is None:
            return lines(headers[0])
        return self.choose(index, [lines(header) for header in headers])

    def _dispatch_union(self, ref: UnionRef, lines: Callable[[HeaderUnion], list[str]]) -> list[str]:
        if isinstance(ref, HeaderUnion):
            return lines(ref)
        return self.choose(ref.index, [lines(union) for union in ref.stack.unions])

    def choose(self, index: Expr, arms: list[list[str]]) -> list[str]:
        """The arm at `index`; nothing where it is out of range."""
        where = self._scope.temporary()
        result = [f"{where} = {self._emitter.text(index)}"]
        for number, arm in enumerate(arms):
            word = "elif" if number else "if"
            result += [f"{word} {where} == {number}:", *indent(arm or ["pass"])]
        return result

    def _contents(self, header: Header) -> list[str]:
        """The names that hold the fields of a header."""
        names = [self._scope.field(field) for field in header.fields]
        return names + [self._scope.bits(field) for field in header.fields if field.varbit]


def _elements(stack: HeaderStack | HeaderUnionStack) -> list[tuple[Header, ...]]:
    if isinstance(stack, HeaderStack):
        return [(header,) for header in stack.headers]
    return [union.headers for union in stack.unions]


def _assign(targets: list[str], sources: list[str]) -> list[str]:
    """All at once, so that swaps are right."""
    if not targets:
        return []
    return [f"{', '.join(targets)} = {', '.join(sources)}"]
