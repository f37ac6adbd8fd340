"""bmv2's JSON expressions -> `switch.expressions`."""

from __future__ import annotations

from cais_tools.switch.expressions import (
    Binary,
    BinaryOp,
    BoolConst,
    Cast,
    CastOp,
    Choice,
    Const,
    ElementField,
    Expr,
    FieldValue,
    HeaderRef,
    HeadersEqual,
    IsValid,
    LastField,
    LastIndex,
    ParamValue,
    RegisterValue,
    StackElement,
    Unary,
    UnaryOp,
    UnionElement,
    UnionIsValid,
    UnionMember,
    UnionRef,
)
from cais_tools.switch.headers import Header, HeaderStack, HeaderUnion, HeaderUnionStack
from cais_tools.switch.loader.limits import field_width
from cais_tools.switch.loader.names import VALID, Json, Names
from cais_tools.switch.refusals import ProgramError

__all__ = ["ExpressionReader", "hex_value"]

_UNARY = {each.value: each for each in (UnaryOp.INVERT, UnaryOp.NOT, UnaryOp.BOOL_TO_DATA, UnaryOp.DATA_TO_BOOL)}
_BINARY = {each.value: each for each in BinaryOp}
_CASTS = {each.value: each for each in CastOp}
_ELEMENT = ("dereference_header_stack", "dereference_stack")  # two names, one operator
_HEADER_OPS = (*_ELEMENT, "access_union_header")
_UNION_OPS = ("dereference_union_stack",)
_COUNT_MASK = (1 << 64) - 1


def hex_value(text: str) -> int:
    """`0x0a` or `-0x0a`."""
    return int(text, 16)


class ExpressionReader:
    """Reads expressions within one program; `widths` are those of the parameters of the action around them."""

    def __init__(self, names: Names, widths: tuple[int, ...] = ()) -> None:
        self._names = names
        self._widths = widths

    def read(self, json: Json) -> Expr:
        """Any expression with a value."""
        kind, value = json["type"], json["value"]
        if kind == "expression":
            # p4c wraps expressions twice where a parameter is one.
            return self.read(value) if "op" not in value else self._operation(value)
        if kind == "field":
            return self.field(*value)
        if kind == "hexstr":
            return Const(hex_value(value))
        if kind == "bool":
            return BoolConst(bool(value))
        if kind in ("local", "runtime_data"):
            return self._param(value)
        if kind == "stack_field":
            stack = self._names.stack(value[0])
            return LastField(stack, self._names.offset(stack.headers[0], value[1]))
        if kind == "union_stack_field":
            return self.union_stack_field(*value)
        if kind == "register":
            return RegisterValue(self._names.register(value[0]), self.read(value[1]))
        raise ProgramError(f"expressions of type {kind} are not supported")

    def field(self, header: str, name: str) -> Expr:
        """A field, or the validity of a header as a number."""
        if name == VALID:
            return Unary(UnaryOp.BOOL_TO_DATA, IsValid(self._names.header(header)))
        return FieldValue(self._names.field(header, name))

    def union_stack_field(self, stack_name: str, member_name: str, field_name: str) -> LastField:
        stack = self._names.union_stack(stack_name)
        member = member_index(stack, member_name)
        header = stack.unions[0].headers[member]
        return LastField(stack, self._names.offset(header, field_name), member)

    def header(self, json: Json) -> HeaderRef:
        """A header, by name or chosen at run time."""
        kind, value = json["type"], json["value"]
        if kind == "header":
            return self._names.packet_header(value)
        if kind == "expression" and "op" not in value:
            return self.header(value)
        if kind == "expression" and value["op"] in _ELEMENT:
            stack = self._names.stack(value["left"]["value"])
            index = self.read(value["right"])
            if isinstance(index, Const) and 0 <= index.value < len(stack.headers):
                return stack.headers[index.value]
            return StackElement(stack, index)
        if kind == "expression" and value["op"] == "access_union_header":
            union, member = self.union(value["left"]), int(value["right"])
            return union.headers[member] if isinstance(union, HeaderUnion) else UnionMember(union, member)
        raise ProgramError(f"header expressions of type {kind} are not supported")

    def union(self, json: Json) -> UnionRef:
        """A header union, by name or chosen at run time."""
        kind, value = json["type"], json["value"]
        if kind == "header_union":
            return self._names.union(value)
        if kind == "expression" and "op" not in value:
            return self.union(value)
        if kind == "expression" and value["op"] == "dereference_union_stack":
            stack = self._names.union_stack(value["left"]["value"])
            index = self.read(value["right"])
            if isinstance(index, Const) and 0 <= index.value < len(stack.unions):
                return stack.unions[index.value]
            return UnionElement(stack, index)
        raise ProgramError(f"header union expressions of type {kind} are not supported")

    def any_stack(self, json: Json) -> HeaderStack | HeaderUnionStack:
        """A stack of headers or of header unions."""
        name = json["value"]
        if json["type"] == "header_union_stack" or name in self._names.union_stacks:
            return self._names.union_stack(name)
        return self._names.stack(name)

    def _operation(self, json: Json) -> Expr:
        op, left, right = json["op"], json.get("left"), json.get("right")
        if op == "?":
            return Choice(self.read(json["cond"]), self.read(left), self.read(right))
        if op in ("==", "!="):
            return self._equality(op, left, right)
        if op == "access_field":
            return self._access_field(left, int(right))
        if op == "valid":
            return IsValid(self.header(right))
        if op == "valid_union":
            return UnionIsValid(self.union(right))
        if op == "last_stack_index":
            # bmv2 counts in 64 bits without a sign: of an empty stack it is no -1.
            return Binary(BinaryOp.BIT_AND, LastIndex(self.any_stack(right)), Const(_COUNT_MASK))
        if op == "size_stack":
            # bmv2 means how many elements are in use, not how many there are.
            return Binary(BinaryOp.ADD, LastIndex(self.any_stack(right)), Const(1))
        if op in _CASTS:
            return self._cast(_CASTS[op], left, right)
        if left is None and op in ("+", "-"):
            operand = self.read(right)
            return Unary(UnaryOp.NEGATE, operand) if op == "-" else operand
        if op in _UNARY:
            return Unary(_UNARY[op], self.read(right))
        if op in _BINARY:
            return Binary(_BINARY[op], self.read(left), self.read(right))
        raise ProgramError(f"the operator {op} is not supported")

    def _cast(self, op: CastOp, left: Json, right: Json) -> Expr:
        width = self.read(right)
        if not isinstance(width, Const):
            raise ProgramError(f"{op.value} to a width that is not constant is not supported")
        return Cast(op, self.read(left), field_width(f"a {op.value}", width.value))

    def _equality(self, op: str, left: Json, right: Json) -> Expr:
        if _yields(left, ("header",), _HEADER_OPS):
            equal: Expr = HeadersEqual(self.header(left), self.header(right))
        elif _yields(left, ("header_union",), _UNION_OPS):
            equal = _unions_equal(self.union(left), self.union(right))
        else:
            return Binary(_BINARY[op], self.read(left), self.read(right))
        return equal if op == "==" else Unary(UnaryOp.NOT, equal)

    def _access_field(self, left: Json, offset: int) -> Expr:
        header = self.header(left)
        if isinstance(header, Header):
            hidden = offset >= len(header.fields)
            return Unary(UnaryOp.BOOL_TO_DATA, IsValid(header)) if hidden else FieldValue(header.fields[offset])
        if offset >= len(_sample(header).fields):
            return Unary(UnaryOp.BOOL_TO_DATA, IsValid(header))
        return ElementField(header, offset)

    def _param(self, index: int) -> Expr:
        if not 0 <= index < len(self._widths):
            raise ProgramError(f"an action refers to parameter {index}, but has only {len(self._widths)}")
        return ParamValue(index, self._widths[index])


def member_index(stack: HeaderUnionStack, member: str) -> int:
    """The place of the header `member` in the unions of a stack."""
    names = [header.name.rpartition(".")[2] for header in stack.unions[0].headers]
    if member not in names:
        raise ProgramError(f"the unions of {stack.name} have no header {member}")
    return names.index(member)


def _sample(header: StackElement | UnionMember) -> Header:
    """One of the headers that may be meant; all are of one type."""
    if isinstance(header, StackElement):
        return header.stack.headers[0]
    return header.union.stack.unions[0].headers[header.member]


def _yields(json: Json, kinds: tuple[str, ...], ops: tuple[str, ...]) -> bool:
    while json["type"] == "expression" and "op" not in json["value"]:
        json = json["value"]
    return json["type"] in kinds or (json["type"] == "expression" and json["value"]["op"] in ops)


def _unions_equal(left: UnionRef, right: UnionRef) -> Expr:
    """Equal when the same member is valid in both and equal there, as bmv2 compares."""
    count = len((left if isinstance(left, HeaderUnion) else left.stack.unions[0]).headers)
    parts: list[Expr] = [HeadersEqual(_member(left, each), _member(right, each)) for each in range(count)]
    result = parts[0]
    for part in parts[1:]:
        result = Binary(BinaryOp.OR, result, part)
    return result


def _member(union: UnionRef, index: int) -> HeaderRef:
    return union.headers[index] if isinstance(union, HeaderUnion) else UnionMember(union, index)
