"""What two servers are asked to see whether they answer alike: requests about data/rehearsal.p4, and bmv2's answers.

The answers are those of simple_switch_grpc (PI f96af95), code and text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cais_tools.p4rt import p4runtime_pb2
from tests.integration.switch.client import (
    DATA,
    DELETE,
    INSERT,
    MODIFY,
    Names,
    clone_session,
    exact,
    multicast_group,
    program,
)

CONFIG = program("rehearsal", DATA)
NAMES = Names(CONFIG.p4info)

Entity = p4runtime_pb2.Entity
Match = p4runtime_pb2.FieldMatch
UNSPECIFIED = p4runtime_pb2.Update.UNSPECIFIED

OK = ("OK", "")


@dataclass(frozen=True)
class Question:
    """One update (`kind`, `entity`), or with `kind` None a read, after the updates of `before`.

    `answer` is bmv2's: the code's name and the text. `finds`: how many entities a read returns.
    """

    name: str
    kind: p4runtime_pb2.Update.Type | None
    entity: Entity
    answer: tuple[str, str] = OK
    before: Sequence[tuple[p4runtime_pb2.Update.Type, Entity]] = ()
    finds: int = 0


def _id(name: str) -> int:
    return NAMES.id(f"FrameIngress.{name}")


def _action(name: str, *values: bytes) -> p4runtime_pb2.Action:
    return NAMES.action(name if name == "NoAction" else f"FrameIngress.{name}", *values)


def _entry(table: str, *match: Match, action: p4runtime_pb2.Action | None = None, **fields: object) -> Entity:
    return NAMES.entry(f"FrameIngress.{table}", *match, action=action, **fields)


def _kind(value: bytes = b"\x05", *, port: bytes = b"\x01", **fields: object) -> Entity:
    """An entry of `exact_kind`."""
    return _entry("exact_kind", exact(value), action=_action("counted", port), **fields)


def _lpm(value: bytes, prefix_len: int) -> Match:
    return Match(field_id=1, lpm=Match.LPM(value=value, prefix_len=prefix_len))


def _ternary(value: bytes, mask: bytes, field_id: int = 1) -> Match:
    return Match(field_id=field_id, ternary=Match.Ternary(value=value, mask=mask))


def _range(low: bytes, high: bytes) -> Match:
    return Match(field_id=2, range=Match.Range(low=low, high=high))


def _route(*match: Match, **fields: object) -> Entity:
    return _entry("route", *match, action=_action("metered", b"\x01"), **fields)


def _filter(*match: Match, priority: int = 5) -> Entity:
    return _entry("filter", *match, action=_action("discard"), priority=priority)


def _made(build: Callable[[Entity], None]) -> Entity:
    entity = Entity()
    build(entity)
    return entity


def _changed(entity: Entity, change: Callable[[Entity], object]) -> Entity:
    copy = Entity()
    copy.CopyFrom(entity)
    change(copy)
    return copy


def _counter(name: str, index: int | None, packets: int = 0, octets: int = 0) -> Entity:
    entity = Entity()
    entry = entity.counter_entry
    entry.counter_id = _id(name) if name else 0
    if index is not None:
        entry.index.index = index
    if packets or octets:
        entry.data.packet_count, entry.data.byte_count = packets, octets
    return entity


def _meter(index: int | None, *rates: int, meter_id: int | None = None) -> Entity:
    """`rates`: cir, cburst, pir, pburst."""
    entity = Entity()
    entry = entity.meter_entry
    entry.meter_id = _id("rate") if meter_id is None else meter_id
    if index is not None:
        entry.index.index = index
    if rates:
        entry.config.cir, entry.config.cburst, entry.config.pir, entry.config.pburst = rates
    return entity


def _direct_counter(entry: Entity | None, packets: int = 0) -> Entity:
    entity = Entity()
    entity.direct_counter_entry.SetInParent()
    if entry is not None:
        entity.direct_counter_entry.table_entry.CopyFrom(entry.table_entry)
    if packets:
        entity.direct_counter_entry.data.packet_count = packets
    return entity


def _direct_meter(entry: Entity | None) -> Entity:
    entity = Entity()
    entity.direct_meter_entry.SetInParent()
    if entry is not None:
        entity.direct_meter_entry.table_entry.CopyFrom(entry.table_entry)
    return entity


def _member(ident: int, action: p4runtime_pb2.Action | None = None, profile: int | None = None) -> Entity:
    entity = Entity()
    entity.action_profile_member.action_profile_id = _id("members") if profile is None else profile
    entity.action_profile_member.member_id = ident
    if action is not None:
        entity.action_profile_member.action.CopyFrom(action)
    return entity


def _group(ident: int, *members: int, weight: int = 1, max_size: int = 0) -> Entity:
    entity = Entity()
    group = entity.action_profile_group
    group.action_profile_id, group.group_id, group.max_size = _id("members"), ident, max_size
    for member in members:
        group.members.add(member_id=member, weight=weight)
    return entity


def _spread(member: int = 0, group: int = 0, weights: Sequence[int] | None = None) -> Entity:
    """An entry of `spread` that refers to a member or a group, or has a one-shot set."""
    entity = _entry("spread", exact(b"\x05"))
    action = entity.table_entry.action
    if member:
        action.action_profile_member_id = member
    elif group:
        action.action_profile_group_id = group
    elif weights is not None:
        action.action_profile_action_set.SetInParent()
        for weight in weights:
            one_shot = action.action_profile_action_set.action_profile_actions
            one_shot.add(action=_action("send", b"\x01"), weight=weight)
    return entity


def _digest(ident: int | None = None, **config: int) -> Entity:
    entity = Entity()
    entity.digest_entry.digest_id = NAMES.id("news_t") if ident is None else ident
    entity.digest_entry.config.SetInParent()
    for name, value in config.items():
        setattr(entity.digest_entry.config, name, value)
    return entity


def _kinds(*numbers: int) -> list[tuple[p4runtime_pb2.Update.Type, Entity]]:
    return [(INSERT, _kind(bytes([number]))) for number in numbers]


_TWO_MEMBERS = [(INSERT, _member(number, _action("send", b"\x01"))) for number in (1, 2)]
_IN_GROUP = [*_TWO_MEMBERS, (INSERT, _group(7, 1, 2))]
_A_DEFAULT = _entry("exact_kind", is_default_action=True)
_PORT_8 = _changed(
    multicast_group(3), lambda e: e.packet_replication_engine_entry.multicast_group_entry.replicas.add(egress_port=8)
)


def _replica(**fields: object) -> Entity:
    return _changed(
        multicast_group(3),
        lambda e: e.packet_replication_engine_entry.multicast_group_entry.replicas.add(**fields),
    )


TABLES = [
    Question("an entry", INSERT, _kind()),
    Question("an entry twice", INSERT, _kind(port=b"\x02"), before=_kinds(5)),
    Question("a table that is full", INSERT, _kind(), before=_kinds(1, 2, 3, 4)),
    Question("no such table", INSERT, Entity(table_entry={"table_id": 33554433})),
    Question("a table id of another kind", INSERT, Entity(table_entry={"table_id": _id("kinds")})),
    Question("modify what is not there", MODIFY, _kind()),
    Question("modify", MODIFY, _kind(port=b"\x02"), before=_kinds(5)),
    Question("modify without an action", MODIFY, _entry("exact_kind", exact(b"\x05")), before=_kinds(5)),
    Question("delete what is not there", DELETE, _kind()),
    Question("delete", DELETE, _entry("exact_kind", exact(b"\x05")), before=_kinds(5)),
    Question("an update without a type", UNSPECIFIED, _kind()),
    Question("an entry without an action", INSERT, _entry("exact_kind", exact(b"\x05"))),
    Question("an entry with an empty action", INSERT, _changed(_kind(), lambda e: e.table_entry.action.Clear())),
    Question("an action of another table", INSERT, _changed(_kind(), lambda e: e.table_entry.action.action.CopyFrom(_action("metered", b"\x01")))),
    Question("no such action", INSERT, _changed(_kind(), lambda e: e.table_entry.action.action.CopyFrom(p4runtime_pb2.Action(action_id=16777217)))),
    Question("an action only for the default", INSERT, _entry("exact_kind", exact(b"\x05"), action=_action("discard"))),
    Question("a parameter too few", INSERT, _entry("exact_kind", exact(b"\x05"), action=_action("counted"))),
    Question("a parameter too many", INSERT, _entry("exact_kind", exact(b"\x05"), action=_action("counted", b"\x01", b"\x01"))),
    Question("another parameter", INSERT, _changed(_kind(), lambda e: setattr(e.table_entry.action.action.params[0], "param_id", 9))),
    Question("a parameter that is too wide", INSERT, _kind(port=b"\x02\x00")),
    Question("a parameter with leading zeros", INSERT, _kind(port=b"\x00\x00\x01")),
    Question("an empty parameter", INSERT, _kind(port=b"")),
    Question("a key that is too wide", INSERT, _kind(b"\x10\x00")),
    Question("an empty key", INSERT, _kind(b"")),
    Question("a key left out", INSERT, _entry("exact_kind", action=_action("counted", b"\x01"))),
    Question("a key too many", INSERT, _changed(_kind(), lambda e: e.table_entry.match.add(field_id=9))),
    Question("another key", INSERT, _changed(_kind(), lambda e: setattr(e.table_entry.match[0], "field_id", 9))),
    Question("a key of another kind", INSERT, _entry("exact_kind", _lpm(b"\x05", 12), action=_action("counted", b"\x01"))),
    Question("a priority for an exact key", INSERT, _kind(priority=5)),
    Question("a negative priority for an exact key", INSERT, _kind(priority=-5)),
    Question("a time since the last hit", INSERT, _changed(_kind(), lambda e: e.table_entry.time_since_last_hit.SetInParent())),
    Question("an idle time-out", INSERT, _kind(idle_timeout_ns=10**12)),
    Question("a negative idle time-out", INSERT, _kind(idle_timeout_ns=-1)),
    Question("an idle time-out where there is none", INSERT, _route(_lpm(b"\x0a\x00\x00\x00", 8), idle_timeout_ns=5)),
    Question("counter data where there is no counter", INSERT, _changed(_route(_lpm(b"\x0a\x00\x00\x00", 8)), lambda e: e.table_entry.counter_data.SetInParent())),
    Question("a meter config where there is no meter", INSERT, _changed(_kind(), lambda e: e.table_entry.meter_config.SetInParent())),
    Question("a prefix of 0", INSERT, _route(_lpm(b"\x00", 0))),
    Question("a prefix that is too long", INSERT, _route(_lpm(b"\x00", 33))),
    Question("a negative prefix", INSERT, _route(_lpm(b"\x00", -1))),
    Question("host bits", INSERT, _route(_lpm(b"\x0a\x00\x00\x01", 8))),
    Question("every address", INSERT, _route()),
    Question("an action that the default may not have", MODIFY, _entry("exact_kind", action=_action("send", b"\x01"), is_default_action=True)),
    Question("no priority for a ternary key", INSERT, _filter(_ternary(b"\x01", b"\x01"), priority=0)),
    Question("a negative priority", INSERT, _filter(_ternary(b"\x01", b"\x01"), priority=-1)),
    Question("a mask of 0", INSERT, _filter(_ternary(b"\x00", b"\x00"))),
    Question("bits outside of the mask", INSERT, _filter(_ternary(b"\x03", b"\x01"))),
    Question("an empty range", INSERT, _filter(_range(b"\x05", b"\x04"))),
    Question("a range that is everything", INSERT, _filter(_range(b"\x00\x00", b"\xff\xff"))),
    Question("a range that is everything, in few bytes", INSERT, _filter(_range(b"\x00", b"\xff\xff"))),
    Question("all of a ternary table", INSERT, _filter()),
    Question("the same but for its priority", INSERT, _filter(priority=6), before=[(INSERT, _filter())]),
    Question("an optional key", INSERT, _filter(Match(field_id=3, optional=Match.Optional(value=b"\x03")))),
    Question("insert a default", INSERT, _changed(_A_DEFAULT, lambda e: e.table_entry.action.action.CopyFrom(_action("discard")))),
    Question("delete a default", DELETE, _A_DEFAULT),
    Question("reset a default", MODIFY, _A_DEFAULT),
    Question("a default with a key", MODIFY, _changed(_A_DEFAULT, lambda e: e.table_entry.match.append(exact(b"\x01")))),
    Question("a default with a priority", MODIFY, _changed(_A_DEFAULT, lambda e: setattr(e.table_entry, "priority", 1))),
    Question("a const default", MODIFY, _entry("route", action=_action("NoAction"), is_default_action=True)),
    Question("a default of an indirect table", MODIFY, _entry("spread", is_default_action=True)),
    Question("insert into a const table", INSERT, _entry("fixed", exact(b"\x05"), action=_action("send", b"\x01"))),
    Question("modify a const entry", MODIFY, _entry("fixed", exact(b"\x01"), action=_action("send", b"\x02"))),
    Question("delete a const entry", DELETE, _entry("fixed", exact(b"\x01"))),
]

READS = [
    Question("read a table", None, _entry("exact_kind"), before=_kinds(1, 2), finds=2),
    Question("read by key", None, _entry("exact_kind", exact(b"\x01")), before=_kinds(1, 2), finds=1),
    Question("read a key that is not there", None, _entry("exact_kind", exact(b"\x03")), before=_kinds(1, 2)),
    Question("read no such table", None, Entity(table_entry={"table_id": 33554433})),
    Question("read all tables", None, Entity(table_entry={}), before=_kinds(1, 2), finds=4),
    Question("read by action", None, _entry("exact_kind", action=_action("send")), before=_kinds(1, 2), finds=2),
    Question("read by metadata", None, _entry("exact_kind", metadata=b"x"), before=_kinds(1, 2), finds=2),
    Question("read by priority", None, _entry("filter", priority=7), before=[(INSERT, _filter())], finds=1),
    Question("read part of a key", None, _entry("filter", _ternary(b"\x01", b"\x01"), priority=5), before=[(INSERT, _filter(_ternary(b"\x01", b"\x01"), _range(b"\x01", b"\x02")))]),
    Question("read a ternary key without its priority", None, _entry("filter", _ternary(b"\x01", b"\x01")), before=[(INSERT, _filter(_ternary(b"\x01", b"\x01")))]),
    Question("read a ternary key", None, _entry("filter", _ternary(b"\x01", b"\x01"), priority=5), before=[(INSERT, _filter(_ternary(b"\x01", b"\x01")))], finds=1),
    Question("read counters with the entries", None, _changed(_entry("exact_kind"), lambda e: e.table_entry.counter_data.SetInParent()), before=_kinds(1), finds=1),
    Question("read the time since the last hit", None, _changed(_entry("exact_kind"), lambda e: e.table_entry.time_since_last_hit.SetInParent()), before=_kinds(1), finds=1),
    Question("the time since the last hit where there is none", None, _changed(_entry("route"), lambda e: e.table_entry.time_since_last_hit.SetInParent())),
    Question("the time since the last hit of all tables", None, _changed(Entity(table_entry={}), lambda e: e.table_entry.time_since_last_hit.SetInParent())),
    Question("read a default", None, _A_DEFAULT, finds=1),
    Question("read a default of an indirect table", None, _entry("spread", is_default_action=True), finds=1),
    Question("read a default with the time", None, _changed(_A_DEFAULT, lambda e: e.table_entry.time_since_last_hit.SetInParent())),
    Question("read const entries", None, _entry("fixed"), finds=2),
]

ARRAYS = [
    Question("write a counter", MODIFY, _counter("both", 1, 5, 50)),
    Question("write to all of a counter", MODIFY, _counter("both", None, 5)),
    Question("insert a counter", INSERT, _counter("both", 1, 5)),
    Question("delete a counter", DELETE, _counter("both", 1)),
    Question("a counter's index that is too high", MODIFY, _counter("both", 4, 5)),
    Question("a counter's negative index", MODIFY, _counter("both", -1, 5)),
    Question("no such counter", MODIFY, Entity(counter_entry={"counter_id": 302055013})),
    Question("read a counter", None, _counter("both", 1), before=[(MODIFY, _counter("both", 1, 5, 50))], finds=1),
    Question("read a counter of packets", None, _counter("kinds", 1), before=[(MODIFY, _counter("kinds", 1, 5, 50))], finds=1),
    Question("read a counter that was deleted", None, _counter("both", 1), before=[(MODIFY, _counter("both", 1, 5, 50)), (DELETE, _counter("both", 1))], finds=1),
    Question("read all of a counter", None, _counter("both", None), finds=4),
    Question("read all counters", None, _counter("", None), finds=8),
    Question("read a counter's index that is too high", None, _counter("both", 4)),
    Question("read a counter's negative index", None, _counter("both", -1)),
    Question("write a meter", MODIFY, _meter(1, 10, 1, 20, 2)),
    Question("reset a meter", MODIFY, _meter(1)),
    Question("write to all of a meter", MODIFY, _meter(None, 10, 1, 20, 2)),
    Question("insert a meter", INSERT, _meter(1, 10, 1, 20, 2)),
    Question("delete a meter", DELETE, _meter(1)),
    Question("a meter's index that is too high", MODIFY, _meter(4, 10, 1, 20, 2)),
    Question("a meter's negative index", MODIFY, _meter(-1, 10, 1, 20, 2)),
    Question("a meter's peak rate below its committed one", MODIFY, _meter(1, 20, 1, 10, 1)),
    Question("a meter's negative rate", MODIFY, _meter(1, -2, 1, 10, 1)),
    Question("a meter's rates of -1", MODIFY, _meter(1, -1, -1, -1, -1)),
    Question("a meter's burst that is too large", MODIFY, _meter(1, 1, 1 << 32, 10, 1)),
    Question("no such meter", MODIFY, _meter(1, 1, 1, 1, 1, meter_id=335544321)),
    Question("read a meter", None, _meter(1), before=[(MODIFY, _meter(1, 10, 1, 20, 2))], finds=1),
    Question("read a meter that is not set", None, _meter(1), finds=1),
    Question("read all meters", None, _meter(None, meter_id=0), finds=4),
    Question("read a meter's index that is too high", None, _meter(4)),
    Question("a direct counter", MODIFY, _direct_counter(_entry("exact_kind", exact(b"\x01")), 5), before=_kinds(1)),
    Question("delete a direct counter", DELETE, _direct_counter(_entry("exact_kind", exact(b"\x01"))), before=_kinds(1)),
    Question("insert a direct counter", INSERT, _direct_counter(_entry("exact_kind", exact(b"\x01"))), before=_kinds(1)),
    Question("a direct counter of no entry", MODIFY, _direct_counter(_entry("exact_kind", exact(b"\x03")), 5)),
    Question("a direct counter without an entry", MODIFY, _direct_counter(None, 5)),
    Question("a direct counter of a table that has none", MODIFY, _direct_counter(_entry("route", _lpm(b"\x0a\x00\x00\x00", 8)), 5), before=[(INSERT, _route(_lpm(b"\x0a\x00\x00\x00", 8)))]),
    Question("a direct counter of no table", MODIFY, _direct_counter(Entity(table_entry={"table_id": 33554433}))),
    Question("read a direct counter", None, _direct_counter(_entry("exact_kind", exact(b"\x01"))), before=[*_kinds(1), (MODIFY, _direct_counter(_entry("exact_kind", exact(b"\x01")), 5))], finds=1),
    Question("read direct counters", None, _direct_counter(_entry("exact_kind")), before=_kinds(1, 2), finds=2),
    Question("read direct counters of all tables", None, _direct_counter(Entity(table_entry={}))),
    Question("read direct counters of a table that has none", None, _direct_counter(_entry("route"))),
    Question("read direct counters of nothing", None, _direct_counter(None)),
    Question("read a direct counter of no entry", None, _direct_counter(_entry("exact_kind", exact(b"\x03")))),
    Question("read a direct counter of the default", None, _direct_counter(_A_DEFAULT)),
    Question("reset a direct meter", MODIFY, _direct_meter(_entry("route", _lpm(b"\x0a\x00\x00\x00", 8))), before=[(INSERT, _route(_lpm(b"\x0a\x00\x00\x00", 8)))]),
    Question("a direct meter of no entry", MODIFY, _direct_meter(_entry("route", _lpm(b"\x0a\x00\x00\x00", 8)))),
    Question("delete a direct meter", DELETE, _direct_meter(_entry("route", _lpm(b"\x0a\x00\x00\x00", 8))), before=[(INSERT, _route(_lpm(b"\x0a\x00\x00\x00", 8)))]),
    Question("a direct meter of a table that has none", MODIFY, _direct_meter(_entry("exact_kind", exact(b"\x01"))), before=_kinds(1)),
    Question("read direct meters of all tables", None, _direct_meter(Entity(table_entry={}))),
    Question("read direct meters", None, _direct_meter(_entry("route")), before=[(INSERT, _route(_lpm(b"\x0a\x00\x00\x00", 8)))], finds=1),
    Question("write a register", MODIFY, Entity(register_entry={"register_id": _id("values")})),
    Question("read a register", None, Entity(register_entry={"register_id": _id("values")})),
    Question("write a value set", MODIFY, Entity(value_set_entry={"value_set_id": NAMES.id("FrameParser.specials")})),
    Question("read a value set", None, Entity(value_set_entry={})),
    Question("write an extern", INSERT, Entity(extern_entry={})),
    Question("read an extern", None, Entity(extern_entry={})),
    Question("write nothing", INSERT, Entity()),
    Question("read nothing", None, Entity()),
]

REPLICATION = [
    Question("a group with ports that are not there", INSERT, multicast_group(3, (100, 0), (200, 0))),
    Question("a group twice", INSERT, multicast_group(3, (1, 0)), before=[(INSERT, multicast_group(3))]),
    Question("group 0", INSERT, multicast_group(0, (1, 0))),
    Question("a group id that is too high", INSERT, multicast_group(1 << 15, (1, 0))),
    Question("modify a group that is not there", MODIFY, multicast_group(3, (1, 0))),
    Question("delete a group that is not there", DELETE, multicast_group(3)),
    Question("a group's same replica twice", INSERT, multicast_group(3, (1, 5), (1, 5))),
    Question("a replica without a port", INSERT, _replica(instance=1)),
    Question("a replica with an empty port", INSERT, _replica(port=b"")),
    Question("a replica with port 0", INSERT, _replica(port=b"\x00")),
    Question("a replica with a port of five bytes", INSERT, _replica(port=b"\x00\x00\x00\x00\x01")),
    Question("a replica with a number as its port", INSERT, _PORT_8),
    Question("a group without a type", UNSPECIFIED, multicast_group(3, (1, 0))),
    Question("read a group", None, multicast_group(3), before=[(INSERT, multicast_group(3, (2, 1), (1, 1), (1, 0)))], finds=1),
    Question("read groups", None, multicast_group(0), before=[(INSERT, multicast_group(3, (1, 0))), (INSERT, multicast_group(4))], finds=2),
    Question("read a group that is not there", None, multicast_group(9)),
    Question("read a group id that is too high", None, multicast_group(1 << 15)),
    Question("neither a group nor a session", INSERT, _made(lambda e: e.packet_replication_engine_entry.SetInParent())),
    Question("read neither a group nor a session", None, _made(lambda e: e.packet_replication_engine_entry.SetInParent())),
    Question("a session", INSERT, clone_session(3, (1, 0))),
    Question("a session twice", INSERT, clone_session(3, (1, 0)), before=[(INSERT, clone_session(3))]),
    Question("session 0", INSERT, clone_session(0, (1, 0))),
    Question("a session id that is too high", INSERT, clone_session(1 << 15, (1, 0))),
    Question("a session that truncates", INSERT, clone_session(3, (1, 0), length=100)),
    Question("a session with a class", INSERT, _changed(clone_session(3, (1, 0)), lambda e: setattr(e.packet_replication_engine_entry.clone_session_entry, "class_of_service", 1))),
    Question("modify a session that is not there", MODIFY, clone_session(3, (1, 0))),
    Question("delete a session that is not there", DELETE, clone_session(3)),
    Question("read a session", None, clone_session(3), before=[(INSERT, clone_session(3, (2, 1), (1, 0)))], finds=1),
    Question("read sessions", None, clone_session(0), before=[(INSERT, clone_session(3, (1, 0)))], finds=1),
    Question("read a session that is not there", None, clone_session(9)),
]

PROFILES = [
    Question("a member", INSERT, _member(1, _action("send", b"\x01"))),
    Question("a member twice", INSERT, _member(1, _action("discard")), before=_TWO_MEMBERS),
    Question("a member of no profile", INSERT, _member(1, _action("send", b"\x01"), profile=285212673)),
    Question("a member with an action of another table", INSERT, _member(1, _action("metered", b"\x01"))),
    Question("a member without an action", INSERT, _member(1)),
    Question("modify a member that is not there", MODIFY, _member(9, _action("discard"))),
    Question("delete a member that is not there", DELETE, _member(9)),
    Question("delete a member in use", DELETE, _member(1), before=_IN_GROUP),
    Question("one member too many", INSERT, _member(9, _action("discard")), before=[(INSERT, _member(number, _action("discard"))) for number in range(1, 9)]),
    Question("read members", None, _member(0), before=_TWO_MEMBERS, finds=2),
    Question("read a member that is not there", None, _member(9)),
    Question("a group of members", INSERT, _group(7, 1, 2), before=_TWO_MEMBERS),
    Question("a group of members twice", INSERT, _group(7, 1), before=_IN_GROUP),
    Question("a group with a member that is not there", INSERT, _group(7, 1, 9), before=_TWO_MEMBERS),
    Question("a group with a member twice", INSERT, _group(7, 1, 1), before=_TWO_MEMBERS),
    Question("a group with weights of 0", INSERT, _group(7, 1, weight=0), before=_TWO_MEMBERS),
    Question("a group that weighs too much", INSERT, _group(7, 1, weight=17), before=_TWO_MEMBERS),
    Question("a group whose max_size is too large", INSERT, _group(7, 1, max_size=17), before=_TWO_MEMBERS),
    Question("a group whose max_size is negative", INSERT, _group(7, 1, max_size=-1), before=_TWO_MEMBERS),
    Question("another max_size", MODIFY, _group(7, 1, max_size=5), before=_IN_GROUP),
    Question("modify a group of members that is not there", MODIFY, _group(9, 1), before=_TWO_MEMBERS),
    Question("delete a group of members that is not there", DELETE, _group(9)),
    Question("delete a group of members in use", DELETE, _group(7), before=[*_IN_GROUP, (INSERT, _spread(group=7))]),
    Question("read groups of members", None, _group(0), before=_IN_GROUP, finds=1),
    Question("read a group of members that is not there", None, _group(9)),
    Question("an entry with a member", INSERT, _spread(member=1), before=_TWO_MEMBERS),
    Question("an entry with a member that is not there", INSERT, _spread(member=9), before=_TWO_MEMBERS),
    Question("modify to a member that is not there", MODIFY, _spread(member=9), before=[*_TWO_MEMBERS, (INSERT, _spread(member=1))]),
    Question("an entry with a group that is not there", INSERT, _spread(group=9), before=_TWO_MEMBERS),
    Question("a direct action in an indirect table", INSERT, _entry("spread", exact(b"\x05"), action=_action("discard"))),
    Question("a member in a direct table", INSERT, _changed(_kind(), lambda e: setattr(e.table_entry.action, "action_profile_member_id", 1))),
    Question("a one-shot set", INSERT, _spread(weights=[1, 2])),
    Question("an empty one-shot set", INSERT, _spread(weights=[])),
    Question("a one-shot set with weights of 0", INSERT, _spread(weights=[0])),
    Question("a one-shot set that weighs too much", INSERT, _spread(weights=[9, 9])),
    Question("a one-shot set beside members", INSERT, _spread(weights=[1]), before=_TWO_MEMBERS),
    Question("members beside a one-shot set", INSERT, _member(1, _action("discard")), before=[(INSERT, _spread(weights=[1]))]),
    Question("read a one-shot set", None, _entry("spread"), before=[(INSERT, _spread(weights=[1, 2]))], finds=1),
    Question("a digest", INSERT, _digest(max_list_size=1)),
    Question("a digest twice", INSERT, _digest(), before=[(INSERT, _digest())]),
    Question("no such digest", INSERT, _digest(385875970)),
    Question("modify a digest that is not set", MODIFY, _digest()),
    Question("delete a digest that is not set", DELETE, _digest()),
    Question("read a digest", None, _digest(), before=[(INSERT, _digest(max_list_size=3))], finds=1),
    Question("read a digest that is not set", None, _digest()),
    Question("read digests", None, _digest(0)),
    Question("read no such digest", None, _digest(385875970)),
]

QUESTIONS = [*TABLES, *READS, *ARRAYS, *REPLICATION, *PROFILES]
