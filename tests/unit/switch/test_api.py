"""The switch for tests: names, plain values, packets followed to their ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cais_tools.errors import CaisError, UsageError
from cais_tools.switch import Switch
from cais_tools.switch.matches import Lpm, Ternary
from cais_tools.switch.refusals import AlreadyExists, Invalid, NotFound, ProgramError, ReadOnly, StateError
from tests.benchmarks.traffic import PROGRAMS, acl_switch, router
from tests.unit.switch.programs import assign, const, field, minimal, table

ROUTER = PROGRAMS / "router.json"
NEXT_HOP = {"next_hop": "02:00:00:00:01:01", "port": 2}
FRAME = bytes.fromhex("01020304")


def load(program: dict[str, Any]) -> Switch:
    return Switch.load(json.dumps(program))


def test_a_router() -> None:
    switch = Switch.load(ROUTER)
    routes = switch.table("ipv4_lpm")
    assert routes.add({"hdr.ipv4.dst_addr": ("10.0.0.0", 8)}, "forward", NEXT_HOP).match == (Lpm(10 << 24, 8),)
    frame = router(1).frames[0]
    ((port, result),) = switch.process(1, frame)
    assert port == 2
    assert result[:6] == bytes.fromhex("020000000101")
    assert result[22] == frame[22] - 1
    assert result[26:] == frame[26:]
    assert switch.counter("routed")[2] == (1, len(frame))
    assert switch.process(1, frame[:14]) == []


@pytest.mark.parametrize("scenario", [router(300), acl_switch(300)], ids=lambda each: each.name)
def test_what_the_benchmarks_run(scenario: Any) -> None:
    expected = scenario.expected()
    assert expected[-1][0] == 299
    assert len(expected) == 300 if scenario.name == "router" else 200 < len(expected) < 300


@pytest.mark.parametrize(
    "value", ["10.0.0.0/8", ("10.0.0.0", 8), (b"\x0a\0\0\0", "8"), (0x0A000000, 8), Lpm(10 << 24, 8)]
)
def test_a_prefix_may_be_written_in_many_ways(value: Any) -> None:
    routes = Switch.load(ROUTER).table("ipv4_lpm")
    assert routes.add({"dst_addr": value}, "forward", NEXT_HOP).match == (Lpm(10 << 24, 8),)


def test_entries() -> None:
    acl = Switch.load(PROGRAMS / "acl_switch.json").table("SwitchIngress.acl")
    entry = acl.add({"l4.dst_port": 80, "protocol": (6, 0xFF)}, "permit", priority=7)
    assert entry.match[2:] == (Ternary(6, 0xFF), Ternary(0, 0), Ternary(80, 0xFFFF))
    assert entry.counter_value == (0, 0)
    with pytest.raises(AlreadyExists):
        acl.add({"l4.dst_port": 80, "protocol": 6}, "deny", priority=7)
    acl.modify({"l4.dst_port": 80, "protocol": 6}, "deny", priority=7)
    assert [each.action for each in acl.entries] == [entry.action]
    acl.remove({"l4.dst_port": 80, "protocol": 6}, priority=7)
    assert len(acl) == 0


@pytest.mark.parametrize(
    ("match", "action", "args", "error", "message"),
    [
        ({"dst_adr": 1}, "forward", NEXT_HOP, NotFound, "no key of table RouterIngress.ipv4_lpm dst_adr"),
        ({"dst_addr": "ten"}, "forward", NEXT_HOP, Invalid, "'ten' is no value for hdr.ipv4.dst_addr"),
        ({"dst_addr": (1, 33)}, "forward", NEXT_HOP, Invalid, "prefix of 33 bits"),
        ({"dst_addr": 1}, "forwards", NEXT_HOP, NotFound, "no action of table RouterIngress.ipv4_lpm forwards"),
        ({"dst_addr": 1}, "forward", {"port": 2}, Invalid, "action RouterIngress.forward needs next_hop"),
        ({"dst_addr": 1}, "forward", {**NEXT_HOP, "port": 512}, Invalid, "512 does not fit into port"),
        ({"dst_addr": 1}, None, {}, Invalid, "an entry has an action"),
    ],
)
def test_wrong_entries(match: Any, action: Any, args: Any, error: type[CaisError], message: str) -> None:
    with pytest.raises(error, match=message):
        Switch.load(ROUTER).table("ipv4_lpm").add(match, action, args)


def test_names() -> None:
    switch = Switch.load(PROGRAMS / "acl_switch.json")
    with pytest.raises(NotFound) as caught:
        switch.table("route")
    assert caught.value.hint is not None
    assert "SwitchIngress.routes" in caught.value.hint
    with pytest.raises(NotFound, match="there is no counter acl_hits"):  # it is a direct one
        switch.counter("acl_hits")


def test_programs_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nowhere\.json: No such file"):
        Switch.load(tmp_path / "nowhere.json")
    with pytest.raises(ProgramError):
        Switch.load("{}")


def test_what_comes_back_is_followed_to_its_end() -> None:
    program = minimal()
    program["field_lists"] = [{"id": 1, "name": "kept", "elements": [field("scalars", "x")]}]
    again = [assign(field("scalars", "x"), const(1)), {"op": "resubmit", "parameters": [const(1)]}]
    table(program, "t", [], {"again": ([], again)}, default="again")
    with pytest.raises(StateError, match="goes round for ever"):
        load(program).process(1, FRAME)


def test_groups_registers_digests_and_logs() -> None:
    program = minimal()
    program["register_arrays"] = [{"name": "seen", "id": 0, "size": 4, "bitwidth": 8}]
    program["learn_lists"] = [{"id": 1, "name": "news", "elements": [field("h", "a")]}]
    register = {"type": "register_array", "value": "seen"}
    said = {"type": "parameters_vector", "value": [field("h", "a")]}
    steps = [
        assign(field("standard_metadata", "mcast_grp"), const(9)),
        {"op": "register_write", "parameters": [register, const(2), field("h", "a")]},
        {"op": "generate_digest", "parameters": [const(1), const(1)]},
        {"op": "log_msg", "parameters": [{"type": "string", "value": "a is {}"}, said]},
    ]
    table(program, "t", [], {"do": ([], steps)}, default="do")
    switch = load(program)
    switch.set_multicast_group(9, [2])
    switch.set_multicast_group(9, [3, (4, 1)])
    assert switch.process(1, FRAME) == [(3, FRAME), (4, FRAME)]
    assert list(switch.register("seen")) == [0, 0, 1, 0]
    switch.register("seen")[0] = 5
    assert switch.register("seen")[0] == 5
    assert [(each.name, each.values) for each in switch.take_digests()] == [("news", (1,))]
    assert switch.take_digests() == []
    assert switch.log == ["a is 1"]
    switch.reset()
    assert (list(switch.register("seen")), switch.log) == ([0, 0, 0, 0], [])
    assert switch.process(1, FRAME) == []


def test_a_trace() -> None:
    switch = load(minimal())
    trace = switch.trace(7, FRAME)
    assert trace.outputs == ((0, FRAME),)
    assert str(trace).startswith("packet 1: in by port 7, 4 bytes\n  parser start: h (4 bytes at 0)\n")
    assert str(switch.trace(7, FRAME)).startswith("packet 2: ")


def test_entries_of_the_program_are_const_unless_the_p4info_tells_otherwise() -> None:
    program = Path(__file__).resolve().parents[3] / "p4" / "build"
    match = {"deq_timedelta": (0, 32)}
    switch = Switch.load(program / "cais.json", program / "cais.p4info.txtpb")
    with pytest.raises(ReadOnly):
        switch.table("delay_buckets").remove(match)
    text = (program / "cais.p4info.txtpb").read_text().replace("is_const_table: true", "")
    switch = Switch.load(program / "cais.json", text)
    switch.table("delay_buckets").remove(match)
    assert len(switch.table("delay_buckets")) == 14


def test_importing_the_package_is_light() -> None:
    script = (
        "import sys, cais_tools.switch; print(sorted(name for name in sys.modules if name.startswith('cais_tools')))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "['cais_tools', 'cais_tools.switch']"
    script = "import sys; from cais_tools.switch import Switch; print({'grpc', 'google', 'numpy'} & set(sys.modules))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "set()"
