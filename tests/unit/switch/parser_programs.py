"""A program whose parser does each thing that bmv2's can do, with what comes out of some frames.

The first byte of a frame says which state is next. `r` in front of what leaves: the parser's error, scalars.x, .y.
"""

from __future__ import annotations

from typing import Any

from tests.unit.switch.operators import op, value
from tests.unit.switch.programs import assign, const, field, minimal, table

__all__ = ["ERRORS", "FRAMES", "KEYS", "STATES", "frames", "parser_program"]

Json = dict[str, Any]
A, B, C = field("h", "a"), field("h", "b"), field("h", "c")
X, Y = field("scalars", "x"), field("scalars", "y")
_BITS = op("&", B, const(0xFFFF))


def _do(name: str, *parameters: Any) -> Json:
    return {"op": name, "parameters": list(parameters)}


def _set(source: Json, target: Json = X) -> Json:
    return _do("set", target, source)


def _extract(kind: str, name: Any, *length: Json) -> Json:
    return _do("extract_VL" if length else "extract", {"type": kind, "value": name}, *length)


def _ahead(offset: int, width: int) -> Json:
    return {"type": "lookahead", "value": [offset, width]}


def _primitive(name: str, *parameters: Any) -> Json:
    return _do("primitive", {"op": name, "parameters": list(parameters)})


def _header(name: str) -> Json:
    return {"type": "header", "value": name}


_K, _U = _extract("stack", "k"), _extract("union_stack", ["u", "q"])
_V = _extract("regular", "v", value(_BITS))

STATES: dict[str, list[Json]] = {
    "nothing": [],
    "stack": [_K, _K, _set(value(op("last_stack_index", None, {"type": "header_stack", "value": "k"})))],
    "full": [_K, _K, _K],
    "union": [_extract("union_stack", ["u", "p"]), _U],
    "union_full": [_U, _U, _U],
    "varbit": [_V],
    "set": [
        _set(C),
        _set(const(0x12345), Y),
        _set(value(op("+", X, Y))),
    ],
    "look": [_set(_ahead(4, 12)), _set(_ahead(0, 16), Y)],
    "verify": [_do("verify", op("==", C, const(1)), const(2)), _set(const(7))],
    "verify_old": [_do("verify", {"type": "bool", "value": False}, 5)],
    "shift": [_do("shift", 1), _K],
    "advance": [_do("advance", const(8)), _K],
    "advance_field": [_do("advance", B), _K],
    "advance_far": [_do("advance", value(op("*", B, const(8)))), _K],
    "primitives": [
        _primitive("add_header", _header("g")),
        _primitive("assign_header", _header("g"), _header("h")),
        _primitive("add_header", _header("k0")),
        _primitive("remove_header", _header("k0")),
        _primitive("log_msg", {"type": "string", "value": "c is {}"}, {"type": "parameters_vector", "value": [C]}),
    ],
    "key_field": [],
    "key_stack": [_K],
    "key_union": [_U],
    "key_look": [],
    "key_set": [],
    "mark": [_set(const(0x99), Y)],
}
KEYS: dict[str, list[tuple[list[Json], str, str | None]]] = {
    "key_field": [([C, B], "0x050102", None), ([C, B], "0x060300", "0xff0f00")],
    "key_stack": [([{"type": "stack_field", "value": ["k", "b"]}], "0x55", None)],
    "key_union": [([{"type": "union_stack_field", "value": ["u", "q", "b"]}], "0x50", "0xf0")],
    "key_look": [([_ahead(4, 8)], "0x56", None)],
}

FRAMES: dict[str, list[tuple[str, str]]] = {
    # after the first byte: what comes in, and what leaves
    "nothing": [("0000 00", "00 00000000 0000 | 0000 00"), ("0000", "01 00000000 0000 |")],
    "stack": [
        ("0000 00 5566 77", "00 00000001 0000 | 0000 00 5566 77"),
        ("0000 00 55", "01 00000000 0000 | 0000 00 55"),
    ],
    "full": [("0000 00 556677", "03 00000000 0000 | 0000 00 556677")],
    "union": [("0000 00 5566", "00 00000000 0000 | 0000 00 5566")],
    "union_full": [("0000 00 556677", "03 00000000 0000 | 0000 00 556677")],
    "varbit": [
        ("0010 00 5566 77", "00 00000000 0000 | 0010 00 5566 77"),
        ("0000 00 55", "00 00000000 0000 | 0000 00 55"),
        ("000c 00 5566 77", "06 00000000 0000 | 000c 00 5566 77"),
        ("0018 00 5566", "01 00000000 0000 | 0018 00 5566"),
        ("0018 00 556677", "04 00000000 0000 | 0018 00 556677"),
    ],
    "set": [("0000 07", "00 0000234c 2345 | 0000 07")],
    "look": [("0000 00 5678", "00 00000678 5678 | 0000 00 5678"), ("0000 00 56", "01 00000000 0000 | 0000 00 56")],
    "verify": [("0000 01", "00 00000007 0000 | 0000 01"), ("0000 02", "02 00000000 0000 | 0000 02")],
    "verify_old": [("0000 00", "05 00000000 0000 | 0000 00")],
    "shift": [("0000 00 5566 77", "00 00000000 0000 | 0000 00 66 77"), ("0000 00", "01 00000000 0000 | 0000 00")],
    "advance": [("0000 00 5566 77", "00 00000000 0000 | 0000 00 66 77"), ("0000 00", "01 00000000 0000 | 0000 00")],
    "advance_field": [
        ("0008 00 5566 77", "00 00000000 0000 | 0008 00 66 77"),
        ("0000 00 5566 77", "00 00000000 0000 | 0000 00 5566 77"),
        ("0009 00 5566 77", "06 00000000 0000 | 0009 00 5566 77"),
    ],
    "advance_far": [
        ("0002 00 556677", "00 00000000 0000 | 0002 00 77"),
        ("ffff 00 55", "01 00000000 0000 | ffff 00 55"),
    ],
    "primitives": [("1234 56", "00 00000000 0000 | 1234 56 @ 1234 56")],
    "key_field": [
        ("0102 05", "00 00000000 0099 | 0102 05"),
        ("f3ee 06", "00 00000000 0099 | f3ee 06"),
        ("0202 05", "00 00000000 0000 | 0202 05"),
    ],
    "key_stack": [("0000 00 55", "00 00000000 0099 | 0000 00 55"), ("0000 00 56", "00 00000000 0000 | 0000 00 56")],
    "key_union": [("0000 00 5f", "00 00000000 0099 | 0000 00 5f"), ("0000 00 6f", "00 00000000 0000 | 0000 00 6f")],
    "key_look": [
        ("0000 00 f567", "00 00000000 0099 | 0000 00 f567"),
        ("0000 00 5600", "00 00000000 0000 | 0000 00 5600"),
    ],
    "key_set": [("0000 42", "00 00000000 0000 | 0000 42")],
}
ERRORS = ("NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout")
"""ParserInvalidArgument is left out: it gets the next number."""


def frames(name: str) -> list[tuple[bytes, bytes]]:
    """(what comes in, what leaves) of a state."""
    first = bytes([list(STATES).index(name)])
    found: list[tuple[bytes, bytes]] = []
    for given, wanted in FRAMES[name]:
        ahead, _, rest = wanted.partition("|")
        # where not even `h` was there, all of the frame is payload
        found.append(
            (
                first + bytes.fromhex(given),
                bytes.fromhex(ahead) + (first + bytes.fromhex((rest or given).replace("@", first.hex()))),
            )
        )
    return found


def _transition(following: str | None, kind: str = "default", match: str | None = None, mask: Any = None) -> Json:
    return {"type": kind, "value": match, "mask": mask, "next_state": following}


def _states() -> list[Json]:
    first = [_transition(name, "hexstr", f"0x{number:02x}") for number, name in enumerate(STATES)]
    start: Json = {"name": "start", "parser_ops": [_extract("regular", "h")], "transition_key": [A]}
    states: list[Json] = [{**start, "transitions": [*first, _transition(None)]}]
    for name, ops in STATES.items():
        cases = [_transition("mark", "hexstr", *case[1:]) for case in KEYS.get(name, [])]
        keys = KEYS[name][0][0] if cases else []
        if name == "key_set":
            keys = [C, B]
            cases = [_transition("mark", "parse_vset", "set"), _transition("mark", "parse_vset", "set", "0xff0000")]
        state: Json = {"name": name, "parser_ops": ops, "transition_key": keys}
        states.append({**state, "transitions": [*cases, _transition(None)]})
    return [{**state, "id": number} for number, state in enumerate(states)]


def _declare(program: Json) -> None:
    """Headers b_t: k0, k1 (stack k), u0.p .. u1.q (stack u of unions); g like h; v with a varbit; r in front."""
    program["header_types"] += [
        {"name": "b_t", "id": 3, "fields": [["b", 8, False]]},
        {"name": "v_t", "id": 4, "fields": [["v", "*"]], "max_length": 2},
        {"name": "r_t", "id": 5, "fields": [["error", 8, False], ["x", 32, False], ["y", 16, False]]},
    ]
    kinds = dict.fromkeys(["k0", "k1", "u0.p", "u0.q", "u1.p", "u1.q"], "b_t") | {"g": "h_t", "v": "v_t", "r": "r_t"}
    for number, (name, kind) in enumerate(kinds.items(), 3):
        program["headers"].append({"name": name, "id": number, "header_type": kind, "metadata": False})
    program["deparsers"][0]["order"] = ["r", "h", *(name for name in kinds if name != "r")]
    program["header_stacks"] = [{"name": "k", "id": 0, "header_type": "b_t", "size": 2, "header_ids": [3, 4]}]
    program["header_union_types"] = [{"name": "union_t", "id": 0, "headers": [["p", "b_t"], ["q", "b_t"]]}]
    program["header_unions"] = [
        {"name": f"u{number}", "id": number, "union_type": "union_t", "header_ids": [5 + 2 * number, 6 + 2 * number]}
        for number in range(2)
    ]
    program["header_union_stacks"] = [
        {"name": "u", "id": 0, "union_type": "union_t", "size": 2, "header_union_ids": [0, 1]}
    ]
    program["parse_vsets"] = [{"name": "set", "id": 0, "compressed_bitwidth": 24, "max_size": 4}]
    program["errors"] = [[name, number] for number, name in enumerate(ERRORS)]


def parser_program() -> Json:
    program = minimal()
    _declare(program)
    program["parsers"][0]["parse_states"] = _states()
    steps = [
        {"op": "add_header", "parameters": [_header("r")]},
        assign(field("r", "error"), field("standard_metadata", "parser_error")),
        assign(field("r", "x"), X),
        assign(field("r", "y"), Y),
        assign(field("standard_metadata", "egress_spec"), const(1)),
    ]
    table(program, "t", [], {"act": ([], steps)}, default="act")
    return program
