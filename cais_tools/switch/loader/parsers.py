"""The parser of a bmv2 JSON -> `program.Parser`."""

from __future__ import annotations

from cais_tools.switch.expressions import Const, Expr, FieldValue, LastField, Lookahead
from cais_tools.switch.headers import elements
from cais_tools.switch.loader.expressions import ExpressionReader, hex_value, member_index
from cais_tools.switch.loader.limits import MAX_WIDTH, field_width
from cais_tools.switch.loader.names import Json, Names
from cais_tools.switch.loader.primitives import PrimitiveReader
from cais_tools.switch.primitives import Assign, AssignVarbit, Exit, Jump, JumpIfZero, Request
from cais_tools.switch.program import (
    Advance,
    Extract,
    ExtractNext,
    Parser,
    ParserOp,
    ParserState,
    SelectCase,
    ValueSetSpec,
    Verify,
)
from cais_tools.switch.refusals import ProgramError

__all__ = ["CORE_ERRORS", "read_errors", "read_parser", "read_value_sets"]

CORE_ERRORS = (
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
)

_NOT_IN_PARSERS = (Jump, JumpIfZero, Exit, Request)


def read_errors(root: Json) -> dict[str, int]:
    """The numbers of the parser errors by name; core errors that the program lacks get the next ones, as in bmv2."""
    errors = {name: int(number) for name, number in root.get("errors", [])}
    following = max(errors.values(), default=-1) + 1
    missing = [name for name in CORE_ERRORS if name not in errors]
    return errors | {name: following + place for place, name in enumerate(missing)}


def read_value_sets(root: Json) -> dict[str, ValueSetSpec]:
    """The parser value sets by name."""
    sets: dict[str, ValueSetSpec] = {}
    for each in root.get("parse_vsets", []):
        width = int(each["compressed_bitwidth"])
        sets[each["name"]] = ValueSetSpec(each["name"], int(each.get("max_size", 1024)), (width,))
    return sets


def read_parser(json: Json, names: Names, primitives: PrimitiveReader) -> Parser:
    reader = _ParserReader(names, primitives)
    states = {each["name"]: reader.state(each) for each in json["parse_states"]}
    parser = Parser(json["name"], json["init_state"], states)
    _check_targets(parser)
    return parser


def _check_targets(parser: Parser) -> None:
    targets = {parser.start}
    for state in parser.states.values():
        targets |= {state.default, *(case.next_state for case in state.cases)}
    for target in targets - {None}:
        if target not in parser.states:
            raise ProgramError(f"the parser goes to state {target}, which it does not have")


class _ParserReader:
    def __init__(self, names: Names, primitives: PrimitiveReader) -> None:
        self._names = names
        self._primitives = primitives
        self._expressions = ExpressionReader(names)

    def state(self, json: Json) -> ParserState:
        ops = tuple(op for each in json["parser_ops"] for op in self._ops(each))
        keys = tuple(self._key(each) for each in json["transition_key"])
        cases: list[SelectCase] = []
        default: str | None = None
        for each in json["transitions"]:
            kind = each.get("type") or ("default" if each["value"] == "default" else "hexstr")
            if kind == "default":
                default = each["next_state"]
            else:
                cases.append(self._case(kind, each))
        return ParserState(json["name"], ops, keys, tuple(cases) if keys else (), default)

    def _case(self, kind: str, json: Json) -> SelectCase:
        mask = None if json.get("mask") is None else hex_value(json["mask"])
        if kind == "hexstr":
            return SelectCase(json["next_state"], hex_value(json["value"]), mask)
        if kind == "parse_vset":
            return SelectCase(json["next_state"], 0, mask, json["value"])
        raise ProgramError(f"parser transitions of type {kind} are not supported")

    def _key(self, json: Json) -> tuple[Expr, int]:
        kind, value = json["type"], json["value"]
        if kind == "lookahead":
            ahead = _lookahead(*value)
            return ahead, ahead.width
        if kind not in ("field", "stack_field", "union_stack_field"):
            raise ProgramError(f"parser keys of type {kind} are not supported")
        expr = self._expressions.read(json)
        if isinstance(expr, FieldValue):
            return expr, expr.field.width
        if isinstance(expr, LastField):
            return expr, elements(expr.stack, expr.member)[0].fields[expr.offset].width
        return expr, 1

    def _ops(self, json: Json) -> tuple[ParserOp, ...]:
        op, params = json["op"], json["parameters"]
        if op in ("extract", "extract_VL"):
            return (self._extract(params[0], params[1] if op == "extract_VL" else None),)
        if op == "set":
            return (self._set(*params),)
        if op == "verify":
            error = Const(params[1]) if isinstance(params[1], int) else self._expressions.read(params[1])
            return (Verify(self._expressions.read(params[0]), error),)
        if op == "shift":
            return (Advance(Const(int(params[0]) * 8)),)
        if op == "advance":
            return (Advance(self._expressions.read(params[0])),)
        if op == "primitive":
            return self._primitive(params[0])
        raise ProgramError(f"the parser operation {op} is not supported")

    def _primitive(self, json: Json) -> tuple[ParserOp, ...]:
        steps = self._primitives.read(json)
        if any(isinstance(step, _NOT_IN_PARSERS) for step in steps):
            raise ProgramError(f"the primitive {json['op']} is not supported in a parser")
        return steps

    def _extract(self, target: Json, length: Json) -> ParserOp:
        kind, value = target["type"], target["value"]
        bits = None if length is None else self._expressions.read(length)
        if kind == "regular":
            header = self._names.packet_header(value)
            if header.varbit is not None and bits is None:
                raise ProgramError(f"extracting {header.name}, which has a varbit field, needs a length")
            return Extract(header, bits)
        if kind == "stack":
            return ExtractNext(self._names.stack(value), 0, bits)
        if kind == "union_stack":
            stack = self._names.union_stack(value[0])
            return ExtractNext(stack, member_index(stack, value[1]), bits)
        raise ProgramError(f"extracting into a {kind} is not supported")

    def _set(self, target: Json, source: Json) -> ParserOp:
        if source["type"] == "lookahead":
            return Assign(self._primitives.target(target), _lookahead(*source["value"]))
        value = self._expressions.read(source)
        field = self._primitives.target(target)
        if isinstance(value, FieldValue) and value.field.varbit:
            return AssignVarbit(self._names.field(*target["value"]), value.field)
        return Assign(field, value)


def _lookahead(offset: Json, width: Json) -> Lookahead:
    if not 0 <= int(offset) <= MAX_WIDTH:
        raise ProgramError(f"the parser looks {offset} bits ahead; 0 to {MAX_WIDTH} are supported")
    return Lookahead(int(offset), field_width("a lookahead", int(width)))
