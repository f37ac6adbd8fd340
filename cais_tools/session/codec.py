"""Entities with names to messages with ids, and back. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4info_pb2, p4runtime_pb2, values
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session import arrays, profiles
from cais_tools.session.action import decode_action, encode_action
from cais_tools.session.entities import (
    ActionProfileGroup,
    ActionProfileMember,
    CloneSession,
    CounterCell,
    CounterData,
    DigestConfig,
    Entity,
    MeterCell,
    MulticastGroup,
    RegisterCell,
    Replica,
    TableEntry,
    Update,
    UpdateType,
    ValueSet,
)
from cais_tools.session.match import decode_match, encode_match
from cais_tools.session.shapes import encode_plain_entry, keys_of
from cais_tools.session.values import MatchValue

__all__ = [
    "decode_clone_session",
    "decode_digest",
    "decode_multicast_group",
    "decode_table_entry",
    "encode",
    "encode_update",
]

_UPDATE_TYPES: dict[UpdateType, p4runtime_pb2.Update.Type] = {
    UpdateType.INSERT: p4runtime_pb2.Update.INSERT,
    UpdateType.MODIFY: p4runtime_pb2.Update.MODIFY,
    UpdateType.DELETE: p4runtime_pb2.Update.DELETE,
}
_PRIORITY_KINDS = (
    p4info_pb2.MatchField.TERNARY,
    p4info_pb2.MatchField.RANGE,
    p4info_pb2.MatchField.OPTIONAL,
)


def encode_update(index: P4InfoIndex, update: Update) -> p4runtime_pb2.Update:
    return p4runtime_pb2.Update(type=_UPDATE_TYPES[update.type], entity=encode(index, update.entity))


def encode(index: P4InfoIndex, entity: Entity) -> p4runtime_pb2.Entity:
    """The message for an entity. Raises UsageError (UnknownName, a value that does not fit, a wrong priority)."""
    match entity:
        case TableEntry():
            return p4runtime_pb2.Entity(table_entry=_table_entry(index, entity))
        case CounterCell():
            return p4runtime_pb2.Entity(counter_entry=arrays.encode_counter_cell(index, entity))
        case MeterCell():
            return p4runtime_pb2.Entity(meter_entry=arrays.encode_meter_cell(index, entity))
        case RegisterCell():
            return p4runtime_pb2.Entity(register_entry=arrays.encode_register_cell(index, entity))
        case ValueSet():
            return p4runtime_pb2.Entity(value_set_entry=arrays.encode_value_set(index, entity))
        case ActionProfileMember():
            return p4runtime_pb2.Entity(action_profile_member=profiles.encode_member(index, entity))
        case ActionProfileGroup():
            return p4runtime_pb2.Entity(action_profile_group=profiles.encode_group(index, entity))
        case MulticastGroup():
            group = p4runtime_pb2.MulticastGroupEntry(multicast_group_id=entity.group_id)
            group.replicas.extend(_replica(each) for each in sorted(entity.replicas))
            engine = p4runtime_pb2.PacketReplicationEngineEntry(multicast_group_entry=group)
            return p4runtime_pb2.Entity(packet_replication_engine_entry=engine)
        case CloneSession():
            session = p4runtime_pb2.CloneSessionEntry(
                session_id=entity.session_id, packet_length_bytes=entity.packet_length_bytes
            )
            session.replicas.extend(_replica(each) for each in sorted(entity.replicas))
            engine = p4runtime_pb2.PacketReplicationEngineEntry(clone_session_entry=session)
            return p4runtime_pb2.Entity(packet_replication_engine_entry=engine)
        case DigestConfig():
            return p4runtime_pb2.Entity(digest_entry=_digest(index, entity))


def _replica(replica: Replica) -> p4runtime_pb2.Replica:
    # The older field, `egress_port`: every server reads it, bmv2's too.
    return p4runtime_pb2.Replica(egress_port=replica.port, instance=replica.instance)


def _digest(index: P4InfoIndex, digest: DigestConfig) -> p4runtime_pb2.DigestEntry:
    config = p4runtime_pb2.DigestEntry.Config(
        max_timeout_ns=digest.max_timeout_ns,
        max_list_size=digest.max_list_size,
        ack_timeout_ns=digest.ack_timeout_ns,
    )
    return p4runtime_pb2.DigestEntry(digest_id=index.digest(digest.digest).preamble.id, config=config)


def decode_digest(index: P4InfoIndex, message: p4runtime_pb2.DigestEntry) -> DigestConfig:
    config = message.config
    name = index.digest(message.digest_id).preamble.name
    return DigestConfig(name, config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)


def _table_entry(index: P4InfoIndex, entry: TableEntry) -> p4runtime_pb2.TableEntry:
    plain = encode_plain_entry(index, entry)
    if plain is not None:
        return plain
    table = index.table(entry.table)
    message = p4runtime_pb2.TableEntry(
        table_id=table.preamble.id, priority=entry.priority, is_default_action=entry.is_default
    )
    _check_priority(table, entry)
    if entry.is_default and entry.match:
        raise UsageError(f"the default entry of {table.preamble.name} takes no match")
    if not entry.is_default:
        message.match.extend(_match_fields(index, table, entry))
    if entry.action is not None:
        action = index.action_of(table, entry.action)
        message.action.action.CopyFrom(encode_action(index, action, entry.params))
    elif entry.member_id is not None:
        message.action.action_profile_member_id = entry.member_id
    elif entry.group_id is not None:
        message.action.action_profile_group_id = entry.group_id
    elif entry.one_shot is not None:
        message.action.action_profile_action_set.CopyFrom(profiles.encode_one_shot(index, table, entry.one_shot))
    return message


def _check_priority(table: p4info_pb2.Table, entry: TableEntry) -> None:
    name = table.preamble.name
    needed = any(each.match_type in _PRIORITY_KINDS for each in table.match_fields) and not entry.is_default
    if needed and entry.priority <= 0:
        raise UsageError(
            f"an entry of {name} needs a priority of 1 or more",
            hint="the table has ternary, range or optional keys; the bigger priority wins",
        )
    if not needed and entry.priority:
        raise UsageError(
            f"an entry of {name} takes no priority, {entry.priority} was given",
            hint="exact keys and longest prefixes leave no choice",
        )


def _match_fields(index: P4InfoIndex, table: p4info_pb2.Table, entry: TableEntry) -> list[p4runtime_pb2.FieldMatch]:
    given = {index.match_field(table, name).id: value for name, value in entry.match.items()}
    fields: list[p4runtime_pb2.FieldMatch] = []
    for key in table.match_fields:
        message = encode_match(key, given.get(key.id), is_string=index.is_string(key.type_name.name))
        if message is not None:
            fields.append(message)
    return fields


def decode_table_entry(index: P4InfoIndex, message: p4runtime_pb2.TableEntry) -> TableEntry:
    table, keys = keys_of(index, message.table_id)
    match: dict[str, MatchValue] = {}
    for each in message.match:
        name, is_string = keys[each.field_id]
        match[name] = decode_match(each, is_string=is_string)
    kind = message.action.WhichOneof("type")
    action, params = decode_action(index, message.action.action) if kind == "action" else (None, {})
    one_shot = None
    if kind == "action_profile_action_set":
        one_shot = profiles.decode_one_shot(index, message.action.action_profile_action_set)
    counter = None
    if message.HasField("counter_data"):
        counter = CounterData(message.counter_data.packet_count, message.counter_data.byte_count)
    return TableEntry(
        table=table,
        match=match,
        action=action,
        params=params,
        priority=message.priority,
        is_default=message.is_default_action,
        counter=counter,
        member_id=message.action.action_profile_member_id if kind == "action_profile_member_id" else None,
        group_id=message.action.action_profile_group_id if kind == "action_profile_group_id" else None,
        one_shot=one_shot,
    )


def decode_multicast_group(message: p4runtime_pb2.MulticastGroupEntry) -> MulticastGroup:
    return MulticastGroup(message.multicast_group_id, _replicas(message.replicas))


def decode_clone_session(message: p4runtime_pb2.CloneSessionEntry) -> CloneSession:
    return CloneSession(message.session_id, _replicas(message.replicas), message.packet_length_bytes)


def _replicas(messages: Iterable[p4runtime_pb2.Replica]) -> frozenset[Replica]:
    return frozenset(Replica(_port(each), each.instance) for each in messages)


def _port(replica: p4runtime_pb2.Replica) -> int:
    if replica.WhichOneof("port_kind") == "port":
        return values.decode(replica.port)
    return replica.egress_port
