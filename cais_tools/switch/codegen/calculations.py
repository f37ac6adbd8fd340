"""Hashes and checksums -> Python statements."""

from __future__ import annotations

from cais_tools.switch.codegen.expressions import Emitter, Value, wrapped
from cais_tools.switch.codegen.flow import indent
from cais_tools.switch.expressions import Expr, FieldValue
from cais_tools.switch.headers import Field, Header
from cais_tools.switch.program import Calculation, Checksum, Payload

__all__ = ["CalculationEmitter"]

_CHECKSUMS = ("cksum16", "csum16")


class CalculationEmitter:
    """Emits calculations: the input is gathered in one number, bit by bit as wide as its fields are."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._scope = emitter.scope

    def hash(self, calculation: Calculation) -> tuple[list[str], str]:
        """Statements, and the text of the result."""
        if calculation.algorithm in _CHECKSUMS and self._is_whole_words(calculation):
            return self._checksum(calculation)
        number, width = self._scope.temporary(), self._scope.temporary()
        lines = [f"{number} = {width} = 0"]
        for header, inputs in self._runs(calculation):
            lines += self._run(header, inputs, number, width)
        # Left-aligned in whole bytes.
        text = f"({number} << (-{width} & 7)).to_bytes(({width} + 7) >> 3)"
        if any(isinstance(each, Payload) for each in calculation.inputs):
            text = f"{text} + {self._scope.rest()}"
        return lines, f"hash_{self._scope.program.hashes.index(calculation)}({text})"

    def _is_whole_words(self, calculation: Calculation) -> bool:
        """Whether each run of inputs is a number of 16-bit words, whatever the packet."""
        if any(isinstance(each, Payload) for each in calculation.inputs):
            return False
        runs = [inputs for _, inputs in self._runs(calculation)]
        varbit = any(isinstance(expr, FieldValue) and expr.field.varbit for inputs in runs for expr, _ in inputs)
        return not varbit and all(sum(bits for _, bits in inputs) % 16 == 0 for inputs in runs)

    def _checksum(self, calculation: Calculation) -> tuple[list[str], str]:
        """The Internet checksum is a sum modulo 2^16 - 1, so a field counts as where it stands in its 16-bit word."""
        number = self._scope.temporary()
        lines = [f"{number} = 0"]
        for header, inputs in self._runs(calculation):
            texts = [f"({text} << {rest % 16})" if rest % 16 else text for text, rest in self._placed(inputs)]
            line = f"{number} += {' + '.join(texts) or '0'}"
            lines += [line] if header is None else [f"if {self._scope.valid(header)}:", f"    {line}"]
        return lines, f"internet_checksum({number})"

    def verify(self, checksum: Checksum) -> list[str]:
        """Sets `checksum_error` where the checksum is wrong."""
        lines, result = self.hash(checksum.calculation)
        error = self._scope.variable("checksum_error", "0")
        mask = (1 << checksum.target.width) - 1
        target = self._scope.field(checksum.target)
        target = f"{target} & {mask:#x}" if checksum.target.signed else target
        told = self._scope.trace("bad_checksum", repr(checksum.name))
        lines += [f"if {result} & {mask:#x} != {target}:", *indent([f"{error} = 1", *told])]
        conditions = [self._scope.valid(self._scope.headers[checksum.target.header])]
        if checksum.condition is not None:
            conditions.append(self._emitter.condition(checksum.condition))
        return [f"if {' and '.join(conditions)}:", *indent(lines)]

    def update(self, checksum: Checksum) -> list[str]:
        lines, result = self.hash(checksum.calculation)
        lines = [*self._scope.trace("step", repr(f"update {checksum.target.full_name}")), *lines]
        value = wrapped(Value(result), checksum.target.width, signed=checksum.target.signed)
        name = self._scope.field(checksum.target)
        lines += [f"{name} = {value}", *self._scope.trace("assigned", str(checksum.target.ident), name)]
        if checksum.condition is None:
            return lines
        return [f"if {self._emitter.condition(checksum.condition)}:", *indent(lines)]

    def _runs(self, calculation: Calculation) -> list[tuple[Header | None, list[tuple[Expr, int]]]]:
        """Inputs, neighbours of the same header together: they are left out together where it is invalid."""
        runs: list[tuple[Header | None, list[tuple[Expr, int]]]] = []
        for each in calculation.inputs:
            if isinstance(each, Payload):
                continue
            if isinstance(each, Header):
                runs.append((each, [(FieldValue(field), field.width) for field in each.fields]))
                continue
            header = self._owner(each[0])
            if runs and runs[-1][0] is header:
                runs[-1][1].append(each)
            else:
                runs.append((header, [each]))
        return runs

    def _owner(self, expr: Expr) -> Header | None:
        """The header whose validity decides, None for constants and metadata."""
        if not isinstance(expr, FieldValue):
            return None
        header = self._scope.headers[expr.field.header]
        return None if header.metadata else header

    def _run(self, header: Header | None, inputs: list[tuple[Expr, int]], number: str, width: str) -> list[str]:
        lines: list[str] = []
        fixed: list[tuple[Expr, int]] = []
        for expr, bits in inputs:
            if isinstance(expr, FieldValue) and expr.field.varbit:
                lines += self._fixed(fixed, number, width) + self._varbit(expr.field, number, width)
                fixed = []
            else:
                fixed.append((expr, bits))
        lines += self._fixed(fixed, number, width)
        if header is None:
            return lines
        return [f"if {self._scope.valid(header)}:", *indent(lines or ["pass"])]

    def _fixed(self, inputs: list[tuple[Expr, int]], number: str, width: str) -> list[str]:
        total = sum(bits for _, bits in inputs)
        if not total:
            return []
        parts = [f"{text} << {rest}" if rest else text for text, rest in self._placed(inputs)]
        return [f"{number} = {number} << {total} | {' | '.join(parts)}", f"{width} += {total}"]

    def _placed(self, inputs: list[tuple[Expr, int]]) -> list[tuple[str, int]]:
        """The text of each input, never negative, and how many bits follow it."""
        placed: list[tuple[str, int]] = []
        rest = sum(bits for _, bits in inputs)
        for expr, bits in inputs:
            rest -= bits
            value = self._emitter.value(expr)
            mask = (1 << bits) - 1
            placed.append((value.text if value.within(0, mask) else f"({value.text} & {mask:#x})", rest))
        return placed

    def _varbit(self, field: Field, number: str, width: str) -> list[str]:
        bits = self._scope.bits(field)
        return [f"{number} = {number} << {bits} | {self._scope.field(field)}", f"{width} += {bits}"]
