"""Updates of table entries."""

from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from tests.integration.switch.client import DELETE, INSERT, MODIFY, exact
from tests.integration.switch.questions.builders import (
    A_DEFAULT,
    OK,
    UNSPECIFIED,
    Entity,
    Match,
    Question,
    between,
    call,
    changed,
    entry_of,
    filtered,
    id_of,
    kind_entry,
    kinds,
    lpm,
    route,
    ternary,
)

__all__ = ["TABLES"]

TABLES = [
    Question("an entry", OK, INSERT, kind_entry()),
    Question(
        "an entry twice",
        ("ALREADY_EXISTS", "Match entry exists, use MODIFY if you wish to change action"),
        INSERT,
        kind_entry(port=b"\x02"),
        before=kinds(5),
    ),
    Question(
        "a table that is full",
        ("UNKNOWN", "Error when adding match entry to target"),
        INSERT,
        kind_entry(),
        before=kinds(1, 2, 3, 4),
    ),
    Question(
        "no such table", ("INVALID_ARGUMENT", "Invalid P4 id"), INSERT, Entity(table_entry={"table_id": 33554433})
    ),
    Question(
        "a table id of another kind",
        ("INVALID_ARGUMENT", "Invalid P4 id"),
        INSERT,
        Entity(table_entry={"table_id": id_of("kinds")}),
    ),
    Question("modify what is not there", ("NOT_FOUND", "Cannot find match entry"), MODIFY, kind_entry()),
    Question("modify", OK, MODIFY, kind_entry(port=b"\x02"), before=kinds(5)),
    Question(
        "modify without an action",
        ("INVALID_ARGUMENT", "'action' field must be set for non-default entries"),
        MODIFY,
        entry_of("exact_kind", exact(b"\x05")),
        before=kinds(5),
    ),
    Question("delete what is not there", ("NOT_FOUND", "Cannot find match entry"), DELETE, kind_entry()),
    Question("delete", OK, DELETE, entry_of("exact_kind", exact(b"\x05")), before=kinds(5)),
    Question("an update without a type", ("INVALID_ARGUMENT", "Update type is not set"), UNSPECIFIED, kind_entry()),
    Question(
        "an entry without an action",
        ("INVALID_ARGUMENT", "'action' field must be set"),
        INSERT,
        entry_of("exact_kind", exact(b"\x05")),
    ),
    Question(
        "an entry with an empty action",
        ("INVALID_ARGUMENT", f"Cannot provide indirect action for direct table {id_of('exact_kind')}"),
        INSERT,
        changed(kind_entry(), lambda e: e.table_entry.action.Clear()),
    ),
    Question(
        "an action of another table",
        ("INVALID_ARGUMENT", "Invalid action for table"),
        INSERT,
        changed(kind_entry(), lambda e: e.table_entry.action.action.CopyFrom(call("metered", b"\x01"))),
    ),
    Question(
        "no such action",
        ("INVALID_ARGUMENT", "Invalid P4 id"),
        INSERT,
        changed(kind_entry(), lambda e: e.table_entry.action.action.CopyFrom(p4runtime_pb2.Action(action_id=16777217))),
    ),
    Question(
        "an action only for the default",
        ("PERMISSION_DENIED", "Cannot use DEFAULT_ONLY action in table entry"),
        INSERT,
        entry_of("exact_kind", exact(b"\x05"), action=call("discard")),
    ),
    Question(
        "a parameter too few",
        ("INVALID_ARGUMENT", "Unexpected number of action parameters"),
        INSERT,
        entry_of("exact_kind", exact(b"\x05"), action=call("counted")),
    ),
    Question(
        "a parameter too many",
        ("INVALID_ARGUMENT", "Unexpected number of action parameters"),
        INSERT,
        entry_of("exact_kind", exact(b"\x05"), action=call("counted", b"\x01", b"\x01")),
    ),
    Question(
        "another parameter",
        ("INVALID_ARGUMENT", "Unknown action parameter"),
        INSERT,
        changed(kind_entry(), lambda e: setattr(e.table_entry.action.action.params[0], "param_id", 9)),
    ),
    Question(
        "a parameter that is too wide",
        ("INVALID_ARGUMENT", "Bytestring provided does not fit within 9 bits"),
        INSERT,
        kind_entry(port=b"\x02\x00"),
    ),
    Question("a parameter with leading zeros", OK, INSERT, kind_entry(port=b"\x00\x00\x01")),
    Question("an empty parameter", OK, INSERT, kind_entry(port=b"")),
    Question(
        "a key that is too wide",
        ("INVALID_ARGUMENT", "Bytestring provided does not fit within 12 bits"),
        INSERT,
        kind_entry(b"\x10\x00"),
    ),
    Question("an empty key", OK, INSERT, kind_entry(b"")),
    Question(
        "a key left out",
        ("INVALID_ARGUMENT", "Missing non-ternary field in match key"),
        INSERT,
        entry_of("exact_kind", action=call("counted", b"\x01")),
    ),
    Question(
        "a key too many",
        ("INVALID_ARGUMENT", "Too many fields in match key"),
        INSERT,
        changed(kind_entry(), lambda e: e.table_entry.match.add(field_id=9)),
    ),
    Question(
        "another key",
        ("INVALID_ARGUMENT", "Missing non-ternary field in match key"),
        INSERT,
        changed(kind_entry(), lambda e: setattr(e.table_entry.match[0], "field_id", 9)),
    ),
    Question(
        "a key of another kind",
        ("INVALID_ARGUMENT", "Invalid match type"),
        INSERT,
        entry_of("exact_kind", lpm(b"\x05", 12), action=call("counted", b"\x01")),
    ),
    Question(
        "a priority for an exact key",
        ("INVALID_ARGUMENT", "Non-zero priority for non-ternary match"),
        INSERT,
        kind_entry(priority=5),
    ),
    Question("a negative priority for an exact key", OK, INSERT, kind_entry(priority=-5)),
    Question(
        "a time since the last hit",
        ("INVALID_ARGUMENT", "has_time_since_last_hit must not be set in WriteRequest"),
        INSERT,
        changed(kind_entry(), lambda e: e.table_entry.time_since_last_hit.SetInParent()),
    ),
    Question("an idle time-out", OK, INSERT, kind_entry(idle_timeout_ns=10**12)),
    Question(
        "a negative idle time-out",
        ("INVALID_ARGUMENT", "idle_timeout_ns must be a positive value"),
        INSERT,
        kind_entry(idle_timeout_ns=-1),
    ),
    Question(
        "an idle time-out where there is none",
        ("INVALID_ARGUMENT", "idle_timeout_ns must be set to 0 for tables which do not support idle timeout"),
        INSERT,
        route(lpm(b"\x0a\x00\x00\x00", 8), idle_timeout_ns=5),
    ),
    Question(
        "counter data where there is no counter",
        ("INVALID_ARGUMENT", "Table has no direct counters"),
        INSERT,
        changed(route(lpm(b"\x0a\x00\x00\x00", 8)), lambda e: e.table_entry.counter_data.SetInParent()),
    ),
    Question(
        "a meter config where there is no meter",
        ("INVALID_ARGUMENT", "Table has no direct meters"),
        INSERT,
        changed(kind_entry(), lambda e: e.table_entry.meter_config.SetInParent()),
    ),
    Question(
        "a prefix of 0",
        (
            "INVALID_ARGUMENT",
            "Invalid reprsentation of 'don't care' LPM match, omit match field instead of using a prefix length of 0",
        ),
        INSERT,
        route(lpm(b"\x00", 0)),
    ),
    Question(
        "a prefix that is too long",
        ("INVALID_ARGUMENT", "Prefix length cannot be > bitwidth"),
        INSERT,
        route(lpm(b"\x00", 33)),
    ),
    Question("a negative prefix", ("INVALID_ARGUMENT", "Prefix length cannot be < 0"), INSERT, route(lpm(b"\x00", -1))),
    Question(
        "host bits",
        ("INVALID_ARGUMENT", "Invalid LPM value, incorrect number of trailing zeros"),
        INSERT,
        route(lpm(b"\x0a\x00\x00\x01", 8)),
    ),
    Question("every address", OK, INSERT, route()),
    Question(
        "an action that the default may not have",
        ("PERMISSION_DENIED", "Cannot use TABLE_ONLY action as default action"),
        MODIFY,
        entry_of("exact_kind", action=call("send", b"\x01"), is_default_action=True),
    ),
    Question(
        "no priority for a ternary key",
        ("INVALID_ARGUMENT", "Zero priority for ternary match"),
        INSERT,
        filtered(ternary(b"\x01", b"\x01"), priority=0),
    ),
    Question(
        "a negative priority",
        ("UNKNOWN", "Error when adding match entry to target"),
        INSERT,
        filtered(ternary(b"\x01", b"\x01"), priority=-1),
    ),
    Question(
        "a mask of 0",
        (
            "INVALID_ARGUMENT",
            "Invalid representation of 'don't care' ternary match, omit match field instead of using 0 mask",
        ),
        INSERT,
        filtered(ternary(b"\x00", b"\x00")),
    ),
    Question(
        "bits outside of the mask",
        ("INVALID_ARGUMENT", "Invalid ternary value, make sure value & mask == value"),
        INSERT,
        filtered(ternary(b"\x03", b"\x01")),
    ),
    Question(
        "an empty range",
        ("INVALID_ARGUMENT", "Invalid range value, make sure low <= high"),
        INSERT,
        filtered(between(b"\x05", b"\x04")),
    ),
    Question(
        "a range that is everything",
        (
            "INVALID_ARGUMENT",
            (
                "Invalid representation of 'don't care' range match, "
                "omit match field instead of using low=0 and high=2**bitwidth-1"
            ),
        ),
        INSERT,
        filtered(between(b"\x00\x00", b"\xff\xff")),
    ),
    Question("a range that is everything, in few bytes", OK, INSERT, filtered(between(b"\x00", b"\xff\xff"))),
    Question("all of a ternary table", OK, INSERT, filtered()),
    Question("the same but for its priority", OK, INSERT, filtered(priority=6), before=[(INSERT, filtered())]),
    Question("an optional key", OK, INSERT, filtered(Match(field_id=3, optional=Match.Optional(value=b"\x03")))),
    Question(
        "insert a default",
        ("INVALID_ARGUMENT", "Cannot use INSERT for default entry"),
        INSERT,
        changed(A_DEFAULT, lambda e: e.table_entry.action.action.CopyFrom(call("discard"))),
    ),
    Question("delete a default", ("INVALID_ARGUMENT", "Cannot use DELETE for default entry"), DELETE, A_DEFAULT),
    Question("reset a default", OK, MODIFY, A_DEFAULT),
    Question(
        "a default with a key",
        ("INVALID_ARGUMENT", "Non-empty key for default entry"),
        MODIFY,
        changed(A_DEFAULT, lambda e: e.table_entry.match.append(exact(b"\x01"))),
    ),
    Question(
        "a default with a priority",
        ("INVALID_ARGUMENT", "Non-zero priority for default entry"),
        MODIFY,
        changed(A_DEFAULT, lambda e: setattr(e.table_entry, "priority", 1)),
    ),
    Question(
        "a const default",
        (
            "PERMISSION_DENIED",
            f"Cannot set / reset default action for table {id_of('route')} which has a const default action",
        ),
        MODIFY,
        entry_of("route", action=call("NoAction"), is_default_action=True),
    ),
    Question(
        "a default of an indirect table",
        ("INVALID_ARGUMENT", f"Cannot set / reset default action for indirect table {id_of('spread')}"),
        MODIFY,
        entry_of("spread", is_default_action=True),
    ),
    Question(
        "insert into a const table",
        ("UNKNOWN", "Error when adding match entry to target"),
        INSERT,
        entry_of("fixed", exact(b"\x05"), action=call("send", b"\x01")),
    ),
    Question(
        "modify a const entry",
        ("NOT_FOUND", "Cannot find match entry"),
        MODIFY,
        entry_of("fixed", exact(b"\x01"), action=call("send", b"\x02")),
    ),
    Question(
        "delete a const entry", ("NOT_FOUND", "Cannot find match entry"), DELETE, entry_of("fixed", exact(b"\x01"))
    ),
]
