"""MeterEntry: indirect meters, and what all meters share (P4Runtime 1.4, section 9.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.meters import MeterArray, MeterConfig
from cais_tools.switch.server.entities.base import Undo, check_index, only_modify
from cais_tools.switch.server.schema import ArraySchema, Schema
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["MeterEntries", "config_message", "config_of", "refuse_colours"]


def config_of(message: p4runtime_pb2.MeterConfig, where: str) -> MeterConfig:
    """Raises P4Error where a two-rate meter cannot be configured like that."""
    if min(message.cir, message.cburst, message.pir, message.pburst) < 0:
        raise invalid(f"{where}: negative rates or bursts")
    if message.pir < message.cir:
        raise invalid(f"{where}: the peak rate {message.pir} is below the committed rate {message.cir}")
    if getattr(message, "eburst", 0):
        raise invalid(f"{where}: eburst belongs to single-rate meters, this one has two rates")
    return MeterConfig(message.cir, message.cburst, message.pir, message.pburst)


def config_message(config: MeterConfig) -> p4runtime_pb2.MeterConfig:
    return p4runtime_pb2.MeterConfig(cir=config.cir, cburst=config.cburst, pir=config.pir, pburst=config.pburst)


class MeterEntries:
    def __init__(self, schema: Schema, meters: Mapping[str, MeterArray]) -> None:
        self._schema = schema
        self._meters = meters

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.MeterEntry) -> Undo:
        meter = self._schema.meter(entry.meter_id)
        where = f"meter {meter.name}"
        only_modify(kind, where)
        refuse_colours(entry.HasField("counter_data"), where)
        array = self._meters[meter.name]
        if entry.HasField("index"):
            indices = [check_index(entry.index.index, array.size, where)]
        else:
            indices = list(range(array.size))
        config = config_of(entry.config, where) if entry.HasField("config") else None
        before = [(index, array.read(index)) for index in indices]
        for index in indices:
            array.write(index, config)

        def undo() -> None:
            for index, old in before:
                array.write(index, old)

        return undo

    def read(self, entry: p4runtime_pb2.MeterEntry) -> Iterator[p4runtime_pb2.Entity]:
        refuse_colours(entry.HasField("counter_data"), "meters")
        if entry.meter_id == 0:
            for meter in self._schema.meters.values():
                yield from self._read_all(meter)
            return
        meter = self._schema.meter(entry.meter_id)
        if not entry.HasField("index"):
            yield from self._read_all(meter)
            return
        size = self._meters[meter.name].size
        yield self._entity(meter, check_index(entry.index.index, size, f"meter {meter.name}"))

    def _read_all(self, meter: ArraySchema) -> Iterator[p4runtime_pb2.Entity]:
        for index in range(self._meters[meter.name].size):
            yield self._entity(meter, index)

    def _entity(self, meter: ArraySchema, index: int) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        entity.meter_entry.meter_id = meter.id
        entity.meter_entry.index.index = index
        config = self._meters[meter.name].read(index)
        if config is not None:
            entity.meter_entry.config.CopyFrom(config_message(config))
        return entity


def refuse_colours(asked: bool, where: str) -> None:
    """Counters for each colour of a meter (MeterCounterData): not every target has them."""
    if asked:
        raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: counters for each colour of a meter are not supported")
