"""What PI says where its target, or its own bookkeeping, refuses what its checks let through."""

from __future__ import annotations

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.server.bmv2.refusal import (
    ALREADY_EXISTS,
    INVALID_ARGUMENT,
    NOT_FOUND,
    PERMISSION_DENIED,
    UNKNOWN,
    invalid,
    refusal,
)
from cais_tools.switch.server.entities.base import DELETE, INSERT, MODIFY
from cais_tools.switch.server.status import P4Error

__all__ = ["read_failure", "write_failure"]

_Answer = tuple[int, str]
_Answers = dict[int, _Answer]
_ANY = -1
"""The answer for codes that have none of their own."""

_NO_ENTRY = (NOT_FOUND, "Cannot find match entry")
_NO_HANDLE = (INVALID_ARGUMENT, "Cannot map table entry to handle")
# PI does not know of entries that the program brings.
_NO_ENTRY_OR_CONST: _Answers = {NOT_FOUND: _NO_ENTRY, PERMISSION_DENIED: _NO_ENTRY}

_WRITES: dict[str, dict[int, _Answers]] = {
    "table_entry": {
        INSERT: {
            ALREADY_EXISTS: (ALREADY_EXISTS, "Match entry exists, use MODIFY if you wish to change action"),
            _ANY: (UNKNOWN, "Error when adding match entry to target"),
        },
        MODIFY: {**_NO_ENTRY_OR_CONST, _ANY: (UNKNOWN, "Error when modifying match entry in target")},
        DELETE: {**_NO_ENTRY_OR_CONST, _ANY: (UNKNOWN, "Error when deleting match entry in target")},
    },
    "direct_counter_entry": {
        MODIFY: {
            NOT_FOUND: _NO_HANDLE,
            INVALID_ARGUMENT: (INVALID_ARGUMENT, "Table has no direct counters"),
            _ANY: (UNKNOWN, "Error when writing to direct counter"),
        }
    },
    "counter_entry": {MODIFY: {_ANY: (UNKNOWN, "Error when writing to counter")}},
    "meter_entry": {MODIFY: {_ANY: (UNKNOWN, "Error when writing meter spec")}},
    "action_profile_member": {
        INSERT: {
            ALREADY_EXISTS: (ALREADY_EXISTS, "Duplicate member id: {member}"),
            _ANY: (UNKNOWN, "Error when creating member on target"),
        },
        MODIFY: {
            NOT_FOUND: (NOT_FOUND, "Member id does not exist: {member}"),
            _ANY: (UNKNOWN, "Error when modifying member on target"),
        },
        DELETE: {
            NOT_FOUND: (NOT_FOUND, "Member id does not exist: {member}"),
            _ANY: (UNKNOWN, "Error when deleting member on target"),
        },
    },
    "action_profile_group": {
        INSERT: {_ANY: (UNKNOWN, "Error when creating group on target")},
        MODIFY: {_ANY: (INVALID_ARGUMENT, "Cannot change group max_size after group creation")},
        DELETE: {_ANY: (UNKNOWN, "Error when deleting group on target")},
    },
    "digest_entry": {
        INSERT: {ALREADY_EXISTS: (ALREADY_EXISTS, "Digest {digest} already configured")},
        MODIFY: {NOT_FOUND: (NOT_FOUND, "Digest {digest} not configured")},
        DELETE: {NOT_FOUND: (NOT_FOUND, "Digest {digest} not configured")},
    },
}

_GROUPS: _Answers = {
    ALREADY_EXISTS: (ALREADY_EXISTS, "Multicast group already exists"),
    NOT_FOUND: (NOT_FOUND, "Multicast group does not exist"),
    _ANY: (UNKNOWN, "Error when modifying multicast group in target"),
}
_SESSIONS: _Answers = {
    ALREADY_EXISTS: (ALREADY_EXISTS, "Clone session id already exists"),
    NOT_FOUND: (NOT_FOUND, "Clone session id does not exist"),
    _ANY: (UNKNOWN, "Error when creating clone session in target"),
}


def write_failure(update: p4runtime_pb2.Update, error: P4Error) -> P4Error:
    """PI's words for an update that the entities refused."""
    entity = update.entity
    kind = entity.WhichOneof("entity") or ""
    if kind == "packet_replication_engine_entry":
        group = entity.packet_replication_engine_entry.WhichOneof("type") == "multicast_group_entry"
        return _answer(_GROUPS if group else _SESSIONS, entity, error)
    if kind == "direct_meter_entry":
        return _direct_meter(entity.direct_meter_entry, error)
    return _answer(_WRITES.get(kind, {}).get(update.type, {}), entity, error)


def _direct_meter(entry: p4runtime_pb2.DirectMeterEntry, error: P4Error) -> P4Error:
    if error.code == NOT_FOUND:
        return invalid(_NO_HANDLE[1])
    if error.code == INVALID_ARGUMENT and not entry.HasField("config"):
        return invalid("Table has no direct meters")
    return refusal(UNKNOWN, "Error when writing direct meter spec")


def _answer(answers: _Answers, entity: p4runtime_pb2.Entity, error: P4Error) -> P4Error:
    answer = answers.get(error.code) or answers.get(_ANY)
    if answer is None:
        return error
    code, text = answer
    names = {"member": entity.action_profile_member.member_id, "digest": entity.digest_entry.digest_id}
    return refusal(code, text.format(**names))


def read_failure(wanted: p4runtime_pb2.Entity, error: P4Error) -> P4Error | None:
    """PI's words for a read that the entities refused; members and groups that are not there are nothing."""
    match wanted.WhichOneof("entity"):
        case "action_profile_member" | "action_profile_group" if error.code == NOT_FOUND:
            return None
        case "direct_counter_entry" | "direct_meter_entry" if error.code == NOT_FOUND:
            return invalid(_NO_HANDLE[1])
        case "counter_entry":
            return refusal(UNKNOWN, "Error when reading counter from target")
        case "meter_entry":
            return refusal(UNKNOWN, "Error when reading meter spec from target")
        case "packet_replication_engine_entry":
            entry = wanted.packet_replication_engine_entry
            group = entry.WhichOneof("type") == "multicast_group_entry"
            return _answer(_GROUPS if group else _SESSIONS, wanted, error)
        case "digest_entry" if error.code == NOT_FOUND:
            return refusal(NOT_FOUND, f"Digest {wanted.digest_entry.digest_id} not configured")
        case _:
            return error
