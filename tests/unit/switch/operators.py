"""Programs that use each operator of bmv2's expressions, with what comes out of one frame."""

from __future__ import annotations

from typing import Any

from tests.unit.switch.programs import assign, const, field, minimal, table

__all__ = ["FRAME", "PROGRAMS", "op", "result_header", "value"]

Json = dict[str, Any]
FRAME = bytes.fromhex("81 1234 0f 55 66 77")
"""h.a, h.b, h.c, two elements of the stack k, and the payload."""

A, B, C, S = field("h", "a"), field("h", "b"), field("h", "c"), field("m", "s")


def op(name: str, left: Any = None, right: Any = None, **more: Any) -> Json:
    return {"type": "expression", "value": {"op": name, "left": left, "right": right, **more}}


def value(expression: Json) -> Json:
    """A parameter that is an expression: wrapped twice, as p4c does."""
    return {"type": "expression", "value": expression}


def _truth(name: str, left: Any = None, right: Any = None) -> Json:
    return op("b2d", None, op(name, left, right))


def _choice(condition: Json, left: Json, right: Json) -> Json:
    return op("?", left, right, cond=condition)


_HUGE = const((1 << 128) - 1)
_NEGATIVE = op("-", C, B)
_TRUE, _FALSE = op("d2b", None, C), {"type": "bool", "value": False}

NUMBERS: dict[str, tuple[Json, int]] = {
    "add": (op("+", A, C), 0x90),
    "carry": (op(">>", op("+", _HUGE, A), const(128)), 1),
    "plus": (op("+", None, A), 0x81),
    "minus": (op("-", None, A), 0xFF7F),
    "subtract": (_NEGATIVE, 0xEDDB),
    "multiply": (op(">>", op("*", _HUGE, _HUGE), const(240)), 0xFFFF),
    "multiply_negative": (op("*", S, A), 0xFD7B),
    "divide": (op("/", B, C), 0x136),
    "modulo": (op("%", B, A), 0x10),
    "bit_and": (op("&", _NEGATIVE, const(0xFF)), 0xDB),
    "bit_or": (op("|", _NEGATIVE, A), 0xEDDB),
    "bit_xor": (op("^", _NEGATIVE, A), 0xED5A),
    "invert": (op("~", None, A), 0xFF7E),
    "shift_left": (op("<<", B, const(4)), 0x2340),
    "shift_right": (op(">>", B, const(4)), 0x123),
    "shift_negative": (op(">>", _NEGATIVE, const(4)), 0xFEDD),
    "shift_far_left": (op("<<", C, const(200)), 0),
    "shift_far_right": (op(">>", _NEGATIVE, const(200)), 0xFFFF),
    "shift_there_and_back": (op(">>", op("<<", C, B), B), 0xF),
    "signed": (op("+", S, const(0)), 0xFFFB),
    "signed_shift": (op(">>", S, const(1)), 0xFFFD),
    "wrap": (op("two_comp_mod", A, const(8)), 0xFF81),
    "saturate": (op("sat_cast", B, const(8)), 0x7F),
    "saturate_low": (op("sat_cast", _NEGATIVE, const(8)), 0xFF80),
    "saturate_unsigned": (op("usat_cast", B, const(8)), 0xFF),
    "saturate_at_zero": (op("usat_cast", _NEGATIVE, const(8)), 0),
    "register": ({"type": "register", "value": ["cells", const(1)]}, 0x55AA),
    "register_at": ({"type": "register", "value": ["cells", op("-", C, const(14))]}, 0x55AA),
}

TRUTHS: dict[str, tuple[Json, int]] = {
    "equal": (_truth("==", A, const(0x81)), 1),
    "not_equal": (_truth("!=", A, const(0x81)), 0),
    "less": (_truth("<", _NEGATIVE, const(0)), 1),
    "less_equal": (_truth("<=", C, const(15)), 1),
    "greater": (_truth(">", S, C), 0),
    "greater_equal": (_truth(">=", C, const(16)), 0),
    "no_wrap": (_truth("==", op("+", A, const(0xFF)), const(0x80)), 0),
    "and": (_truth("and", _TRUE, _FALSE), 0),
    "or": (_truth("or", _TRUE, _FALSE), 1),
    "not": (_truth("not", None, _TRUE), 0),
    "same": (_truth("==", _TRUE, _FALSE), 0),
    "differ": (_truth("!=", _TRUE, _FALSE), 1),
    "choose": (_choice(_TRUE, A, B), 0x81),
    "choose_other": (_choice(op("<", A, C), A, _choice(_FALSE, A, B)), 0x1234),
    "choose_truth": (op("b2d", None, _choice(_FALSE, _TRUE, op("not", None, _FALSE))), 1),
}


def _at(index: Json, name: str = "dereference_header_stack") -> Json:
    return op(name, _K, index)


def _header(name: str) -> Json:
    return {"type": "header", "value": name}


def _union(name: str) -> Json:
    return {"type": "header_union", "value": name}


_K, _E = ({"type": "header_stack", "value": each} for each in "ke")
_U = {"type": "header_union_stack", "value": "u"}
_ONE = op("-", C, const(14))
_U_AT = op("dereference_union_stack", _U, _ONE)

HEADERS: dict[str, tuple[Json, int]] = {
    "valid": (_truth("valid", None, _header("h")), 1),
    "valid_at": (_truth("valid", None, _at(op("+", _ONE, const(1)))), 0),
    "hidden": (field("k0", "$valid$"), 1),
    "field_at": (op("access_field", _at(_ONE), 0), 0x66),
    "field_of": (op("access_field", _header("h"), 1), 0x1234),
    "old_name": (op("access_field", _at(const(0), "dereference_stack"), 0), 0x55),
    "last": ({"type": "stack_field", "value": ["k", "b"]}, 0x66),
    "last_index": (op("last_stack_index", None, _K), 1),
    "size": (op("size_stack", None, _K), 2),
    "empty": (op("size_stack", None, _E), 0),
    "empty_last": (op("last_stack_index", None, _E), 0xFFFF),
    "empty_last_is_unsigned": (op(">>", op("last_stack_index", None, _E), const(60)), 0xF),
    "equal_headers": (_truth("==", _header("k0"), _at(const(0))), 1),
    "other_headers": (_truth("!=", _header("k0"), _at(_ONE)), 1),
    "invalid_headers": (_truth("==", _header("k2"), _header("k2")), 0),
    "valid_union": (_truth("valid_union", None, _union("u0")), 1),
    "valid_union_at": (_truth("valid_union", None, _U_AT), 1),
    "no_union": (_truth("valid_union", None, _union("w")), 0),
    "equal_unions": (_truth("==", _union("u0"), _U_AT), 1),
    "other_unions": (_truth("!=", _union("u0"), _union("v")), 1),
    "invalid_unions": (_truth("==", _union("w"), _union("w")), 0),
}

UNION_MEMBERS: dict[str, tuple[Json, int]] = {
    "member": (_truth("valid", None, op("access_union_header", _union("u0"), 1)), 1),
    "member_at": (op("access_field", op("access_union_header", _U_AT, 1), 0), 0x81),
}
"""Here bmv2 crashes: it builds `access_union_header` as `access_field`."""


def result_header(program: Json, cases: dict[str, tuple[Json, int]]) -> list[Json]:
    """A header `r` with 16 bits for each case, and the steps that fill it."""
    fields = [[name, 16, False] for name in cases]
    kinds, headers = program["header_types"], program["headers"]
    kinds.append({"name": "r_t", "id": len(kinds), "fields": fields})
    headers.append({"name": "r", "id": len(headers), "header_type": "r_t", "metadata": False})
    program["deparsers"][0]["order"] = ["r", "h"]
    steps: list[Json] = [{"op": "add_header", "parameters": [_header("r")]}]
    for name, (expression, _) in cases.items():
        simple = expression["type"] in ("field", "register", "stack_field")
        steps.append(assign(field("r", name), expression if simple else value(expression)))
    return steps


def _declare(program: Json) -> None:
    """Stacks k and e, the stack u of the unions u0 and u1, the unions v and w, a signed field, a register."""
    program["header_types"] += [
        {"name": "b_t", "id": 3, "fields": [["b", 8, False]]},
        {"name": "m_t", "id": 4, "fields": [["s", 8, True]]},
    ]
    members = [f"{union}.{member}" for union in ("u0", "u1", "v", "w") for member in "pq"]
    names = ["k0", "k1", "k2", "e0", *members]
    ids = {name: number for number, name in enumerate(names, 3)}
    program["headers"] += [{"name": each, "id": ids[each], "header_type": "b_t", "metadata": False} for each in names]
    program["headers"].append({"name": "m", "id": 3 + len(names), "header_type": "m_t", "metadata": True})
    program["header_stacks"] = [
        {"name": name, "id": number, "header_type": "b_t", "size": len(own), "header_ids": [ids[each] for each in own]}
        for number, (name, own) in enumerate({"k": ["k0", "k1", "k2"], "e": ["e0"]}.items())
    ]
    program["header_union_types"] = [{"name": "union_t", "id": 0, "headers": [["p", "b_t"], ["q", "b_t"]]}]
    program["header_unions"] = [
        {"name": name, "id": number, "union_type": "union_t", "header_ids": [ids[f"{name}.p"], ids[f"{name}.q"]]}
        for number, name in enumerate(("u0", "u1", "v", "w"))
    ]
    program["header_union_stacks"] = [
        {"name": "u", "id": 0, "union_type": "union_t", "size": 2, "header_union_ids": [0, 1]}
    ]
    program["register_arrays"] = [{"name": "cells", "id": 0, "size": 2, "bitwidth": 16}]


def _program(cases: dict[str, tuple[Json, int]]) -> tuple[Json, bytes]:
    program = minimal()
    _declare(program)
    extract = {"op": "extract", "parameters": [{"type": "stack", "value": "k"}]}
    program["parsers"][0]["parse_states"][0]["parser_ops"] += [extract, extract]
    register = {"type": "register_array", "value": "cells"}
    steps: list[Json] = [
        assign(S, value(op("-", None, const(5)))),
        {"op": "register_write", "parameters": [register, const(1), const(0x55AA)]},
    ]
    for name in ("u0.q", "u1.q", "v.p"):
        steps += [{"op": "add_header", "parameters": [_header(name)]}, assign(field(name, "b"), A)]
    steps += result_header(program, cases)
    steps.append(assign(field("standard_metadata", "egress_spec"), const(1)))
    table(program, "t", [], {"act": ([], steps)}, default="act")
    return program, b"".join(each.to_bytes(2, "big") for _, each in cases.values()) + FRAME[:4] + FRAME[6:]


PROGRAMS = {"numbers": _program(NUMBERS), "truths": _program(TRUTHS), "headers": _program(HEADERS)}
OURS_ALONE = {"union_members": _program(UNION_MEMBERS)}
