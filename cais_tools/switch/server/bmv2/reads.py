"""Reads as PI checks them, and what it answers with. Each check has a request that it may change; it raises P4Error."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.p4rt.values import decode
from cais_tools.switch.server.bmv2.keys import check_key, find_table
from cais_tools.switch.server.bmv2.refusal import (
    NOT_FOUND,
    OUT_OF_RANGE,
    UNIMPLEMENTED,
    UNKNOWN,
    invalid,
    invalid_id,
    refusal,
)
from cais_tools.switch.server.bmv2.target import Target
from cais_tools.switch.server.schema import TableSchema
from cais_tools.switch.server.status import P4Error

__all__ = ["as_bmv2_has_it", "check_request"]

_FIRST_RESERVED_ID = 1 << 15


def check_request(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    check = _CHECKS.get(wanted.WhichOneof("entity") or "")
    if check is None:
        raise refusal(UNKNOWN, "Incorrect entity type")
    check(target, wanted)


def _tables(target: Target, table_id: int) -> Iterable[TableSchema]:
    return target.schema.tables.values() if table_id == 0 else [target.schema.tables[table_id]]


def _table_entry(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    entry = wanted.table_entry
    if entry.table_id:
        find_table(target.schema, entry)
    for table in _tables(target, entry.table_id):
        if entry.is_default_action:
            if entry.HasField("time_since_last_hit"):
                raise invalid(
                    "Default table entries do not support entry ageing, do not set "
                    "'time_since_last_hit' in your ReadRequest"
                )
            continue
        if entry.HasField("time_since_last_hit") and not table.idle_timeout:
            raise invalid(
                "Do not set time_since_last_hit for a ReadRequest if the table "
                "does not support idle timeout; yes, that includes wildcard reads"
            )
        if entry.match:
            check_key(table, entry)
        elif target.has_entries_of_its_own(table):
            raise P4Error(code_pb2.INTERNAL, "Table state out-of-sync with target")
    # There are no filters but the key.
    for field in ("action", "controller_metadata", "metadata"):
        entry.ClearField(field)
    if not entry.match:
        entry.priority = 0


def _direct_counter_entry(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    entry = wanted.direct_counter_entry
    if not entry.HasField("table_entry"):
        raise invalid("Missing table_entry field in DirectCounterEntry")
    table = _direct(target, entry.table_entry, "counters")
    if not table.direct_counter:
        raise invalid("Table has no direct counters")
    if entry.table_entry.match or entry.table_entry.is_default_action:
        check_key(table, entry.table_entry)
    if entry.table_entry.is_default_action:
        raise refusal(UNKNOWN, "Error when reading counter from target")


def _direct_meter_entry(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    entry = wanted.direct_meter_entry
    if not entry.HasField("table_entry"):
        raise invalid("Missing table_entry field in DirectMeterEntry")
    table = _direct(target, entry.table_entry, "meters")
    if not table.direct_meter:
        raise invalid("Table has no direct meters")
    if entry.table_entry.match or entry.table_entry.is_default_action:
        check_key(table, entry.table_entry)
    if entry.table_entry.is_default_action:
        raise refusal(UNKNOWN, "Error when reading meter from target")


def _direct(target: Target, entry: p4runtime_pb2.TableEntry, what: str) -> TableSchema:
    if entry.table_id == 0:
        raise refusal(UNIMPLEMENTED, f"Reading all direct {what} for ALL tables is not supported yet")
    return find_table(target.schema, entry)


def _counter_entry(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    entry = wanted.counter_entry
    _check_array(entry, entry.counter_id, target.schema.counters)


def _meter_entry(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    entry = wanted.meter_entry
    _check_array(entry, entry.meter_id, target.schema.meters)


def _check_array(
    entry: p4runtime_pb2.CounterEntry | p4runtime_pb2.MeterEntry, ident: int, known: Iterable[int]
) -> None:
    if ident and ident not in known:
        raise invalid_id()
    if entry.HasField("index") and entry.index.index < 0:
        raise invalid("A negative number is not a valid index value")


def _member(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    _check_profile(target, wanted.action_profile_member.action_profile_id)


def _group(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    _check_profile(target, wanted.action_profile_group.action_profile_id)


def _check_profile(target: Target, profile_id: int) -> None:
    if profile_id and profile_id not in target.schema.profiles:
        raise invalid_id()


def _replication(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    del target
    entry = wanted.packet_replication_engine_entry
    match entry.WhichOneof("type"):
        case "multicast_group_entry":
            if entry.multicast_group_entry.multicast_group_id >= _FIRST_RESERVED_ID:
                raise refusal(OUT_OF_RANGE, "Group id value is too high")
        case "clone_session_entry":
            pass
        case _:
            raise invalid("Invalid PRE operation")


def _digest(target: Target, wanted: p4runtime_pb2.Entity) -> None:
    digest_id = wanted.digest_entry.digest_id
    if digest_id == 0:
        raise refusal(UNIMPLEMENTED, "digest_id must be set when reading DigestEntry")
    if digest_id not in target.schema.digests:
        raise refusal(NOT_FOUND, f"{digest_id} is not a valid digest id")


def _unsupported(text: str) -> Callable[[Target, p4runtime_pb2.Entity], None]:
    def refuse(target: Target, wanted: p4runtime_pb2.Entity) -> None:
        del target, wanted
        raise refusal(UNIMPLEMENTED, text)

    return refuse


_CHECKS: dict[str, Callable[[Target, p4runtime_pb2.Entity], None]] = {
    "table_entry": _table_entry,
    "direct_counter_entry": _direct_counter_entry,
    "direct_meter_entry": _direct_meter_entry,
    "counter_entry": _counter_entry,
    "meter_entry": _meter_entry,
    "action_profile_member": _member,
    "action_profile_group": _group,
    "packet_replication_engine_entry": _replication,
    "digest_entry": _digest,
    "register_entry": _unsupported("Register reads are not supported yet"),
    "value_set_entry": _unsupported("ValueSet reads are not supported yet"),
}


def as_bmv2_has_it(target: Target, entity: p4runtime_pb2.Entity) -> None:
    """Take out of an entity what PI would not say, and put its replicas into PI's order."""
    match entity.WhichOneof("entity"):
        case "table_entry":
            _shorten_entry(target, entity.table_entry)
        case "counter_entry":
            target.only_counted(entity.counter_entry.counter_id, entity.counter_entry.data)
        case "direct_counter_entry":
            direct = entity.direct_counter_entry
            table = target.schema.tables[direct.table_entry.table_id]
            target.only_counted(table.direct_counter, direct.data)
        case "meter_entry" if entity.meter_entry.HasField("counter_data"):
            # It comes back as it was asked for, with nothing counted.
            entity.meter_entry.ClearField("counter_data")
            entity.meter_entry.counter_data.SetInParent()
        case "packet_replication_engine_entry":
            _reorder(entity.packet_replication_engine_entry)
        case _:
            pass


def _shorten_entry(target: Target, entry: p4runtime_pb2.TableEntry) -> None:
    table = target.schema.tables[entry.table_id]
    entry.is_const = False
    entry.ClearField("meter_counter_data")
    if entry.is_default_action:
        entry.ClearField("counter_data")
        entry.ClearField("meter_config")
    elif entry.HasField("counter_data"):
        target.only_counted(table.direct_counter, entry.counter_data)
    if entry.HasField("time_since_last_hit") and not entry.idle_timeout_ns:
        entry.time_since_last_hit.elapsed_ns = 0


def _reorder(entry: p4runtime_pb2.PacketReplicationEngineEntry) -> None:
    """The instances last mentioned come first (PI keeps them in a hash table), each with its ports in order."""
    is_group = entry.WhichOneof("type") == "multicast_group_entry"
    replicas = entry.multicast_group_entry.replicas if is_group else entry.clone_session_entry.replicas
    first: dict[int, int] = {}
    for place, replica in enumerate(replicas):
        first.setdefault(replica.instance, place)
    replicas.sort(
        key=lambda each: (-first[each.instance], each.HasField("port"), decode(each.port) or each.egress_port)
    )
