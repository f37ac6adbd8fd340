"""What the typed program holds beyond what it was read from: blocks, effects, ranges, places of registers."""

from __future__ import annotations

import json
from typing import Any

from cais_tools.switch.blocks import BasicBlock, basic_blocks
from cais_tools.switch.expressions import Const, Lookahead
from cais_tools.switch.headers import value_range
from cais_tools.switch.loader import load_program
from cais_tools.switch.primitives import Exit, Jump, JumpIfZero
from cais_tools.switch.program import Action
from tests.benchmarks import bench_engine
from tests.unit.switch.programs import assign, compare, field, minimal, table

X, A, B = field("scalars", "x"), field("h", "a"), field("h", "b")


def action(*primitives: Any, **more: Any) -> Action:
    program = minimal() | more
    table(program, "t", [], {"act": ([], list(primitives))}, default="act")
    return load_program(json.dumps(program)).actions[0]


def names(fields: Any) -> set[str]:
    return {each.full_name for each in fields}


def test_blocks() -> None:
    end, zero = Exit(), Const(0)
    assert basic_blocks(()) == ()
    assert basic_blocks((end, end)) == (BasicBlock(0, (end, end), 2),)
    steps = (JumpIfZero(zero, 3), end, Jump(4), end, end)
    assert basic_blocks(steps) == (
        BasicBlock(0, (), 1, zero, 3),
        BasicBlock(1, (end,), 4),
        BasicBlock(3, (end,), 4),
        BasicBlock(4, (end,), 5),
    )


def test_what_an_assignment_reads_and_writes() -> None:
    effects = action(assign(X, compare("+", A, B))).effects
    assert names(effects.reads) == {"h.a", "h.b"}
    assert names(effects.writes) == {"scalars.x"}
    assert effects.switches == frozenset()


def test_what_steps_on_headers_do() -> None:
    header = {"type": "header", "value": "h"}
    added = action({"op": "add_header", "parameters": [header]}).effects
    assert (names(added.writes), added.switches) == ({"h.a", "h.b", "h.c"}, {"h"})
    removed = action({"op": "remove_header", "parameters": [header]}).effects
    assert (removed.reads, removed.writes, removed.switches) == (frozenset(), frozenset(), {"h"})


def test_ranges_and_cursor_checks() -> None:
    assert value_range(8, signed=False) == (0, 255)
    assert value_range(8, signed=True) == (-128, 127)
    assert [Lookahead(*each).end for each in ((0, 8), (0, 9), (7, 1), (8, 16))] == [1, 2, 1, 3]


def register(name: str, size: int, width: int = 32) -> dict[str, Any]:
    return {"name": name, "id": 0, "size": size, "bitwidth": width}


def read(name: str, index: Any) -> dict[str, Any]:
    return {"op": "register_read", "parameters": [X, {"type": "register_array", "value": name}, index]}


def test_registers_that_are_used_together_are_interleaved() -> None:
    arrays = [register("a", 8), register("alone", 4), register("b", 8), register("c", 8), register("d", 8)]
    program = minimal() | {"register_arrays": arrays}
    steps = [read("a", A), read("b", A), read("c", B)]
    table(program, "t", [], {"act": ([], steps)}, default="act")
    registers = load_program(json.dumps(program)).registers
    assert list(registers) == ["a", "alone", "b", "c", "d"]
    assert {name: (each.base, each.stride) for name, each in registers.items()} == {
        "a": (0, 2),
        "b": (1, 2),
        "alone": (16, 1),
        "c": (20, 1),
        "d": (28, 1),
    }


def test_no_cell_is_taken_twice() -> None:
    registers = bench_engine.prepare().program.registers.values()
    cells = [each.base + each.stride * index for each in registers for index in range(each.size)]
    assert sorted(cells) == list(range(sum(each.size for each in registers)))
    lanes = [each for each in registers if "slot_lane_" in each.name]
    assert {each.stride for each in lanes} == {len(lanes)}
