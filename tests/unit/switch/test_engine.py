"""Packets through small programs: what simple_switch would do with them."""

from __future__ import annotations

from typing import Any

import pytest

from cais_tools.switch.actions import ActionCall
from cais_tools.switch.engine import Digest, Engine, InstanceType, Queued
from cais_tools.switch.matches import Exact
from cais_tools.switch.meters import MeterConfig
from cais_tools.switch.pre import CloneSession, Replica
from tests.unit.switch.programs import assign, compare, const, engine_for, field, minimal, param, table

Json = dict[str, Any]
STANDARD = "standard_metadata"
A, B, C, X, Y = (*(field("h", name) for name in "abc"), field("scalars", "x"), field("scalars", "y"))
SPEC, GROUP = field(STANDARD, "egress_spec"), field(STANDARD, "mcast_grp")
FRAME = bytes.fromhex("01 0203 04 ff")


def does(*steps: Json, egress: tuple[Json, ...] = (), **parts: Any) -> Engine:
    """A program whose ingress sends everything to port 2, after `steps`."""
    program = minimal()
    program.update(parts)
    table(program, "t", [], {"act": ([], [assign(SPEC, const(2)), *steps])}, default="act")
    if egress:
        table(program, "e", [], {"out": ([], list(egress))}, pipeline="egress", default="out")
    return engine_for(program, clock=lambda: 5_000_000)


def op(name: str, *parameters: Json) -> Json:
    return {"op": name, "parameters": list(parameters)}


def through(engine: Engine, frame: bytes = FRAME, port: int = 1, **queue: int) -> list[tuple[int, bytes]]:
    """All frames that come out, with their ports."""
    out: list[tuple[int, bytes]] = []

    def leave(queued: list[Queued]) -> None:
        for each in queued:
            result = engine.process_egress(each, **queue)
            if result is not None:
                out.append((each.egress_port, result))

    leave(engine.process_ingress(port, [frame]))
    for _ in range(10):
        if not engine.pending:
            break
        leave(engine.process_pending())
    return out


def test_forwarding_leaves_the_frame_alone() -> None:
    assert through(does()) == [(2, FRAME)]


def test_without_egress_spec_packets_leave_by_port_0() -> None:
    assert through(engine_for(minimal())) == [(0, FRAME)]


def test_drop_and_mark_to_drop() -> None:
    header = {"type": "header", "value": STANDARD}
    for drop in (op("drop"), op("mark_to_drop", header)):
        assert through(does(drop)) == []
        assert through(does(egress=(drop,))) == []


def test_a_drop_in_egress_only_counts_when_egress_says_so() -> None:
    """Egress starts with an egress_spec that is not the drop port."""
    engine = does(assign(GROUP, const(5)), assign(SPEC, const(511)))
    engine.pre.insert_group(5, [Replica(7, 0)])
    assert through(engine) == [(7, FRAME)]


def test_assignments_wrap() -> None:
    engine = does(assign(A, compare("+", A, const(0xFF))), assign(B, compare("-", const(0), const(1))))
    assert through(engine) == [(2, bytes.fromhex("00 ffff 04 ff"))]


def test_short_packets_are_parser_errors_and_go_on() -> None:
    engine = does(assign(B, field(STANDARD, "parser_error")))
    assert through(engine, b"\x01\x02") == [(2, b"\x01\x02")]
    source = field(STANDARD, "parser_error")
    table_engine = does(assign(SPEC, source))
    assert through(table_engine, b"\x01\x02") == [(1, b"\x01\x02")]


def test_headers_come_and_go() -> None:
    header = {"type": "header", "value": "h"}
    assert through(does(op("remove_header", header))) == [(2, b"\xff")]
    again = does(op("remove_header", header), op("add_header", header), assign(C, const(9)))
    assert through(again) == [(2, bytes.fromhex("00 0000 09 ff"))]


def test_egress_reads_what_ingress_left_in_metadata() -> None:
    engine = does(assign(X, compare("+", A, const(0x40))), egress=(assign(C, X),))
    assert through(engine) == [(2, bytes.fromhex("01 0203 41 ff"))]


def test_multicast_copies_differ_by_port_and_instance() -> None:
    engine = does(
        assign(GROUP, const(5)),
        egress=(assign(A, field(STANDARD, "egress_rid")), assign(C, field(STANDARD, "egress_port"))),
    )
    engine.pre.insert_group(5, [Replica(3, 7), Replica(4, 8)])
    assert through(engine) == [(3, bytes.fromhex("07 0203 03 ff")), (4, bytes.fromhex("08 0203 04 ff"))]
    queued = engine.process_ingress(1, [FRAME])
    assert [each.instance_type for each in queued] == [InstanceType.REPLICATION] * 2


def test_multicast_to_a_group_that_does_not_exist_is_a_drop() -> None:
    assert through(does(assign(GROUP, const(5)))) == []


def test_queueing_metadata() -> None:
    names = ("enq_qdepth", "deq_timedelta", "deq_qdepth")
    engine = does(egress=tuple(assign(to, field(STANDARD, name)) for to, name in zip((A, B, C), names, strict=True)))
    assert through(engine, enq_qdepth=3, deq_timedelta=4, deq_qdepth=5) == [(2, bytes.fromhex("03 0004 05 ff"))]


def test_queueing_metadata_wraps() -> None:
    """After 71 minutes a time in microseconds has more bits than its field."""
    engine = does(egress=(assign(B, compare(">>", field(STANDARD, "deq_timedelta"), const(16))),))
    assert through(engine, deq_timedelta=(1 << 40) + (7 << 16))[0][1][1:3] == (7).to_bytes(2)


def test_timestamps_are_microseconds() -> None:
    engine = does(assign(B, field(STANDARD, "ingress_global_timestamp")))
    assert through(engine)[0][1][1:3] == (5_000_000 & 0xFFFF).to_bytes(2)


def test_packet_length_follows_headers_that_come_and_go() -> None:
    """In egress; bmv2 adds and subtracts what ingress added and removed."""
    engine = does(egress=(assign(B, field(STANDARD, "packet_length")),))
    assert through(engine)[0][1][1:3] == (5).to_bytes(2)


def test_truncate() -> None:
    assert through(does(op("truncate", const(3)))) == [(2, FRAME[:3])]
    assert through(does(egress=(op("truncate", const(4)), op("truncate", const(9))))) == [(2, FRAME[:4])]


def test_registers_and_counters() -> None:
    registers = [{"name": "r", "id": 0, "size": 4, "bitwidth": 8}]
    counters = [{"name": "c", "id": 0, "size": 4, "is_direct": False}]
    register = {"type": "register_array", "value": "r"}
    engine = does(
        op("register_read", C, register, A),
        op("register_write", register, A, compare("+", C, const(0x81))),
        op("count", {"type": "counter_array", "value": "c"}, A),
        register_arrays=registers,
        counter_arrays=counters,
    )
    assert through(engine)[0][1][3] == 0
    assert through(engine)[0][1][3] == 0x81
    assert engine.registers["r"].read_all() == [0, 2, 0, 0]
    assert engine.counters["c"].read(1) == (2, 10)
    # Out of range: nothing is read, written or counted.
    assert through(engine, bytes.fromhex("63 0203 04 ff"))[0][1][3] == 4
    engine.reset()
    assert engine.registers["r"].read(1) == 0
    assert engine.counters["c"].read(1) == (0, 0)


def test_direct_counters_count_hits_only() -> None:
    program = minimal()
    actions: dict[str, Any] = {"go": ([("port", 9)], [assign(SPEC, param(0))]), "no": ([], [])}
    table(program, "t", [("exact", A)], actions, default="no", with_counters=True)
    engine = engine_for(program)
    entry = engine.tables["t"].insert([Exact(1)], ActionCall("go", (3,)))
    assert through(engine) == [(3, FRAME)]
    assert through(engine, b"\x09" + FRAME[1:]) == [(0, b"\x09" + FRAME[1:])]
    assert entry.counter_value == (1, 5)


def test_meters_mark() -> None:
    meters = [{"name": "m", "id": 0, "size": 2, "is_direct": False, "type": "packets", "rate_count": 2}]
    meter = {"type": "meter_array", "value": "m"}
    engine = does(op("execute_meter", meter, const(0), C), meter_arrays=meters)
    assert [through(engine)[0][1][3] for _ in range(3)] == [0, 0, 0]
    engine.meters["m"].write(0, MeterConfig(cir=1, cburst=1, pir=1, pburst=2))
    assert [through(engine)[0][1][3] for _ in range(3)] == [0, 1, 2]


def test_hash_based_offset() -> None:
    calculations = [{"name": "calc", "id": 0, "algo": "crc32", "input": [A, B]}]
    calculation = {"type": "calculation", "value": "calc"}
    engine = does(
        op("modify_field_with_hash_based_offset", B, const(0x1000), calculation, const(0x100)),
        calculations=calculations,
    )
    import zlib

    assert through(engine)[0][1][1:3] == (zlib.crc32(FRAME[:3]) % 0x100 + 0x1000).to_bytes(2)


@pytest.mark.parametrize("signed", [False, True])
def test_checksums_are_verified_and_updated(signed: bool) -> None:
    types = minimal()["header_types"]
    types[2]["fields"][1] = ["b", 16, signed]
    calculations = [{"name": "calc", "id": 0, "algo": "csum16", "input": [A, C]}]
    checksum = {"name": "s", "id": 0, "target": ["h", "b"], "type": "generic", "calculation": "calc"}
    parts: Json = {"calculations": calculations, "header_types": types}
    update = does(**parts, checksums=[checksum | {"verify": False, "update": True}])
    right = bytes.fromhex("01 fefb 04 ff")
    assert through(update) == [(2, right)]
    verify = does(
        assign(A, field(STANDARD, "checksum_error")),
        **parts,
        checksums=[checksum | {"verify": True, "update": False}],
    )
    assert through(verify)[0][1][0] == 1
    assert through(verify, right)[0][1][0] == 0


def test_clone_from_ingress_is_the_packet_as_it_came_in() -> None:
    lists = [{"id": 1, "name": "kept", "elements": [X]}]
    clone = op("clone_ingress_pkt_to_egress", const(9), const(1))
    engine = does(
        assign(A, const(0x77)),
        assign(X, const(0x55)),
        assign(Y, const(0x66)),
        clone,
        egress=(assign(C, X), assign(B, Y)),
        field_lists=lists,
    )
    engine.pre.insert_session(9, CloneSession((Replica(6, 0),)))
    assert through(engine) == [(6, bytes.fromhex("01 0000 55 ff")), (2, bytes.fromhex("77 0066 55 ff"))]
    engine.pre.delete_session(9)
    assert through(engine) == [(2, bytes.fromhex("77 0066 55 ff"))]


def test_clone_from_egress_has_its_changes() -> None:
    lists = [{"id": 1, "name": "kept", "elements": []}]
    program = minimal()
    program["field_lists"] = lists
    table(program, "t", [], {"act": ([], [assign(SPEC, const(2))])}, default="act")
    clone = op("clone_egress_pkt_to_egress", const(9), const(1))
    actions: dict[str, Any] = {"first": ([], [assign(A, const(0x77)), clone]), "copy": ([], [assign(C, const(0x88))])}
    table(program, "e", [("exact", field(STANDARD, "instance_type"))], actions, pipeline="egress", default="first")
    engine = engine_for(program)
    engine.tables["e"].insert([Exact(InstanceType.EGRESS_CLONE)], ActionCall("copy"))
    engine.pre.insert_session(9, CloneSession((Replica(6, 0),), packet_length=4))
    assert through(engine) == [(2, bytes.fromhex("77 0203 04 ff")), (6, bytes.fromhex("77 0203 88"))]


def returning(kind: str, pipeline: str, instance_type: int) -> Engine:
    """A program that sends a packet round once, keeping x."""
    program = minimal()
    program["field_lists"] = [{"id": 1, "name": "kept", "elements": [X]}]
    here: dict[str, Any] = {
        "again": ([], [assign(X, const(0x55)), assign(SPEC, const(2)), op(kind, const(1))]),
        "done": ([], [assign(C, X), assign(SPEC, const(3))]),
    }
    if pipeline == "egress":
        first: dict[str, Any] = {
            "start": ([], [assign(SPEC, const(2))]),
            "done_in": ([], [assign(C, X), assign(SPEC, const(3))]),
        }
        made = table(program, "i", [("exact", field(STANDARD, "instance_type"))], first, default="start")
        assert made
        here = {"again": ([], [assign(X, const(0x55)), op(kind, const(1))]), "done": ([], [])}
    key = field(STANDARD, "instance_type") if pipeline == "ingress" else field(STANDARD, "egress_port")
    table(program, "t", [("exact", key)], here, pipeline=pipeline, default="again")
    engine = engine_for(program)
    engine.tables["t"].insert([Exact(instance_type if pipeline == "ingress" else 3)], ActionCall("done"))
    if pipeline == "egress":
        engine.tables["i"].insert([Exact(instance_type)], ActionCall("done_in"))
    return engine


def test_resubmit_keeps_the_field_list() -> None:
    engine = returning("resubmit", "ingress", InstanceType.RESUBMITTED)
    assert through(engine) == [(3, bytes.fromhex("01 0203 55 ff"))]


def test_recirculate_keeps_the_field_list() -> None:
    engine = returning("recirculate", "egress", InstanceType.RECIRCULATED)
    assert through(engine) == [(3, bytes.fromhex("01 0203 55 ff"))]


def test_digests() -> None:
    lists = [{"id": 1, "name": "seen", "elements": [A, B]}]
    engine = does(op("generate_digest", const(0), const(1)), learn_lists=lists)
    through(engine)
    assert engine.digests == [Digest("seen", (1, 0x203))]


def test_log_messages() -> None:
    message = {"type": "string", "value": "a is {} and b {}"}
    values = {"type": "parameters_vector", "value": [A, B]}
    said: list[str] = []
    engine = does(op("log_msg", message, values))
    engine.on_log = said.append
    through(engine)
    assert said == ["a is 1 and b 515"]


def test_exit_ends_the_pipeline() -> None:
    program = minimal()
    table(program, "t", [], {"one": ([], [assign(SPEC, const(2)), op("exit")])}, default="one")
    table(program, "u", [], {"two": ([], [assign(SPEC, const(3))])}, default="two")
    assert through(engine_for(program)) == [(2, FRAME)]


@pytest.mark.parametrize(("frame", "result"), [(FRAME, "11 0203 04 ff"), (b"\x02" + FRAME[1:], "22 0203 04 ff")])
def test_jumps_in_actions(frame: bytes, result: str) -> None:
    """What p4c makes of `if (a == 1) a = 0x11; else a = 0x22;`."""
    engine = does(
        op("_jump_if_zero", {"type": "expression", "value": compare("==", A, const(1))}, const(4)),
        assign(A, const(0x11)),
        op("_jump", const(5)),
        assign(A, const(0x22)),
    )
    # Step 0 is the assignment to egress_spec.
    assert through(engine, frame) == [(2, bytes.fromhex(result))]


def test_hit_and_miss_lead_to_different_tables() -> None:
    program = minimal()
    first = table(program, "t", [("exact", A)], {"no": ([], [])}, default="no")
    table(program, "u", [], {"two": ([], [assign(SPEC, const(2))])}, default="two")
    table(program, "v", [], {"three": ([], [assign(SPEC, const(3))])}, default="three")
    first["next_tables"] = {"__HIT__": "u", "__MISS__": "v"}
    second = program["pipelines"][0]["tables"][1]
    second["next_tables"], second["base_default_next"] = {"two": None}, None
    engine = engine_for(program)
    engine.tables["t"].insert([Exact(1)], ActionCall("no"))
    assert through(engine) == [(2, FRAME)]
    assert through(engine, b"\x09" + FRAME[1:])[0][0] == 3


def test_fields_of_invalid_headers_match_as_zero() -> None:
    program = minimal()
    header = {"type": "header", "value": "h"}
    actions: dict[str, Any] = {"remove": ([], [op("remove_header", header)])}
    table(program, "t", [], actions, default="remove")
    table(program, "u", [("exact", A)], {"two": ([], [assign(SPEC, const(2))]), "no": ([], [])}, default="no")
    engine = engine_for(program)
    engine.tables["u"].insert([Exact(0)], ActionCall("two"))
    assert through(engine) == [(2, b"\xff")]
