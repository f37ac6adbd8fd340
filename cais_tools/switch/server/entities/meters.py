"""MeterEntry: indirect meters, and what all meters share (P4Runtime 1.4, section 9.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.switch.meters import Meter, MeterArray, MeterConfig
from cais_tools.switch.server.entities.base import Undo, check_index, only_modify
from cais_tools.switch.server.schema import ArraySchema, MeterType, Schema
from cais_tools.switch.server.status import invalid

__all__ = ["MeterEntries", "check_reset", "config_message", "config_of", "fill_colours"]

_Spec = p4info_pb2.MeterSpec


def config_of(
    message: p4runtime_pb2.MeterConfig, where: str, kind: MeterType = _Spec.TWO_RATE_THREE_COLOR
) -> MeterConfig:
    """Raises P4Error where a meter of this kind cannot be configured like that."""
    if min(message.cir, message.cburst, message.pir, message.pburst, message.eburst) < 0:
        raise invalid(f"{where}: negative rates or bursts")
    if kind != _Spec.TWO_RATE_THREE_COLOR and (message.pir, message.pburst) != (message.cir, message.cburst):
        raise invalid(f"{where} has a single rate: pir and pburst must be equal to cir and cburst")
    if message.pir < message.cir:
        raise invalid(f"{where}: the peak rate {message.pir} is below the committed rate {message.cir}")
    if message.eburst and kind != _Spec.SINGLE_RATE_THREE_COLOR:
        raise invalid(f"{where}: eburst belongs to single-rate three-colour meters, this one is another")
    single_rate = kind == _Spec.SINGLE_RATE_THREE_COLOR
    return MeterConfig(message.cir, message.cburst, message.pir, message.pburst, message.eburst, single_rate)


def config_message(config: MeterConfig) -> p4runtime_pb2.MeterConfig:
    return p4runtime_pb2.MeterConfig(
        cir=config.cir, cburst=config.cburst, pir=config.pir, pburst=config.pburst, eburst=config.eburst
    )


def check_reset(data: p4runtime_pb2.MeterCounterData, where: str) -> None:
    """Counters of colours can only be reset: whatever is written must be 0."""
    if any(each.packet_count or each.byte_count for each in (data.green, data.yellow, data.red)):
        raise invalid(f"{where}: the counters of a meter's colours can only be set to 0")


def fill_colours(data: p4runtime_pb2.MeterCounterData, meter: Meter) -> None:
    for message, value in zip((data.green, data.yellow, data.red), meter.colours, strict=True):
        message.SetInParent()
        message.packet_count, message.byte_count = value


class MeterEntries:
    def __init__(self, schema: Schema, meters: Mapping[str, MeterArray]) -> None:
        self._schema = schema
        self._meters = meters

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.MeterEntry) -> Undo:
        meter = self._schema.meter(entry.meter_id)
        where = f"meter {meter.name}"
        only_modify(kind, where)
        check_reset(entry.counter_data, where)
        array = self._meters[meter.name]
        if entry.HasField("index"):
            indices = [check_index(entry.index.index, array.size, where)]
        else:
            indices = list(range(array.size))
        config = config_of(entry.config, where, meter.meter_type) if entry.HasField("config") else None
        before = [(cell, cell.config, cell.colours) for cell in (array.cell(index) for index in indices)]
        for cell, _, _ in before:
            cell.configure(config)
            if entry.HasField("counter_data"):
                cell.set_colours(None)

        def undo() -> None:
            for cell, old, colours in before:
                cell.configure(old)
                if entry.HasField("counter_data"):
                    cell.set_colours(colours)

        return undo

    def read(self, entry: p4runtime_pb2.MeterEntry) -> Iterator[p4runtime_pb2.Entity]:
        with_colours = entry.HasField("counter_data")
        wanted = self._schema.meters.values() if entry.meter_id == 0 else [self._schema.meter(entry.meter_id)]
        for meter in wanted:
            size = self._meters[meter.name].size
            indices = range(size)
            if entry.meter_id and entry.HasField("index"):
                index = check_index(entry.index.index, size, f"meter {meter.name}")
                indices = range(index, index + 1)
            for index in indices:
                yield self._entity(meter, index, with_colours=with_colours)

    def _entity(self, meter: ArraySchema, index: int, *, with_colours: bool) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entity.meter_entry.meter_id = meter.id
        entity.meter_entry.index.index = index
        config = self._meters[meter.name].read(index)
        if config is not None:
            entity.meter_entry.config.CopyFrom(config_message(config))
        if with_colours:
            fill_colours(entity.meter_entry.counter_data, self._meters[meter.name].cell(index))
        return entity
