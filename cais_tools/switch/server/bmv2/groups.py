"""Updates of members, groups, multicast groups and clone sessions, as PI checks them. Raises P4Error."""

from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.values import decode, encode
from cais_tools.switch.server.bmv2.keys import check_params
from cais_tools.switch.server.bmv2.refusal import (
    ALREADY_EXISTS,
    NOT_FOUND,
    OUT_OF_RANGE,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    UNKNOWN,
    invalid,
    invalid_id,
    refusal,
)
from cais_tools.switch.server.bmv2.target import Target
from cais_tools.switch.server.entities.base import DELETE, INSERT, MODIFY
from cais_tools.switch.server.schema import ProfileSchema

__all__ = [
    "FIRST_RESERVED_ID",
    "check_group",
    "check_member",
    "check_profile_action",
    "check_replication",
    "check_type",
    "check_weights",
]

FIRST_RESERVED_ID = 1 << 15
_PORT_BYTES = 4


def check_type(update: p4runtime_pb2.Update) -> None:
    if update.type not in (INSERT, MODIFY, DELETE):
        raise invalid("Update type is not set" if update.type == 0 else "Invalid update type")


# --- action profiles ---


def _find_profile(target: Target, profile_id: int) -> ProfileSchema:
    schema = target.schema.profiles.get(profile_id)
    if schema is None:
        raise invalid_id()
    target.check_mode(schema, one_shot=False)
    return schema


def check_profile_action(target: Target, schema: ProfileSchema, message: p4runtime_pb2.Action) -> None:
    action = target.schema.actions.get(message.action_id)
    if action is None:
        raise invalid_id()
    if all(action.id not in target.schema.tables[table_id].actions for table_id in schema.tables):
        raise invalid("Invalid action for action profile")
    check_params(action, message)


def check_weights(weights: list[int], most: int) -> None:
    if any(weight <= 0 for weight in weights):
        raise invalid("Member weight must be a positive integer value")
    if most and sum(weights) > most:
        raise refusal(RESOURCE_EXHAUSTED, "Sum of member weights exceeds maximum group size")


def check_member(target: Target, update: p4runtime_pb2.Update) -> None:
    member = update.entity.action_profile_member
    schema = _find_profile(target, member.action_profile_id)
    check_type(update)
    if update.type != DELETE:
        check_profile_action(target, schema, member.action)


def check_group(target: Target, update: p4runtime_pb2.Update) -> None:
    group = update.entity.action_profile_group
    schema = _find_profile(target, group.action_profile_id)
    check_type(update)
    profile = target.action_profile(schema)
    exists = group.group_id in {ident for ident, _ in profile.groups()}
    if update.type == INSERT:
        _check_max_size(group.max_size, schema.max_group_size)
        if exists:
            raise refusal(ALREADY_EXISTS, f"Duplicate group id: {group.group_id}")
    elif not exists:
        raise refusal(NOT_FOUND, f"Group id does not exist: {group.group_id}")
    if update.type == DELETE:
        return
    # The rest of max_size is the handler's: that it does not change.
    check_weights([member.weight for member in group.members], group.max_size or schema.max_group_size)
    members = {ident for ident, _ in profile.members()}
    seen: set[int] = set()
    for member in group.members:
        if member.member_id not in members:
            raise refusal(NOT_FOUND, f"Member id does not exist: {member.member_id}")
        if member.member_id in seen:
            raise invalid(f"Duplicate member id {member.member_id} for group {group.group_id}, use weights instead")
        seen.add(member.member_id)


def _check_max_size(max_size: int, most: int) -> None:
    if max_size < 0:
        raise invalid("Group max_size cannot be less than 0")
    if most and max_size > most:
        raise invalid("Group max_size cannot exceed static max_group_size (from P4Info)")


# --- replication ---


def check_replication(target: Target, update: p4runtime_pb2.Update) -> None:
    del target
    entry = update.entity.packet_replication_engine_entry
    match entry.WhichOneof("type"):
        case "multicast_group_entry":
            group = entry.multicast_group_entry
            if group.multicast_group_id == 0:
                raise invalid("0 is not a valid group id")
            if group.multicast_group_id >= FIRST_RESERVED_ID:
                raise refusal(OUT_OF_RANGE, "Group id value is too high")
            check_type(update)
            group.ClearField("metadata")  # PI does not keep it
            if update.type != DELETE:
                _check_replicas(group)
        case "clone_session_entry":
            session = entry.clone_session_entry
            if session.session_id == 0:
                raise invalid("0 is not a valid session id")
            check_type(update)
            if session.session_id >= FIRST_RESERVED_ID:
                raise invalid("Clone session id out-of-range")
            if update.type != DELETE:
                _check_replicas(session)
                _check_session(session)
        case _:
            raise invalid("Invalid PRE operation")


def _check_session(session: p4runtime_pb2.CloneSessionEntry) -> None:
    if session.class_of_service:
        raise refusal(UNIMPLEMENTED, "COS for clone sessions not supported yet")
    if session.packet_length_bytes:
        raise refusal(UNKNOWN, "Error when creating clone session in target")


def _check_replicas(entry: p4runtime_pb2.MulticastGroupEntry | p4runtime_pb2.CloneSessionEntry) -> None:
    seen: set[tuple[int, str, int]] = set()
    for replica in entry.replicas:
        kind = replica.WhichOneof("port_kind")
        if kind == "egress_port":
            port = replica.egress_port
        elif kind == "port":
            port = _port(replica.port)
            replica.port = encode(port, 0)
        else:
            raise invalid("Missing port in multicast group replica")
        replica.instance &= 0xFFFF
        if "backup_replicas" in replica.DESCRIPTOR.fields_by_name:  # PI is older than they are
            replica.ClearField("backup_replicas")
        if (replica.instance, kind, port) in seen:
            raise invalid("Duplicate replica in multicast group")
        seen.add((replica.instance, kind, port))


def _port(data: bytes) -> int:
    if not data:
        raise invalid("Port must not be the empty string")
    if len(data) > _PORT_BYTES:
        # The text is PI's own, formatted with the wrong library.
        raise refusal(UNIMPLEMENTED, "Got port of %d bytes, but only 4 bytes are supported")
    port = decode(data)
    if not 0 < port < 1 << 31:
        raise invalid("Port must be non-negative.")
    return port
