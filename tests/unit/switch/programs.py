"""Small programs as bmv2's JSON, put together in Python: what p4c would write, but only what a test needs."""

from __future__ import annotations

import copy
import json
from typing import Any

from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.program import Program

__all__ = ["assign", "compare", "const", "engine_for", "field", "minimal", "minimal_program", "param", "table"]

Json = dict[str, Any]

_STANDARD = [
    ["ingress_port", 9, False],
    ["egress_spec", 9, False],
    ["egress_port", 9, False],
    ["instance_type", 32, False],
    ["packet_length", 32, False],
    ["enq_timestamp", 32, False],
    ["enq_qdepth", 19, False],
    ["deq_timedelta", 32, False],
    ["deq_qdepth", 19, False],
    ["ingress_global_timestamp", 48, False],
    ["egress_global_timestamp", 48, False],
    ["mcast_grp", 16, False],
    ["egress_rid", 16, False],
    ["checksum_error", 1, False],
    ["parser_error", 32, False],
    ["priority", 3, False],
    ["_padding", 3, False],
]
_ERRORS = ["NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout"]
_EMPTY = [
    "header_stacks",
    "header_union_types",
    "header_unions",
    "header_union_stacks",
    "field_lists",
    "enums",
    "parse_vsets",
    "meter_arrays",
    "counter_arrays",
    "register_arrays",
    "calculations",
    "learn_lists",
    "actions",
    "checksums",
    "force_arith",
    "extern_instances",
    "field_aliases",
]


def minimal() -> Json:
    """Header `h` (a:8, b:16, c:8) and `scalars` (x:32, y:16); the parser extracts `h`; nothing happens."""
    return {
        "program": "test.p4",
        **{name: [] for name in _EMPTY},
        "header_types": [
            {"name": "standard_metadata", "id": 0, "fields": copy.deepcopy(_STANDARD)},
            {"name": "scalars_0", "id": 1, "fields": [["x", 32, False], ["y", 16, False]]},
            {"name": "h_t", "id": 2, "fields": [["a", 8, False], ["b", 16, False], ["c", 8, False]]},
        ],
        "headers": [
            {"name": "scalars", "id": 0, "header_type": "scalars_0", "metadata": True},
            {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": True},
            {"name": "h", "id": 2, "header_type": "h_t", "metadata": False},
        ],
        "errors": [[name, number] for number, name in enumerate(_ERRORS)],
        "parsers": [
            {
                "name": "parser",
                "id": 0,
                "init_state": "start",
                "parse_states": [
                    {
                        "name": "start",
                        "id": 0,
                        "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
                        "transitions": [{"type": "default", "value": None, "mask": None, "next_state": None}],
                        "transition_key": [],
                    }
                ],
            }
        ],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"], "primitives": []}],
        "pipelines": [
            {"name": name, "id": number, "init_table": None, "tables": [], "action_profiles": [], "conditionals": []}
            for number, name in enumerate(("ingress", "egress"))
        ],
    }


def field(header: str, name: str) -> Json:
    return {"type": "field", "value": [header, name]}


def const(value: int) -> Json:
    return {"type": "hexstr", "value": hex(value)}


def param(index: int) -> Json:
    return {"type": "runtime_data", "value": index}


def compare(op: str, left: Json, right: Json) -> Json:
    return {"type": "expression", "value": {"op": op, "left": left, "right": right}}


def assign(target: Json, value: Json) -> Json:
    return {"op": "assign", "parameters": [target, value]}


def table(
    program: Json,
    name: str,
    keys: list[tuple[str, Json]],
    actions: dict[str, tuple[list[tuple[str, int]], list[Json]]],
    *,
    pipeline: str = "ingress",
    default: str | None = None,
    **more: Any,
) -> Json:
    """Add a table behind those that the pipeline has, and its actions (name -> parameters, primitives)."""
    stage = next(each for each in program["pipelines"] if each["name"] == pipeline)
    ids: list[int] = []
    for action, (params, primitives) in actions.items():
        ids.append(len(program["actions"]))
        runtime_data = [{"name": each, "bitwidth": width} for each, width in params]
        entry = {"name": action, "id": ids[-1], "runtime_data": runtime_data, "primitives": primitives}
        program["actions"].append(entry)
    entry: Json = {
        "name": name,
        "id": len(stage["tables"]),
        "key": [
            {"match_type": kind, "name": ".".join(source["value"]), "target": source["value"], "mask": None}
            for kind, source in keys
        ],
        "match_type": "exact",
        "type": "simple",
        "max_size": 16,
        "with_counters": False,
        "support_timeout": False,
        "direct_meters": None,
        "action_ids": ids,
        "actions": list(actions),
        "base_default_next": None,
        "next_tables": dict.fromkeys(actions),
        **more,
    }
    if default is not None:
        ident = ids[list(actions).index(default)]
        entry["default_entry"] = {
            "action_id": ident,
            "action_const": False,
            "action_data": [],
            "action_entry_const": False,
        }
    if stage["tables"]:
        last = stage["tables"][-1]
        last["base_default_next"] = name
        last["next_tables"] = dict.fromkeys(last["next_tables"], name)
    else:
        stage["init_table"] = name
    stage["tables"].append(entry)
    return entry


def minimal_program() -> Program:
    return load_program(json.dumps(minimal()))


def engine_for(program: Json, **options: Any) -> Engine:
    return Engine(load_program(json.dumps(program)), **options)
