"""What cannot be executed is refused when it is loaded, by its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.refusals import ProgramError
from tests.unit.switch.programs import assign, compare, const, field, minimal, table

Json = dict[str, Any]
X = field("scalars", "x")


def refused(program: Json) -> str:
    with pytest.raises(ProgramError) as error:
        load_program(json.dumps(program))
    assert error.value.exit_code == 5
    return str(error.value)


def with_primitive(op: str, *parameters: Json, pipeline: str = "ingress") -> Json:
    program = minimal()
    primitive = {"op": op, "parameters": list(parameters)}
    table(program, "t", [], {"act": ([], [primitive])}, pipeline=pipeline, default="act")
    return program


def test_a_program_loads() -> None:
    program = load_program(json.dumps(minimal()))
    assert [header.name for header in program.headers] == ["scalars", "standard_metadata", "h"]
    assert program.standard["egress_spec"].width == 9


@pytest.mark.parametrize("text", ["", "no json", "{", b"\xff\xfe", '{"a": 1', "[" * 100_000])
def test_no_json(text: str | bytes) -> None:
    with pytest.raises(ProgramError, match="no JSON") as error:
        load_program(text)
    assert error.value.hint is not None


@pytest.mark.parametrize("text", ["[]", "1", "null", '"text"', "{}", '{"tables": []}'])
def test_json_that_is_no_program(text: str) -> None:
    with pytest.raises(ProgramError, match="no compiled bmv2 program"):
        load_program(text)


def test_another_architecture() -> None:
    program = minimal()
    program["parsers"] = [{"name": "ingress_parser"}, {"name": "egress_parser"}]
    assert "another architecture" in refused(program)


def test_standard_metadata_that_is_not_v1models() -> None:
    program = minimal()
    program["header_types"][0]["fields"] = [["ingress_port", 16, False]]
    assert "no packet_length, instance_type" in refused(program)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (with_primitive("launch_rocket"), "primitive launch_rocket"),
        (
            with_primitive("assign", X, {"type": "expression", "value": {"op": "@", "left": X, "right": X}}),
            "operator @",
        ),
        (with_primitive("assign", X, field("h", "nope")), "h.nope"),
        (with_primitive("assign", X, field("nope", "a")), "'nope'"),
        (with_primitive("assign", const(1), X), "assignment to hexstr"),
        (with_primitive("register_read", X, {"type": "register_array", "value": "r"}, const(0)), "register r"),
        (with_primitive("count", {"type": "counter_array", "value": "c"}, const(0)), "counter c"),
        (with_primitive("_jump", const(9)), "jumps to step 9"),
        (with_primitive("recirculate", const(1)), "recirculate in ingress"),
        (with_primitive("resubmit", const(1), pipeline="egress"), "resubmit in egress"),
        (with_primitive("assign", X, {"type": "runtime_data", "value": 3}), "parameter 3"),
    ],
)
def test_unsupported_steps_are_named(program: Json, name: str) -> None:
    assert name in refused(program)


def change(edit: Callable[[Json], object]) -> Json:
    program = minimal()
    edit(program)
    return program


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (change(lambda p: p["extern_instances"].append({"name": "e", "type": "my_extern"})), "extern my_extern"),
        (change(lambda p: p["calculations"].append({"name": "c", "algo": "md5", "input": []})), "algorithm md5"),
        (
            change(lambda p: p["parsers"][0]["parse_states"][0]["parser_ops"].append({"op": "leap", "parameters": []})),
            "leap",
        ),
        (change(lambda p: p["parsers"][0].update(init_state="nowhere")), "state nowhere"),
        (change(lambda p: p["pipelines"][0].update(init_table="nothing")), "goes to nothing"),
        (change(lambda p: table(p, "t", [("fuzzy", X)], {})), "fuzzy key"),
        (change(lambda p: table(p, "t", [], {}, type="magic")), "type magic"),
        (change(lambda p: p["header_types"][2]["fields"].append(["odd", 3, False])), "35 bits"),
        (change(lambda p: p["headers"][2].pop("header_type")), "malformed"),
        (
            change(lambda p: p["meter_arrays"].append({"name": "m", "size": 1, "type": "bytes", "rate_count": 1})),
            "meter m",
        ),
    ],
)
def test_unsupported_parts_are_named(program: Json, name: str) -> None:
    assert name in refused(program)


def two_headers(program: Json) -> Json:
    """Another header `g`, of another type, after `h`."""
    program["header_types"].append({"name": "g_t", "id": 3, "fields": [["a", 8, False]]})
    program["headers"].append({"name": "g", "id": 3, "header_type": "g_t", "metadata": False})
    return program


def with_copy(op: str, kind: str, target: str, source: str, **more: list[Json]) -> Json:
    program = two_headers(with_primitive(op, {"type": kind, "value": target}, {"type": kind, "value": source}))
    return program | more


def stack(name: str, ident: int, *headers: int) -> Json:
    return {"name": name, "id": ident, "header_type": "h_t", "size": len(headers), "header_ids": list(headers)}


METADATA = {"type": "header", "value": "scalars"}
VARBIT = {"type": "field", "value": ["h", "b"]}


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (with_copy("assign_header", "header", "h", "g"), "different types: h, g"),
        (with_copy("assign_header", "header", "h", "scalars"), "scalars as a header, but it is metadata"),
        (with_primitive("add_header", METADATA), "scalars as a header, but it is metadata"),
        (with_primitive("assign_VL", VARBIT, VARBIT), "h.b is not"),
        (change(lambda p: p.update(header_stacks=[stack("s", 0)])), "s has no elements"),
        (change(lambda p: two_headers(p).update(header_stacks=[stack("s", 0, 2, 3)])), "s is a stack, but"),
        (
            with_copy(
                "assign_header_stack", "header_stack", "s", "t", header_stacks=[stack("s", 0, 2, 2), stack("t", 1, 2)]
            ),
            "t is copied to s",
        ),
        (change(lambda p: p["headers"].append(p["headers"][2])), "two headers with the name h"),
        (change(lambda p: p["deparsers"][0]["order"].append("scalars")), "scalars as a header"),
    ],
)
def test_what_does_not_fit_together(program: Json, name: str) -> None:
    assert name in refused(program)


def lookahead(offset: int, width: int) -> Json:
    ahead = {"op": "set", "parameters": [X, {"type": "lookahead", "value": [offset, width]}]}
    return change(lambda p: p["parsers"][0]["parse_states"][0]["parser_ops"].append(ahead))


def array(kind: str, size: int, width: int = 8) -> Json:
    entry = {"name": "big", "id": 0, "size": size, "bitwidth": width, "is_direct": False, "type": "bytes"}
    return change(lambda p: p.update({f"{kind}_arrays": [entry]}))


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (array("register", 1 << 40), "register big has 1099511627776 cells"),
        (array("counter", 1 << 40), "counter big has"),
        (array("meter", -1), "meter big has -1 cells"),
        (array("register", 1, 1 << 40), "register big has 1099511627776 bits"),
        (change(lambda p: p["header_types"][1]["fields"].append(["z", 1 << 40, False])), "scalars.z has"),
        (lookahead(-8, 8), "looks -8 bits ahead"),
        (lookahead(0, -1), "a lookahead has -1 bits"),
        (with_primitive("assign", X, compare("usat_cast", X, const(1 << 40))), "a usat_cast has"),
        (change(lambda p: p.update(errors=[["NoError", float("inf")]])), "malformed"),
    ],
)
def test_nothing_can_fill_the_memory(program: Json, name: str) -> None:
    assert name in refused(program)


def test_a_name_may_be_anything() -> None:
    assert Engine(load_program(json.dumps(minimal() | {"program": "a\0b\nc"}))).program.name == "abc"


def test_a_header_without_fields() -> None:
    program = change(lambda p: p["header_types"][2].update(fields=[]))
    engine = Engine(load_program(json.dumps(program)))
    (queued,) = engine.process_ingress(1, [b"\1\2"])
    assert engine.process_egress(queued) == b"\1\2"


def test_any_damage_is_a_program_error() -> None:
    """Cut a program anywhere, or put something else in any place: it is refused or loads, but never crashes."""
    program = minimal()
    table(program, "t", [("exact", X)], {"act": ([], [assign(X, compare("+", X, const(1)))])}, default="act")
    for path in _paths(program):
        for replacement in (None, 7, "x", [], {}):
            damaged = json.loads(json.dumps(program))
            _put(damaged, path, replacement)
            try:
                Engine(load_program(json.dumps(damaged)))
            except ProgramError:
                continue


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [each for key, inner in items for each in _paths(inner, (*path, key))]


def _put(value: Any, path: tuple[Any, ...], replacement: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = replacement


def with_table(edit: Callable[[Json], object]) -> Json:
    program = minimal()
    edit(table(program, "t", [("exact", X)], {"act": ([], [assign(X, const(1))])}, default="act"))
    return program


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            with_table(lambda t: t["key"][0].pop("match_type")),
            "pipelines[0].tables[0].key[0].match_type: malformed bmv2 JSON: it is missing",
        ),
        (
            with_table(lambda t: t.update(id=[])),
            "pipelines[0].tables[0].id: malformed bmv2 JSON: a list of another form is expected",
        ),
        (
            with_table(lambda t: t["default_entry"].update(action_data=["0xzz"])),
            "pipelines[0].tables[0].default_entry.action_data[0]: malformed bmv2 JSON: '0xzz' is not what is expected",
        ),
        (
            with_table(lambda t: t["key"][0].update(match_type="fuzzy")),
            "pipelines[0].tables[0].key[0]: table t has a fuzzy key, which is not supported",
        ),
        (
            with_primitive("assign", X),
            "actions[0].primitives[0]: the primitive assign takes 2 parameters",
        ),
        (
            change(lambda p: p["headers"][2].pop("header_type")),
            "headers[2].header_type: malformed bmv2 JSON: it is missing",
        ),
        (
            change(lambda p: p.update(errors=[["NoError", "x"]])),
            "errors[0][1]: malformed bmv2 JSON: 'x' is not what is expected",
        ),
    ],
)
def test_the_place_is_told(program: Json, message: str) -> None:
    assert refused(program) == message


def test_a_refusal_is_one_line_whatever_the_names_are() -> None:
    program = with_primitive("no_op")
    program["pipelines"][0]["tables"][0]["direct_meters"] = "two\nlines"
    assert refused(program) == "table t refers to meter two lines, which is not there"
