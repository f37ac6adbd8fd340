"""Entities of data/rehearsal.p4, and what a question is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cais_tools.p4rt import p4runtime_pb2
from tests.integration.switch.client import (
    DATA,
    INSERT,
    Names,
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
    answer: tuple[str, str]
    kind: p4runtime_pb2.Update.Type | None
    entity: Entity
    before: Sequence[tuple[p4runtime_pb2.Update.Type, Entity]] = ()
    finds: int = 0


def id_of(name: str) -> int:
    return NAMES.id(f"FrameIngress.{name}")


def call(name: str, *values: bytes) -> p4runtime_pb2.Action:
    return NAMES.action(name if name == "NoAction" else f"FrameIngress.{name}", *values)


def entry_of(table: str, *match: Match, action: p4runtime_pb2.Action | None = None, **fields: object) -> Entity:
    return NAMES.entry(f"FrameIngress.{table}", *match, action=action, **fields)


def kind_entry(value: bytes = b"\x05", *, port: bytes = b"\x01", **fields: object) -> Entity:
    """An entry of `exact_kind`."""
    return entry_of("exact_kind", exact(value), action=call("counted", port), **fields)


def lpm(value: bytes, prefix_len: int) -> Match:
    return Match(field_id=1, lpm=Match.LPM(value=value, prefix_len=prefix_len))


def ternary(value: bytes, mask: bytes, field_id: int = 1) -> Match:
    return Match(field_id=field_id, ternary=Match.Ternary(value=value, mask=mask))


def between(low: bytes, high: bytes) -> Match:
    return Match(field_id=2, range=Match.Range(low=low, high=high))


def route(*match: Match, **fields: object) -> Entity:
    return entry_of("route", *match, action=call("metered", b"\x01"), **fields)


def filtered(*match: Match, priority: int = 5) -> Entity:
    return entry_of("filter", *match, action=call("discard"), priority=priority)


def made(build: Callable[[Entity], None]) -> Entity:
    entity = Entity()
    build(entity)
    return entity


def changed(entity: Entity, change: Callable[[Entity], object]) -> Entity:
    copy = Entity()
    copy.CopyFrom(entity)
    change(copy)
    return copy


def counter(name: str, index: int | None, packets: int = 0, octets: int = 0) -> Entity:
    entity = Entity()
    entry = entity.counter_entry
    entry.counter_id = id_of(name) if name else 0
    if index is not None:
        entry.index.index = index
    if packets or octets:
        entry.data.packet_count, entry.data.byte_count = packets, octets
    return entity


def meter(index: int | None, *rates: int, meter_id: int | None = None) -> Entity:
    """`rates`: cir, cburst, pir, pburst."""
    entity = Entity()
    entry = entity.meter_entry
    entry.meter_id = id_of("rate") if meter_id is None else meter_id
    if index is not None:
        entry.index.index = index
    if rates:
        entry.config.cir, entry.config.cburst, entry.config.pir, entry.config.pburst = rates
    return entity


def direct_counter(entry: Entity | None, packets: int = 0) -> Entity:
    entity = Entity()
    entity.direct_counter_entry.SetInParent()
    if entry is not None:
        entity.direct_counter_entry.table_entry.CopyFrom(entry.table_entry)
    if packets:
        entity.direct_counter_entry.data.packet_count = packets
    return entity


def direct_meter(entry: Entity | None) -> Entity:
    entity = Entity()
    entity.direct_meter_entry.SetInParent()
    if entry is not None:
        entity.direct_meter_entry.table_entry.CopyFrom(entry.table_entry)
    return entity


def profile_member(ident: int, action: p4runtime_pb2.Action | None = None, profile: int | None = None) -> Entity:
    entity = Entity()
    entity.action_profile_member.action_profile_id = id_of("members") if profile is None else profile
    entity.action_profile_member.member_id = ident
    if action is not None:
        entity.action_profile_member.action.CopyFrom(action)
    return entity


def profile_group(ident: int, *members: int, weight: int = 1, max_size: int = 0) -> Entity:
    entity = Entity()
    group = entity.action_profile_group
    group.action_profile_id, group.group_id, group.max_size = id_of("members"), ident, max_size
    for member in members:
        group.members.add(member_id=member, weight=weight)
    return entity


def spread(member: int = 0, group: int = 0, weights: Sequence[int] | None = None) -> Entity:
    """An entry of `spread` that refers to a member or a group, or has a one-shot set."""
    entity = entry_of("spread", exact(b"\x05"))
    action = entity.table_entry.action
    if member:
        action.action_profile_member_id = member
    elif group:
        action.action_profile_group_id = group
    elif weights is not None:
        action.action_profile_action_set.SetInParent()
        for weight in weights:
            one_shot = action.action_profile_action_set.action_profile_actions
            one_shot.add(action=call("send", b"\x01"), weight=weight)
    return entity


def digest(ident: int | None = None, **config: int) -> Entity:
    entity = Entity()
    entity.digest_entry.digest_id = NAMES.id("news_t") if ident is None else ident
    entity.digest_entry.config.SetInParent()
    for name, value in config.items():
        setattr(entity.digest_entry.config, name, value)
    return entity


def kinds(*numbers: int) -> list[tuple[p4runtime_pb2.Update.Type, Entity]]:
    return [(INSERT, kind_entry(bytes([number]))) for number in numbers]


TWO_MEMBERS = [(INSERT, profile_member(number, call("send", b"\x01"))) for number in (1, 2)]
IN_GROUP = [*TWO_MEMBERS, (INSERT, profile_group(7, 1, 2))]
A_DEFAULT = entry_of("exact_kind", is_default_action=True)
PORT_8 = changed(
    multicast_group(3), lambda e: e.packet_replication_engine_entry.multicast_group_entry.replicas.add(egress_port=8)
)


def replica(**fields: object) -> Entity:
    return changed(
        multicast_group(3),
        lambda e: e.packet_replication_engine_entry.multicast_group_entry.replicas.add(**fields),
    )
