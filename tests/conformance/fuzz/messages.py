"""P4Runtime messages: valid ones for a program, and damaged ones made of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.session import codec
from cais_tools.session.pipeline import Pipeline
from tests.conformance.fuzz.entries import EntryMaker
from tests.conformance.fuzz.values import ValuePool

__all__ = ["damaged_message", "entities"]

_NUMBERS = (
    *(0, 1, 2, 3, 7, 255, 256, 4095, 65535, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1),
    *(-1, -(1 << 31), -(1 << 63)),
)
_BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}


def entities(pipeline: Pipeline, pool: ValuePool, rng: random.Random) -> list[p4runtime_pb2.Entity]:
    """One or more of every kind that the program has."""
    maker = EntryMaker(pipeline.index, pool, rng)
    info = pipeline.p4info
    found = [
        codec.encode(pipeline.index, update.entity)
        for table in info.tables
        if not table.implementation_id
        for update in maker.updates(table)
    ]
    for table in info.tables:
        found += _of_table(table, rng)
    for profile in info.action_profiles:
        found += _of_profile(profile, info, rng)
    return [*found, *_arrays(info, rng), *_replication(rng)]


def _of_table(table: p4info_pb2.Table, rng: random.Random) -> Iterator[p4runtime_pb2.Entity]:
    entry = p4runtime_pb2.TableEntry(table_id=table.preamble.id)
    yield p4runtime_pb2.Entity(table_entry=entry)
    for key in table.match_fields:
        match = entry.match.add(field_id=key.id)
        if key.match_type == p4info_pb2.MatchField.EXACT:
            match.exact.value = rng.randbytes(1)
        elif key.match_type == p4info_pb2.MatchField.LPM:
            match.lpm.value, match.lpm.prefix_len = rng.randbytes(1), 8
        elif key.match_type == p4info_pb2.MatchField.TERNARY:
            match.ternary.value, match.ternary.mask = rng.randbytes(1), rng.randbytes(1)
    if table.implementation_id:
        entry.action.action_profile_member_id = rng.randrange(3)
        yield p4runtime_pb2.Entity(table_entry=entry)
        entry.action.action_profile_group_id = rng.randrange(3)
        yield p4runtime_pb2.Entity(table_entry=entry)
        one = entry.action.action_profile_action_set.action_profile_actions.add(weight=2)
        one.action.action_id = rng.choice(table.action_refs).id
        yield p4runtime_pb2.Entity(table_entry=entry)
    counter = p4runtime_pb2.DirectCounterEntry(table_entry=entry)
    yield p4runtime_pb2.Entity(direct_counter_entry=counter)
    yield p4runtime_pb2.Entity(direct_meter_entry=p4runtime_pb2.DirectMeterEntry(table_entry=entry))


def _of_profile(
    profile: p4info_pb2.ActionProfile, info: p4info_pb2.P4Info, rng: random.Random
) -> Iterator[p4runtime_pb2.Entity]:
    ident = profile.preamble.id
    for number in range(3):
        member = p4runtime_pb2.ActionProfileMember(action_profile_id=ident, member_id=number)
        action = rng.choice(info.actions)
        member.action.action_id = action.preamble.id
        for param in action.params:
            member.action.params.add(param_id=param.id, value=rng.randbytes(1))
        yield p4runtime_pb2.Entity(action_profile_member=member)
        group = p4runtime_pb2.ActionProfileGroup(action_profile_id=ident, group_id=number, max_size=3)
        group.members.add(member_id=number, weight=1)
        yield p4runtime_pb2.Entity(action_profile_group=group)


def _arrays(info: p4info_pb2.P4Info, rng: random.Random) -> Iterator[p4runtime_pb2.Entity]:
    index = p4runtime_pb2.Index(index=rng.randrange(4))
    for counter in info.counters:
        data = p4runtime_pb2.CounterData(packet_count=1)
        cell = p4runtime_pb2.CounterEntry(counter_id=counter.preamble.id, index=index, data=data)
        yield p4runtime_pb2.Entity(counter_entry=cell)
    for meter in info.meters:
        config = p4runtime_pb2.MeterConfig(cir=1, cburst=2, pir=3, pburst=4)
        yield p4runtime_pb2.Entity(
            meter_entry=p4runtime_pb2.MeterEntry(meter_id=meter.preamble.id, index=index, config=config)
        )
    for register in info.registers:
        entry = p4runtime_pb2.RegisterEntry(register_id=register.preamble.id, index=index)
        entry.data.bitstring = b"\1"
        yield p4runtime_pb2.Entity(register_entry=entry)
    for digest in info.digests:
        entry = p4runtime_pb2.DigestEntry(digest_id=digest.preamble.id)
        entry.config.max_list_size = 2
        yield p4runtime_pb2.Entity(digest_entry=entry)
    for value_set in info.value_sets:
        entry = p4runtime_pb2.ValueSetEntry(value_set_id=value_set.preamble.id)
        entry.members.add().match.add(field_id=1).exact.value = b"\1"
        yield p4runtime_pb2.Entity(value_set_entry=entry)
    yield p4runtime_pb2.Entity(extern_entry=p4runtime_pb2.ExternEntry(extern_type_id=1, extern_id=1))


def _replication(rng: random.Random) -> Iterator[p4runtime_pb2.Entity]:
    for ident in (1, 2):
        entity = p4runtime_pb2.Entity()
        group = entity.packet_replication_engine_entry.multicast_group_entry
        group.multicast_group_id = ident
        group.replicas.add(egress_port=rng.randrange(3), instance=1)
        yield entity
        entity = p4runtime_pb2.Entity()
        session = entity.packet_replication_engine_entry.clone_session_entry
        session.session_id = ident
        session.replicas.add(egress_port=rng.randrange(3), instance=1)
        yield entity


# --- damage ---


def damaged_message(message: Message, rng: random.Random) -> bytes:
    """One to four fields changed, in any depth; now and then bytes that may be no message."""
    changed = type(message)()
    changed.CopyFrom(message)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        _change(rng.choice(list(_parts(changed))), rng)
    data = changed.SerializeToString()
    if data and rng.random() < 0.08:
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] = rng.randrange(256)
        data = bytes(damaged[: rng.randrange(len(data)) + 1] if rng.random() < 0.3 else damaged)
    return data


def _parts(message: Any) -> Iterator[Any]:
    """The message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE and not _is_map(field):
            for each in value if _repeated(field) else [value]:
                yield from _parts(each)


def _change(message: Any, rng: random.Random) -> None:
    fields = [field for field in message.DESCRIPTOR.fields if not _is_map(field)]
    present = [field for field, _ in message.ListFields() if not _is_map(field)]
    if not fields:
        return
    field = rng.choice(present if present and rng.random() < 0.75 else fields)
    if field in present and rng.random() < 0.25:
        message.ClearField(field.name)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        _change_message(message, field, rng)
    elif _repeated(field):
        getattr(message, field.name).append(_scalar(field, rng))
    else:
        setattr(message, field.name, _scalar(field, rng))


def _change_message(message: Any, field: FieldDescriptor, rng: random.Random) -> None:
    value = getattr(message, field.name)
    if not _repeated(field):
        value.SetInParent()
    elif value and rng.random() < 0.7:
        value.add().CopyFrom(rng.choice(value))
    else:
        value.add()


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _repeated(field: Any) -> bool:
    if hasattr(field, "is_repeated"):  # protobuf 5.29 and later, where `label` is deprecated
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)


def _scalar(field: FieldDescriptor, rng: random.Random) -> Any:
    if field.cpp_type in _BOUNDS:
        low, high = _BOUNDS[field.cpp_type]
        return min(max(rng.choice((*_NUMBERS, rng.getrandbits(24))), low), high)
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.choice((b"", b"\0", b"\0" * 9, b"\xff" * 16, b"\xff" * 5000, rng.randbytes(2)))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return rng.choice(("", "x", "\0\n", "ü" * 300))
    return rng.choice((0.0, -1.0, float("inf"), float("nan")))
