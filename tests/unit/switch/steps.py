"""Programs of primitives that p4c does not write today, though bmv2 has them, with what comes out of one frame."""

from __future__ import annotations

from typing import Any

from tests.unit.switch.programs import assign, const, field, minimal, table

__all__ = ["FRAME", "PROGRAMS"]

Json = dict[str, Any]
FRAME = bytes.fromhex("81 1234 0f 5566 77")
"""h.a, h.b, h.c, then what `headers` extracts into a varbit field."""

A, B, C = field("h", "a"), field("h", "b"), field("h", "c")


def _step(op: str, *parameters: Any) -> Json:
    return {"op": op, "parameters": list(parameters)}


def _header(name: str) -> Json:
    return {"type": "header", "value": name}


def _equal(left: Json, right: Json) -> Json:
    """1 or 0, wrapped twice as p4c writes parameters that are expressions."""
    equal = {"type": "expression", "value": {"op": "==", "left": left, "right": right}}
    number = {"type": "expression", "value": {"op": "b2d", "left": None, "right": equal}}
    return {"type": "expression", "value": number}


_RESULTS: dict[str, tuple[list[Json], int]] = {
    "add": ([_step("add", field("r", "add"), A, C)], 0x90),
    "subtract": ([_step("subtract", field("r", "subtract"), C, A)], 0xFF8E),
    "bit_and": ([_step("bit_and", field("r", "bit_and"), B, const(0xFF))], 0x34),
    "bit_or": ([_step("bit_or", field("r", "bit_or"), B, C)], 0x123F),
    "bit_xor": ([_step("bit_xor", field("r", "bit_xor"), B, const(0xFFFF))], 0xEDCB),
    "shift_left": ([_step("shift_left", field("r", "shift_left"), B, const(4))], 0x2340),
    "shift_right": ([_step("shift_right", field("r", "shift_right"), B, const(4))], 0x0123),
    "modify": ([_step("modify_field", field("r", "modify"), B)], 0x1234),
    "add_to": ([_step("add_to_field", field("r", "add_to"), const(0x10001))], 1),
    "subtract_from": ([_step("subtract_from_field", field("r", "subtract_from"), const(1))], 0xFFFF),
    "nothing": ([_step("no_op")], 0),
    "assertion": ([_step("assert", _equal(C, const(15))), _step("assume", _equal(C, const(15)))], 0),
    "draw": ([_step("modify_field_rng_uniform", field("r", "draw"), const(7), const(7))], 7),
}


def arithmetic() -> tuple[Json, bytes]:
    """A field of header `r` for each primitive, all in one action that also jumps."""
    program = minimal()
    fields = [[name, 16, False] for name in (*_RESULTS, "jumped")]
    program["header_types"].append({"name": "r_t", "id": 3, "fields": fields})
    program["headers"].append({"name": "r", "id": 3, "header_type": "r_t", "metadata": False})
    program["deparsers"][0]["order"] = ["r", "h"]
    steps = [_step("add_header_fast", _header("r")), *(step for each, _ in _RESULTS.values() for step in each)]
    place = len(steps)
    steps += [
        _step("_jump", const(place + 2)),
        assign(field("r", "jumped"), const(1)),
        _step("_jump_if_zero", _equal(C, const(0)), const(place + 4)),
        assign(field("r", "jumped"), const(2)),
        assign(field("standard_metadata", "egress_spec"), const(1)),
    ]
    table(program, "t", [], {"act": ([], steps)}, default="act")
    out = b"".join(value.to_bytes(2, "big") for _, value in _RESULTS.values()) + bytes(2) + FRAME
    return program, out


def headers() -> tuple[Json, bytes]:
    """Copies of headers, varbit fields, unions and stacks of unions."""
    program = minimal()
    program["header_types"].append({"name": "v_t", "id": 3, "fields": [["v", "*"]], "max_length": 4})
    names = ["copy", "v0", "v1", *(f"{union}.{member}" for union in ("u", "w", "s0", "t0") for member in "pq")]
    for ident, name in enumerate(names, 3):
        kind = "v_t" if name in ("v0", "v1") else "h_t"
        program["headers"].append({"name": name, "id": ident, "header_type": kind, "metadata": False})
    ids = {name: ident for ident, name in enumerate(names, 3)}
    program["header_union_types"] = [{"name": "union_t", "id": 0, "headers": [["p", "h_t"], ["q", "h_t"]]}]
    program["header_unions"] = [
        {"name": union, "id": number, "union_type": "union_t", "header_ids": [ids[f"{union}.p"], ids[f"{union}.q"]]}
        for number, union in enumerate(("u", "w", "s0", "t0"))
    ]
    program["header_union_stacks"] = [
        {"name": name, "id": number, "union_type": "union_t", "size": 1, "header_union_ids": [2 + number]}
        for number, name in enumerate(("s", "t"))
    ]
    state = program["parsers"][0]["parse_states"][0]
    bits = {"type": "expression", "value": {"op": "+", "left": const(8), "right": const(16)}}
    state["parser_ops"].append(
        {"op": "extract_VL", "parameters": [{"type": "regular", "value": "v0"}, {"type": "expression", "value": bits}]}
    )
    program["deparsers"][0]["order"] = ["h", "copy", "v0", "v1", "w.p", "w.q", "t0.p", "t0.q"]
    steps = [
        _step("copy_header", _header("copy"), _header("h")),
        _step("add_header", _header("v1")),
        _step("assign_VL", field("v1", "v"), field("v0", "v")),
        _step("add_header", _header("u.q")),
        assign(field("u.q", "b"), B),
        _step("assign_union", *({"type": "header_union", "value": each} for each in ("w", "u"))),
        _step("add_header", _header("s0.p")),
        assign(field("s0.p", "a"), A),
        _step("assign_union_stack", *({"type": "header_union_stack", "value": each} for each in ("t", "s"))),
        assign(field("standard_metadata", "egress_spec"), const(1)),
    ]
    table(program, "t1", [], {"act": ([], steps)}, default="act")
    head, tail = FRAME[:4], FRAME[4:]
    return program, head * 2 + tail * 2 + bytes.fromhex("00 1234 00") + bytes.fromhex("81 0000 00")


PROGRAMS = {"arithmetic": arithmetic(), "headers": headers()}
