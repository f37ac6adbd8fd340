"""Reads of table entries."""

from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from tests.integration.switch.client import INSERT, MODIFY, exact
from tests.integration.switch.questions.builders import (
    A_DEFAULT,
    OK,
    Entity,
    Question,
    between,
    call,
    changed,
    entry_of,
    filtered,
    kinds,
    lpm,
    route,
    ternary,
)

__all__ = ["READS"]

NO_AGEING = (
    "INVALID_ARGUMENT",
    (
        "Do not set time_since_last_hit for a ReadRequest if the table does not support idle timeout; "
        "yes, that includes wildcard reads"
    ),
)

METERED = changed(
    route(lpm(b"\x0a\x00\x00\x00", 8)),
    lambda e: e.table_entry.meter_config.MergeFrom(p4runtime_pb2.MeterConfig(cir=1, cburst=2, pir=3, pburst=4)),
)

READS = [
    Question("read a table", OK, None, entry_of("exact_kind"), before=kinds(1, 2), finds=2),
    Question("read by key", OK, None, entry_of("exact_kind", exact(b"\x01")), before=kinds(1, 2), finds=1),
    Question("read a key that is not there", OK, None, entry_of("exact_kind", exact(b"\x03")), before=kinds(1, 2)),
    Question(
        "read no such table", ("INVALID_ARGUMENT", "Invalid P4 id"), None, Entity(table_entry={"table_id": 33554433})
    ),
    Question("read all tables", OK, None, Entity(table_entry={}), before=kinds(1, 2), finds=4),
    Question("read by action", OK, None, entry_of("exact_kind", action=call("send")), before=kinds(1, 2), finds=2),
    Question("read by metadata", OK, None, entry_of("exact_kind", metadata=b"x"), before=kinds(1, 2), finds=2),
    Question("read by priority", OK, None, entry_of("filter", priority=7), before=[(INSERT, filtered())], finds=1),
    Question(
        "read part of a key",
        OK,
        None,
        entry_of("filter", ternary(b"\x01", b"\x01"), priority=5),
        before=[(INSERT, filtered(ternary(b"\x01", b"\x01"), between(b"\x01", b"\x02")))],
    ),
    Question(
        "read a ternary key without its priority",
        ("INVALID_ARGUMENT", "Zero priority for ternary match"),
        None,
        entry_of("filter", ternary(b"\x01", b"\x01")),
        before=[(INSERT, filtered(ternary(b"\x01", b"\x01")))],
    ),
    Question(
        "read a ternary key",
        OK,
        None,
        entry_of("filter", ternary(b"\x01", b"\x01"), priority=5),
        before=[(INSERT, filtered(ternary(b"\x01", b"\x01")))],
        finds=1,
    ),
    Question(
        "read counters with the entries",
        OK,
        None,
        changed(entry_of("exact_kind"), lambda e: e.table_entry.counter_data.SetInParent()),
        before=kinds(1),
        finds=1,
    ),
    Question(
        "read the time since the last hit",
        OK,
        None,
        changed(entry_of("exact_kind"), lambda e: e.table_entry.time_since_last_hit.SetInParent()),
        before=kinds(1),
        finds=1,
    ),
    Question(
        "the time since the last hit where there is none",
        NO_AGEING,
        None,
        changed(entry_of("route"), lambda e: e.table_entry.time_since_last_hit.SetInParent()),
    ),
    Question(
        "the time since the last hit of all tables",
        NO_AGEING,
        None,
        changed(Entity(table_entry={}), lambda e: e.table_entry.time_since_last_hit.SetInParent()),
    ),
    Question(
        "read a meter that a MODIFY did not mention",
        OK,
        None,
        changed(entry_of("route"), lambda e: e.table_entry.meter_config.SetInParent()),
        before=[(INSERT, METERED), (MODIFY, route(lpm(b"\x0a\x00\x00\x00", 8)))],
        finds=1,
    ),
    Question("read a default", OK, None, A_DEFAULT, finds=1),
    Question("read a default of an indirect table", OK, None, entry_of("spread", is_default_action=True), finds=1),
    Question(
        "read a default with the time",
        (
            "INVALID_ARGUMENT",
            "Default table entries do not support entry ageing, do not set 'time_since_last_hit' in your ReadRequest",
        ),
        None,
        changed(A_DEFAULT, lambda e: e.table_entry.time_since_last_hit.SetInParent()),
    ),
    Question("read const entries", OK, None, entry_of("fixed"), finds=2),
]
