"""Traces: exactly what happened, the same frames as without, and no trace of it where nobody traces."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cais_tools.switch.actions import ActionCall
from cais_tools.switch.codegen import generate
from cais_tools.switch.engine import Engine
from cais_tools.switch.matches import Exact
from cais_tools.switch.pre import Replica
from cais_tools.switch.tracing import PassTrace, text_of
from cais_tools.switch.tracing.events import RegisterRead
from tests.benchmarks import bench_engine
from tests.unit.switch.programs import assign, const, engine_for, field, minimal, param, table

DATA = Path(__file__).parent / "data"
FRAME = bytes.fromhex("01020304ff")


def small() -> dict[str, Any]:
    """`h` is sent where table t says, by its field a; action tally also counts in a register and a counter."""
    program = minimal()
    program["register_arrays"] = [{"name": "seen", "id": 0, "size": 4, "bitwidth": 8}]
    program["counter_arrays"] = [{"name": "all", "id": 0, "size": 2, "is_direct": False}]
    spec = field("standard_metadata", "egress_spec")
    register = {"type": "register_array", "value": "seen"}
    one = {"type": "expression", "value": {"op": "+", "left": field("scalars", "x"), "right": const(1)}}
    tally = [
        {"op": "register_read", "parameters": [field("scalars", "x"), register, const(2)]},
        assign(field("scalars", "x"), one),
        {"op": "register_write", "parameters": [register, const(2), field("scalars", "x")]},
        {"op": "count", "parameters": [{"type": "counter_array", "value": "all"}, const(1)]},
        assign(field("h", "b"), const(0xBEEF)),
        assign(spec, param(0)),
    ]
    drop = [assign(spec, const(511)), assign(field("standard_metadata", "mcast_grp"), const(0))]
    actions: Any = {"tally": ([("port", 9)], tally), "drop": ([], drop)}
    table(program, "t", [("exact", field("h", "a"))], actions, default="drop")
    return program


def traced(engine: Engine, port: int, frame: bytes) -> list[PassTrace]:
    passes: list[PassTrace] = []
    engine.trace(passes.append)
    for queued in engine.process_ingress(port, [frame]):
        engine.process_egress(queued)
    engine.trace(None)
    return passes


def loaded() -> Engine:
    engine = engine_for(small())
    engine.tables["t"].insert([Exact(1)], ActionCall("tally", (3,)))
    engine.registers["seen"].write(2, 7)
    return engine


def test_a_small_program_as_text() -> None:
    engine = loaded()
    text = "\n".join(text_of(each) for each in [*traced(engine, 5, FRAME), *traced(engine, 5, b"\x02" * 4)])
    assert (
        text
        == """\
packet 1: in by port 5, 5 bytes
  parser start: h (4 bytes at 0)
  table t: h.a=1: hit: tally(port=3)
    set x=8
    register seen[2] 7 -> 8
  counter all[1]
    set h.b=0xbeef, standard_metadata.egress_spec=3
  => to port 3
packet 1: egress to port 3, 5 bytes
  => sent by port 3, 5 bytes
packet 2: in by port 5, 4 bytes
  parser start: h (4 bytes at 0)
  table t: h.a=2: miss: drop()
    set standard_metadata.egress_spec=0x1ff, mcast_grp=0
  => dropped: egress_spec is 511, set by action drop of table t"""
    )


def test_a_small_program_as_json() -> None:
    ingress, egress = (each.as_dict() for each in traced(loaded(), 5, FRAME))
    assert json.loads(json.dumps(ingress)) == ingress
    assert ingress.pop("ts_ns") <= egress.pop("ts_ns")
    assert ingress == {
        "packet": 1,
        "stage": "ingress",
        "port": 5,
        "length": 5,
        "origin": "packet",
        "instance": 0,
        "events": [
            {"event": "parser_state", "state": "start"},
            {"event": "extract", "header": "h", "offset": 0, "length": 4},
            {
                "event": "table",
                "table": "t",
                "keys": [{"name": "h.a", "value": 1}],
                "hit": True,
                "entry": "",
                "priority": 0,
                "action": "tally",
                "arguments": [{"name": "port", "value": 3}],
            },
            {"event": "register_read", "register": "seen", "index": 2, "value": 7},
            {"event": "set", "field": "scalars.x", "value": 7},
            {"event": "set", "field": "scalars.x", "value": 8},
            {"event": "register_write", "register": "seen", "index": 2, "before": 7, "value": 8},
            {"event": "count", "counter": "all", "index": 1},
            {"event": "set", "field": "h.b", "value": 0xBEEF},
            {"event": "set", "field": "standard_metadata.egress_spec", "value": 3},
        ],
        "outcome": {"what": "forwarded", "ports": [3], "length": 0, "reason": ""},
    }
    assert egress["events"] == []
    assert egress["outcome"] == {"what": "sent", "ports": [3], "length": 5, "reason": ""}


def test_a_packet_that_is_too_short() -> None:
    (ingress,) = traced(engine_for(small()), 1, b"\x01")
    assert "  parser start: ERROR PacketTooShort" in text_of(ingress).splitlines()


def test_what_becomes_of_a_packet_in_the_queues() -> None:
    engine = loaded()
    passes: list[PassTrace] = []
    engine.trace(passes.append)
    queued = engine.process_ingress(1, [FRAME])
    engine.lost(queued, "the queue is full")
    assert text_of(passes[-1]) == "packet 1: for port 3, 5 bytes\n  => dropped: the queue is full"
    engine.trace(None)
    engine.lost(queued, "the queue is full")
    assert len(passes) == 2


def test_multicast() -> None:
    program = minimal()
    group = [assign(field("standard_metadata", "mcast_grp"), const(9))]
    table(program, "t", [], {"spread": ([], group)}, default="spread")
    engine = engine_for(program)
    (ingress,) = traced(engine, 1, FRAME)
    assert text_of(ingress).endswith("=> dropped: multicast group 9 has no members")
    engine.pre.insert_group(9, [Replica(2, 0), Replica(4, 7)])
    ingress, first, second = traced(engine, 1, FRAME)
    assert ingress.outcome.ports == (2, 4)
    assert (first.origin, first.instance, second.instance) == ("replica", 0, 7)
    assert {each.packet for each in (ingress, first, second)} == {2}


def test_a_contribution_and_a_result_of_cais() -> None:
    """Names that p4c makes of source lines are left out: an edit above must not change the test."""
    engine = bench_engine.prepare(clock=lambda: 1000)
    lanes = bench_engine.lanes_of(engine)
    texts: list[str] = []
    for port, frame in bench_engine.contributions(lanes, 1):
        passes = traced(engine, port, frame)
        texts += [text_of(each) for each in passes] if port in (1, bench_engine.RANKS) else []
    text = re.sub(r"action ([a-z_]+?)\d+(_\d+)?\(\)", r"action \1()", "\n".join(texts)) + "\n"
    assert text == (DATA / "cais_trace.txt").read_text()


def test_nothing_is_left_where_nobody_traces() -> None:
    engine = loaded()
    source = engine.source
    assert "trace" not in source
    traced(engine, 1, FRAME)
    assert engine.source == source
    assert "trace.table(" in generate(engine.program, tracing=True)


@pytest.mark.parametrize("port", [1, 2])
def test_frames_are_the_same(port: int) -> None:
    plain, followed = loaded(), loaded()
    followed.trace(lambda _: None)
    out = [
        [engine.process_egress(each) for each in engine.process_ingress(port, [FRAME])] for engine in (plain, followed)
    ]
    assert out[0] == out[1] == [bytes.fromhex("01beef04ff")]
    assert plain.registers["seen"].values == followed.registers["seen"].values == [0, 0, 8, 0]
    assert plain.counters["all"].read_all() == followed.counters["all"].read_all()


def test_a_register_within_an_expression() -> None:
    """Each is told once, in the order in which it is read, also where its value is used more than once."""
    program = small()
    seen = {"type": "register", "value": ["seen", const(2)]}
    beyond = {"type": "register", "value": ["seen", const(9)]}
    register = {"type": "register_array", "value": "seen"}
    total = {"type": "expression", "value": {"op": "+", "left": seen, "right": beyond}}
    steps = program["actions"][0]["primitives"]
    steps[:4] = [
        assign(field("scalars", "x"), total),
        {"op": "register_write", "parameters": [register, const(3), seen]},
        {"op": "count", "parameters": [{"type": "counter_array", "value": "all"}, seen]},
    ]
    engine = engine_for(program)
    engine.tables["t"].insert([Exact(1)], ActionCall("tally", (3,)))
    engine.registers["seen"].write(2, 1)
    ingress = traced(engine, 5, FRAME)[0]
    text = text_of(ingress)
    assert "    register seen[2] = 1, seen[9] out of range, seen[3] 0 -> 1\n  counter all[1]" in text
    reads = [event for event in ingress.events if isinstance(event, RegisterRead)]
    assert [(each.index, each.value) for each in reads] == [(2, 1), (9, None), (2, 1), (2, 1)]
    assert engine.registers["seen"].values == [0, 0, 1, 1]
    assert engine.counters["all"].read(1).packets == 1
