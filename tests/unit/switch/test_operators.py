"""Expressions and parsers: all operators that bmv2 knows are there, and do what bmv2 does."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from cais_tools.switch.api import Switch
from cais_tools.switch.loader.parsers import CORE_ERRORS
from tests.unit.switch import operators, parser_programs
from tests.unit.switch.operators import op, value
from tests.unit.switch.programs import assign, const, field, minimal, table

Json = dict[str, Any]
# ExprOpcodesMap in bmv2's src/bm_sim/expressions.cpp, without what only its own code writes (load_.., ==h, ..).
OPERATORS = """
+ - * / % << >> == != < <= > >= and or not & | ^ ~ valid valid_union ? two_comp_mod usat_cast sat_cast d2b b2d
dereference_stack dereference_header_stack dereference_union_stack last_stack_index size_stack access_field
access_union_header
"""
# P4Objects::init_parsers in bmv2's src/bm_sim/P4Objects.cpp.
PARSER_OPS = "extract extract_VL set verify primitive shift advance"
KEYS = "field stack_field union_stack_field lookahead"
TRANSITIONS = "default hexstr parse_vset"
EXTRACTS = "regular stack union_stack"


def _objects(json_value: Any) -> list[Json]:
    """All objects within a JSON value."""
    if isinstance(json_value, list):
        return [found for each in cast("list[Any]", json_value) for found in _objects(each)]
    if not isinstance(json_value, dict):
        return []
    json_object = cast("Json", json_value)
    return [json_object, *_objects(list(json_object.values()))]


def test_every_operator_of_bmv2_is_used() -> None:
    programs = [program for program, _ in (operators.PROGRAMS | operators.OURS_ALONE).values()]
    used = {each["op"] for each in _objects(programs) if "op" in each and "right" in each}
    assert used == set(OPERATORS.split())


def test_every_part_of_a_parser_is_used() -> None:
    states = parser_programs.parser_program()["parsers"][0]["parse_states"]
    ops = [each for state in states for each in state["parser_ops"]]
    assert {each["op"] for each in ops} == set(PARSER_OPS.split())
    assert {each["parameters"][0]["type"] for each in ops if "extract" in each["op"]} == set(EXTRACTS.split())
    assert {key["type"] for state in states for key in state["transition_key"]} == set(KEYS.split())
    assert {each["type"] for state in states for each in state["transitions"]} == set(TRANSITIONS.split())
    seen = {out[0] for name in parser_programs.FRAMES for _, out in parser_programs.frames(name)}
    assert seen == set(range(len(CORE_ERRORS)))
    assert set(parser_programs.FRAMES) | {"mark"} == set(parser_programs.STATES)


@pytest.mark.parametrize("name", operators.PROGRAMS | operators.OURS_ALONE)
def test_what_comes_out(name: str) -> None:
    program, out = (operators.PROGRAMS | operators.OURS_ALONE)[name]
    assert Switch.load(json.dumps(program)).process(2, operators.FRAME) == [(1, out)]


@pytest.mark.parametrize("name", parser_programs.FRAMES)
def test_parsed(name: str) -> None:
    switch = Switch.load(json.dumps(parser_programs.parser_program()))
    for frame, out in parser_programs.frames(name):
        assert switch.process(2, frame) == [(1, out)]


def test_value_sets() -> None:
    switch = Switch.load(json.dumps(parser_programs.parser_program()))
    number = list(parser_programs.STATES).index("key_set")
    switch.set_value_set("set", [0x420102])
    marks = [
        switch.process(2, bytes([number, *b, c]))[0][1][6]
        for b, c in [(b"\1\2", 0x42), (b"\1\3", 0x42), (b"\1\2", 0x41)]
    ]
    assert marks == [0x99, 0x99, 0]  # the second by the case that looks at the first byte of the key only


def test_a_parser_that_goes_round_ends() -> None:
    """bmv2 itself goes round for ever."""
    program = parser_programs.parser_program()
    state = program["parsers"][0]["parse_states"][1]
    state["transitions"][0]["next_state"] = state["name"]
    assert Switch.load(json.dumps(program)).process(2, bytes(4))[0][1][0] == CORE_ERRORS.index("ParserTimeout")


@pytest.mark.parametrize("name", ["/", "%"])
@pytest.mark.parametrize(("left", "right"), [(7, 0), (-7, 2), (7, -2), (-7, -2)])
def test_divisions_that_end_bmv2_give_0(name: str, left: int, right: int) -> None:
    program = minimal()
    numbers = [op("-", const(abs(each)), field("h", "c")) if each < 0 else const(each) for each in (left, right)]
    quotient = assign(field("h", "a"), value(op(name, *numbers)))
    table(program, "t", [], {"act": ([], [quotient])}, default="act")
    # h.c is greater than the number that it is taken from
    assert Switch.load(json.dumps(program)).process(1, bytes.fromhex("11 0000 ff"))[0][1] == bytes.fromhex("00 0000 ff")
