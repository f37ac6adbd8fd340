"""Updates as PI checks them before its target hears of them, in its order.

Each function has an update that it may change: where bmv2 takes what the specification refuses, the update becomes one
that means the same. Raises P4Error.
"""

from __future__ import annotations

from collections.abc import Callable

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.refusals import NotFound
from cais_tools.switch.server.bmv2.groups import (
    check_group,
    check_member,
    check_profile_action,
    check_replication,
    check_type,
    check_weights,
)
from cais_tools.switch.server.bmv2.keys import check_action, check_key, check_params, find_table
from cais_tools.switch.server.bmv2.refusal import (
    NOT_FOUND,
    UNIMPLEMENTED,
    UNKNOWN,
    invalid,
    invalid_id,
    refusal,
)
from cais_tools.switch.server.bmv2.target import Target
from cais_tools.switch.server.entities.base import DELETE, INSERT, MODIFY
from cais_tools.switch.server.schema import TableSchema

__all__ = ["check_update"]

_MAX_BURST = (1 << 32) - 1


def check_update(target: Target, update: p4runtime_pb2.Update) -> None:
    check = _CHECKS.get(update.entity.WhichOneof("entity") or "")
    if check is None:
        raise refusal(UNKNOWN, "Incorrect entity type")
    check(target, update)


# --- tables ---


def _table_entry(target: Target, update: p4runtime_pb2.Update) -> None:
    entry = update.entity.table_entry
    table = find_table(target.schema, entry)
    if entry.HasField("time_since_last_hit"):
        raise invalid("has_time_since_last_hit must not be set in WriteRequest")
    check_type(update)
    if update.type == DELETE:
        if entry.is_default_action:
            raise invalid("Cannot use DELETE for default entry")
        check_key(table, entry)
    elif update.type == INSERT:
        if entry.is_default_action:
            raise invalid("Cannot use INSERT for default entry")
        if not entry.HasField("action"):
            raise invalid("'action' field must be set")
        _check_entry(target, table, entry)
    else:
        _check_entry(target, table, entry)
    entry.ClearField("meter_counter_data")
    if update.type == MODIFY:
        _keep_direct(target, table, entry)


def _keep_direct(target: Target, table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    """What a MODIFY does not mention stays, also the meter; the default entry's are taken no notice of."""
    if entry.is_default_action:
        entry.ClearField("counter_data")
        entry.ClearField("meter_config")
    elif not entry.HasField("meter_config"):
        config = target.meter_config(table, entry)
        if config is not None:
            entry.meter_config.CopyFrom(config)


def _check_entry(target: Target, table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    check_key(table, entry)
    check_action(target.schema, table, entry)
    match entry.action.WhichOneof("type"):
        case "action":
            check_params(table.actions[entry.action.action.action_id], entry.action.action)
        case "action_profile_action_set":
            _check_one_shot(target, table, entry.action.action_profile_action_set)
        case "action_profile_member_id" | "action_profile_group_id":
            _check_reference(target, table, entry.action)
        case _ if entry.HasField("action"):
            raise invalid("Invalid table action type")
        case _ if not entry.is_default_action:
            raise invalid("'action' field must be set for non-default entries")
        case _:
            pass
    _check_direct(target, table, entry)
    if entry.idle_timeout_ns < 0:
        raise invalid("idle_timeout_ns must be a positive value")
    if entry.idle_timeout_ns and not table.idle_timeout:
        raise invalid("idle_timeout_ns must be set to 0 for tables which do not support idle timeout")


def _check_reference(target: Target, table: TableSchema, action: p4runtime_pb2.TableAction) -> None:
    schema = target.schema.profiles[table.profile]
    target.check_mode(schema, one_shot=False)
    profile = target.action_profile(schema)
    try:
        if action.WhichOneof("type") == "action_profile_member_id":
            profile.member(action.action_profile_member_id)
        else:
            profile.group(action.action_profile_group_id)
    except NotFound as error:
        raise invalid("Invalid member / group id") from error


def _check_one_shot(target: Target, table: TableSchema, actions: p4runtime_pb2.ActionProfileActionSet) -> None:
    schema = target.schema.profiles[table.profile]
    target.check_mode(schema, one_shot=True)
    if not actions.action_profile_actions:
        raise refusal(UNIMPLEMENTED, "No support for empty action profile groups")
    for each in actions.action_profile_actions:
        check_profile_action(target, schema, each.action)
    weights = [each.weight for each in actions.action_profile_actions]
    check_weights(weights, schema.max_group_size)


def _check_direct(target: Target, table: TableSchema, entry: p4runtime_pb2.TableEntry) -> None:
    if entry.HasField("meter_config"):
        if not table.direct_meter:
            raise invalid("Table has no direct meters")
        _check_meter(entry, "meter_config")
    if entry.HasField("counter_data"):
        if not table.direct_counter:
            raise invalid("Table has no direct counters")
        target.only_counted(table.direct_counter, entry.counter_data)


def _direct_counter_entry(target: Target, update: p4runtime_pb2.Update) -> None:
    entry = update.entity.direct_counter_entry
    if not entry.HasField("table_entry"):
        raise invalid("Missing table_entry field in DirectCounterEntry")
    table = find_table(target.schema, entry.table_entry)
    check_key(table, entry.table_entry)
    check_type(update)
    if entry.table_entry.is_default_action:
        raise refusal(UNKNOWN, "Error when writing to direct counter")
    if update.type == INSERT:
        raise invalid("INSERT update type not supported for counters")
    _set_or_clear(target, update, entry, table.direct_counter)


def _direct_meter_entry(target: Target, update: p4runtime_pb2.Update) -> None:
    entry = update.entity.direct_meter_entry
    if not entry.HasField("table_entry"):
        raise invalid("Missing table_entry field in DirectMeterEntry")
    check_key(find_table(target.schema, entry.table_entry), entry.table_entry)
    _check_meter_type(update)
    entry.ClearField("counter_data")  # PI takes no notice of it
    if entry.table_entry.is_default_action:
        raise refusal(UNKNOWN, "Error when writing direct meter spec")
    _check_meter(entry, "config")


# --- counters and meters ---


def _counter_entry(target: Target, update: p4runtime_pb2.Update) -> None:
    entry = update.entity.counter_entry
    if entry.counter_id not in target.schema.counters:
        raise invalid_id()
    _check_index(entry, "counters")
    check_type(update)
    if update.type == INSERT:
        raise invalid("INSERT update type not supported for counters")
    _set_or_clear(target, update, entry, entry.counter_id)


def _set_or_clear(
    target: Target,
    update: p4runtime_pb2.Update,
    entry: p4runtime_pb2.CounterEntry | p4runtime_pb2.DirectCounterEntry,
    counter_id: int,
) -> None:
    """DELETE means 0, and so does data left out."""
    if update.type == DELETE:
        entry.data.Clear()
        update.type = MODIFY
    entry.data.SetInParent()
    target.only_counted(counter_id, entry.data)


def _meter_entry(target: Target, update: p4runtime_pb2.Update) -> None:
    entry = update.entity.meter_entry
    if entry.meter_id not in target.schema.meters:
        raise invalid_id()
    _check_index(entry, "meters")
    _check_meter_type(update)
    entry.ClearField("counter_data")
    _check_meter(entry, "config")


def _check_index(entry: p4runtime_pb2.CounterEntry | p4runtime_pb2.MeterEntry, what: str) -> None:
    if not entry.HasField("index"):
        raise refusal(UNIMPLEMENTED, f"Wildcard write is not supported for indirect {what} yet")
    if entry.index.index < 0:
        raise invalid("A negative number is not a valid index value")


def _check_meter_type(update: p4runtime_pb2.Update) -> None:
    check_type(update)
    if update.type != MODIFY:
        name = "INSERT" if update.type == INSERT else "DELETE"
        raise invalid(f"{name} update type not supported for meters")


def _check_meter(
    entry: p4runtime_pb2.TableEntry | p4runtime_pb2.MeterEntry | p4runtime_pb2.DirectMeterEntry, field: str
) -> None:
    """Rates of -1 are an old way to say that everything is green."""
    if not entry.HasField(field):  # pyright: ignore[reportArgumentType]
        return
    config: p4runtime_pb2.MeterConfig = getattr(entry, field)
    rates = {"CIR": config.cir, "CBurst": config.cburst, "PIR": config.pir, "PBurst": config.pburst}
    for name, value in rates.items():
        if value < -1:
            raise invalid(f"Negative meter {name}")
    if config.cburst > _MAX_BURST:
        raise refusal(UNIMPLEMENTED, "CBurst too large")
    if config.pburst > _MAX_BURST:
        raise refusal(UNIMPLEMENTED, "Pburst too large")
    if set(rates.values()) == {-1}:
        entry.ClearField(field)  # pyright: ignore[reportArgumentType]


# --- the rest ---


def _digest(target: Target, update: p4runtime_pb2.Update) -> None:
    digest_id = update.entity.digest_entry.digest_id
    if digest_id not in target.schema.digests:
        raise refusal(NOT_FOUND, f"{digest_id} is not a valid digest id")
    if update.type not in (INSERT, MODIFY, DELETE):
        raise invalid("Invalid update type for DigestEntry")


def _unsupported(text: str) -> Callable[[Target, p4runtime_pb2.Update], None]:
    def refuse(target: Target, update: p4runtime_pb2.Update) -> None:
        del target, update
        raise refusal(UNIMPLEMENTED, text)

    return refuse


_CHECKS: dict[str, Callable[[Target, p4runtime_pb2.Update], None]] = {
    "table_entry": _table_entry,
    "direct_counter_entry": _direct_counter_entry,
    "direct_meter_entry": _direct_meter_entry,
    "counter_entry": _counter_entry,
    "meter_entry": _meter_entry,
    "action_profile_member": check_member,
    "action_profile_group": check_group,
    "packet_replication_engine_entry": check_replication,
    "digest_entry": _digest,
    "register_entry": _unsupported("Register writes are not supported yet"),
    "value_set_entry": _unsupported("ValueSet writes are not supported yet"),
    "extern_entry": _unsupported(""),
}
