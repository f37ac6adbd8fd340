"""Counters, meters, registers and value sets to messages and back (P4Runtime 1.4, section 9). Sans I/O."""

from __future__ import annotations

from cais_tools.errors import UsageError
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.data import encode_data
from cais_tools.session.entities import CounterCell, MeterCell, MeterConfig, RegisterCell, ValueSet
from cais_tools.session.match import decode_match, encode_match

__all__ = [
    "decode_meter_cell",
    "decode_value_set",
    "encode_counter_cell",
    "encode_meter_cell",
    "encode_register_cell",
    "encode_value_set",
]


def _cell(name: str, index: int) -> p4runtime_pb2.Index:
    if not 0 <= index < 1 << 63:
        raise UsageError(f"{name} has no cell {index}", hint="cells are numbered from 0")
    return p4runtime_pb2.Index(index=index)


def encode_counter_cell(index: P4InfoIndex, cell: CounterCell) -> p4runtime_pb2.CounterEntry:
    return p4runtime_pb2.CounterEntry(
        counter_id=index.counter(cell.counter).preamble.id,
        index=_cell(cell.counter, cell.index),
        data=p4runtime_pb2.CounterData(packet_count=cell.data.packets, byte_count=cell.data.bytes),
    )


def encode_meter_cell(index: P4InfoIndex, cell: MeterCell) -> p4runtime_pb2.MeterEntry:
    message = p4runtime_pb2.MeterEntry(
        meter_id=index.meter(cell.meter).preamble.id, index=_cell(cell.meter, cell.index)
    )
    config = cell.config
    if config is not None:
        message.config.cir, message.config.cburst = config.cir, config.cburst
        message.config.pir, message.config.pburst = config.pir, config.pburst
        message.config.eburst = config.eburst
    return message


def decode_meter_cell(index: P4InfoIndex, message: p4runtime_pb2.MeterEntry) -> MeterCell:
    config = None
    if message.HasField("config"):
        given = message.config
        config = MeterConfig(given.cir, given.cburst, given.pir, given.pburst, given.eburst)
    return MeterCell(index.meter(message.meter_id).preamble.name, message.index.index, config)


def encode_register_cell(index: P4InfoIndex, cell: RegisterCell) -> p4runtime_pb2.RegisterEntry:
    register = index.register(cell.register)
    return p4runtime_pb2.RegisterEntry(
        register_id=register.preamble.id,
        index=_cell(cell.register, cell.index),
        data=encode_data(register.type_spec, index.message.type_info, cell.value, str(cell)),
    )


def encode_value_set(index: P4InfoIndex, value_set: ValueSet) -> p4runtime_pb2.ValueSetEntry:
    spec = index.value_set(value_set.name)
    message = p4runtime_pb2.ValueSetEntry(value_set_id=spec.preamble.id)
    for match in value_set.members:
        given = {index.value_set_field(spec, name).id: value for name, value in match.items()}
        member = message.members.add()
        for field in spec.match:
            encoded = encode_match(field, given.get(field.id), is_string=index.is_string(field.type_name.name))
            if encoded is not None:
                member.match.append(encoded)
    return message


def decode_value_set(index: P4InfoIndex, message: p4runtime_pb2.ValueSetEntry) -> ValueSet:
    spec = index.value_set(message.value_set_id)
    fields = {field.id: field for field in spec.match}
    members = tuple(
        {
            fields[each.field_id].name: decode_match(
                each, is_string=index.is_string(fields[each.field_id].type_name.name)
            )
            for each in member.match
        }
        for member in message.members
    )
    return ValueSet(spec.preamble.name, members)
