"""bmv2's JSON primitives -> `switch.primitives`, one small reader for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from cais_tools.switch.expressions import (
    Binary,
    BinaryOp,
    Const,
    ElementField,
    Expr,
    FieldValue,
    LastField,
)
from cais_tools.switch.loader.expressions import ExpressionReader
from cais_tools.switch.loader.names import Json, Names
from cais_tools.switch.loader.shapes import check_headers, check_stacks, check_unions
from cais_tools.switch.primitives import (
    AddHeader,
    Assign,
    AssignVarbit,
    Check,
    CopyHeader,
    CopyStack,
    CopyUnion,
    Count,
    ExecuteMeter,
    Exit,
    HashInto,
    Jump,
    JumpIfZero,
    Log,
    Pop,
    Primitive,
    Push,
    RandomInto,
    RegisterRead,
    RegisterWrite,
    RemoveHeader,
    Request,
    RequestKind,
    Target,
    Truncate,
)
from cais_tools.switch.program import Calculation
from cais_tools.switch.refusals import ProgramError

__all__ = ["DROP_PORT", "PRIMITIVES", "PrimitiveReader"]

DROP_PORT = 511
"""The value of egress_spec that drops a packet (simple_switch's default)."""


@dataclass(frozen=True, slots=True)
class PrimitiveReader:
    """Reads the primitives of one action (or parser state, with no parameters)."""

    names: Names
    calculations: Mapping[str, Calculation]
    widths: tuple[int, ...] = ()

    @property
    def expressions(self) -> ExpressionReader:
        return ExpressionReader(self.names, self.widths)

    def read_all(self, primitives: list[Json]) -> tuple[Primitive, ...]:
        """All primitives of an action. Where one becomes several, the targets of jumps follow."""
        groups = [self.read(each) for each in primitives]
        starts = [0]
        for group in groups:
            starts.append(starts[-1] + len(group))
        return tuple(_moved(each, starts) for group in groups for each in group)

    def read(self, json: Json) -> tuple[Primitive, ...]:
        op = json["op"]
        reader = PRIMITIVES.get(op)
        if reader is None:
            raise ProgramError(f"the primitive {op} is not supported")
        parameters = json["parameters"]
        least, most = _arity(reader)
        if not isinstance(parameters, list) or not least <= len(cast("list[Json]", parameters)) <= most:
            raise ProgramError(f"the primitive {op} takes {most} parameters")
        result = reader(self, *cast("list[Json]", parameters))
        return result if isinstance(result, tuple) else (result,)

    def value(self, json: Json) -> Expr:
        return self.expressions.read(json)

    def constant(self, json: Json) -> int:
        value = self.value(json)
        if not isinstance(value, Const):
            raise ProgramError("a primitive has a parameter that should be constant and is not")
        return value.value

    def target(self, json: Json) -> Target:
        """What can be assigned to."""
        value = self.value(json)
        if isinstance(value, FieldValue):
            return value.field
        if isinstance(value, ElementField | LastField):
            return value
        raise ProgramError(f"an assignment to {json['type']} is not supported")

    def name(self, json: Json) -> str:
        """The name of an array."""
        if not isinstance(json["value"], str):
            raise ProgramError("a primitive has a parameter that should be a name and is not")
        return json["value"]

    def calculation(self, json: Json) -> Calculation:
        if json["value"] not in self.calculations:
            raise ProgramError(f"the program refers to calculation {json['value']}, which it does not define")
        return self.calculations[json["value"]]


def _arity(reader: _Reader) -> tuple[int, int]:
    """How many parameters a primitive takes, at least and at most."""
    most = reader.__code__.co_argcount - 1
    return most - len(reader.__defaults__ or ()), most


_Reader = Callable[..., "Primitive | tuple[Primitive, ...]"]
PRIMITIVES: dict[str, _Reader] = {}
"""What reads each primitive, by its name."""


def _primitive(*ops: str) -> Callable[[_Reader], _Reader]:
    def register(reader: _Reader) -> _Reader:
        for op in ops:
            PRIMITIVES[op] = reader
        return reader

    return register


def _moved(primitive: Primitive, starts: list[int]) -> Primitive:
    if isinstance(primitive, Jump):
        return Jump(_start(starts, primitive.target))
    if isinstance(primitive, JumpIfZero):
        return JumpIfZero(primitive.condition, _start(starts, primitive.target))
    return primitive


def _start(starts: list[int], target: int) -> int:
    if not 0 <= target < len(starts):
        raise ProgramError(f"an action jumps to step {target}, which it does not have")
    return starts[target]


# --- assignments ---


@_primitive("assign", "modify_field")
def _assign(reader: PrimitiveReader, target: Json, value: Json) -> Primitive:
    return Assign(reader.target(target), reader.value(value))


@_primitive("assign_VL")
def _assign_varbit(reader: PrimitiveReader, target: Json, source: Json) -> Primitive:
    fields = [reader.names.field(*each["value"]) for each in (target, source)]
    for each in fields:
        if not each.varbit:
            raise ProgramError(f"assign_VL is for varbit fields, which {each.full_name} is not")
    return AssignVarbit(*fields)


def _arithmetic_step(reader: PrimitiveReader, op: BinaryOp, target: Json, left: Json, right: Json) -> Primitive:
    return Assign(reader.target(target), Binary(op, reader.value(left), reader.value(right)))


def _arithmetic(op: BinaryOp) -> _Reader:
    def read(reader: PrimitiveReader, target: Json, left: Json, right: Json) -> Primitive:
        return _arithmetic_step(reader, op, target, left, right)

    return read


for _name, _op in {
    "add": BinaryOp.ADD,
    "subtract": BinaryOp.SUBTRACT,
    "bit_and": BinaryOp.BIT_AND,
    "bit_or": BinaryOp.BIT_OR,
    "bit_xor": BinaryOp.BIT_XOR,
    "shift_left": BinaryOp.SHIFT_LEFT,
    "shift_right": BinaryOp.SHIFT_RIGHT,
}.items():
    _primitive(_name)(_arithmetic(_op))


@_primitive("add_to_field")
def _add_to_field(reader: PrimitiveReader, target: Json, value: Json) -> Primitive:
    return _arithmetic_step(reader, BinaryOp.ADD, target, target, value)


@_primitive("subtract_from_field")
def _subtract_from_field(reader: PrimitiveReader, target: Json, value: Json) -> Primitive:
    return _arithmetic_step(reader, BinaryOp.SUBTRACT, target, target, value)


@_primitive("modify_field_with_hash_based_offset")
def _hash(reader: PrimitiveReader, target: Json, base: Json, calculation: Json, size: Json) -> Primitive:
    return HashInto(reader.target(target), reader.value(base), reader.calculation(calculation), reader.value(size))


@_primitive("modify_field_rng_uniform")
def _random(reader: PrimitiveReader, target: Json, low: Json, high: Json) -> Primitive:
    return RandomInto(reader.target(target), reader.value(low), reader.value(high))


# --- headers ---


@_primitive("add_header", "add_header_fast")
def _add_header(reader: PrimitiveReader, header: Json) -> Primitive:
    return AddHeader(reader.expressions.header(header))


@_primitive("remove_header")
def _remove_header(reader: PrimitiveReader, header: Json) -> Primitive:
    return RemoveHeader(reader.expressions.header(header))


@_primitive("assign_header", "copy_header")
def _copy_header(reader: PrimitiveReader, target: Json, source: Json) -> Primitive:
    copy = CopyHeader(reader.expressions.header(target), reader.expressions.header(source))
    check_headers(copy.target, copy.source)
    return copy


@_primitive("assign_union")
def _copy_union(reader: PrimitiveReader, target: Json, source: Json) -> Primitive:
    copy = CopyUnion(reader.expressions.union(target), reader.expressions.union(source))
    check_unions(copy.target, copy.source)
    return copy


@_primitive("assign_header_stack", "assign_union_stack")
def _copy_stack(reader: PrimitiveReader, target: Json, source: Json) -> Primitive:
    copy = CopyStack(reader.expressions.any_stack(target), reader.expressions.any_stack(source))
    check_stacks(copy.target, copy.source)
    return copy


@_primitive("push")
def _push(reader: PrimitiveReader, stack: Json, count: Json) -> Primitive:
    return Push(reader.expressions.any_stack(stack), reader.constant(count))


@_primitive("pop")
def _pop(reader: PrimitiveReader, stack: Json, count: Json) -> Primitive:
    return Pop(reader.expressions.any_stack(stack), reader.constant(count))


# --- control ---


@_primitive("_jump")
def _jump(reader: PrimitiveReader, target: Json) -> Primitive:
    return Jump(reader.constant(target))


@_primitive("_jump_if_zero")
def _jump_if_zero(reader: PrimitiveReader, condition: Json, target: Json) -> Primitive:
    return JumpIfZero(reader.value(condition), reader.constant(target))


@_primitive("exit")
def _exit(_: PrimitiveReader) -> Primitive:
    return Exit()


@_primitive("no_op")
def _no_op(_: PrimitiveReader) -> tuple[Primitive, ...]:
    return ()


@_primitive("drop", "mark_to_drop")
def _drop(reader: PrimitiveReader, header: Json = None) -> tuple[Primitive, ...]:
    name = "standard_metadata" if header is None else header["value"]
    fields = {field.name: field for field in reader.names.header(name).fields}
    if "egress_spec" not in fields:
        raise ProgramError(f"mark_to_drop needs standard metadata, which {name} is not")
    steps: tuple[Primitive, ...] = (Assign(fields["egress_spec"], Const(DROP_PORT)),)
    if "mcast_grp" in fields:
        steps += (Assign(fields["mcast_grp"], Const(0)),)
    return steps


@_primitive("log_msg")
def _log(reader: PrimitiveReader, text: Json, values: Json) -> Primitive:
    return Log(str(text["value"]), tuple(reader.value(each) for each in values["value"]))


@_primitive("assert")
def _assert(reader: PrimitiveReader, condition: Json) -> Primitive:
    return Check(reader.value(condition), "assert")


@_primitive("assume")
def _assume(reader: PrimitiveReader, condition: Json) -> Primitive:
    return Check(reader.value(condition), "assume")


# --- state ---


@_primitive("count")
def _count(reader: PrimitiveReader, counter: Json, index: Json) -> Primitive:
    return Count(reader.name(counter), reader.value(index))


@_primitive("execute_meter")
def _execute_meter(reader: PrimitiveReader, meter: Json, index: Json, target: Json) -> Primitive:
    return ExecuteMeter(reader.name(meter), reader.value(index), reader.target(target))


@_primitive("register_read")
def _register_read(reader: PrimitiveReader, target: Json, register: Json, index: Json) -> Primitive:
    return RegisterRead(reader.target(target), reader.name(register), reader.value(index))


@_primitive("register_write")
def _register_write(reader: PrimitiveReader, register: Json, index: Json, value: Json) -> Primitive:
    return RegisterWrite(reader.name(register), reader.value(index), reader.value(value))


# --- requests to the runtime ---


@_primitive("truncate")
def _truncate(reader: PrimitiveReader, length: Json) -> Primitive:
    return Truncate(reader.value(length))


@_primitive("clone_ingress_pkt_to_egress")
def _clone_ingress(reader: PrimitiveReader, session: Json, fields: Json) -> Primitive:
    return Request(RequestKind.CLONE_INGRESS, reader.constant(fields), reader.value(session))


@_primitive("clone_egress_pkt_to_egress")
def _clone_egress(reader: PrimitiveReader, session: Json, fields: Json) -> Primitive:
    return Request(RequestKind.CLONE_EGRESS, reader.constant(fields), reader.value(session))


@_primitive("generate_digest")
def _digest(reader: PrimitiveReader, _receiver: Json, fields: Json) -> Primitive:
    return Request(RequestKind.DIGEST, reader.constant(fields))


@_primitive("resubmit")
def _resubmit(reader: PrimitiveReader, fields: Json) -> Primitive:
    return Request(RequestKind.RESUBMIT, reader.constant(fields))


@_primitive("recirculate")
def _recirculate(reader: PrimitiveReader, fields: Json) -> Primitive:
    return Request(RequestKind.RECIRCULATE, reader.constant(fields))
