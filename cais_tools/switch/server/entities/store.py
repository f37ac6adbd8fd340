"""The entities of one pipeline: which handler writes and reads which kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.digests import DigestBuffers
from cais_tools.switch.server.entities.base import DELETE, INSERT, MODIFY, Handler, Ports, Undo
from cais_tools.switch.server.entities.counters import CounterEntries
from cais_tools.switch.server.entities.digests import DigestEntries
from cais_tools.switch.server.entities.direct import DirectCounterEntries, DirectMeterEntries
from cais_tools.switch.server.entities.meters import MeterEntries
from cais_tools.switch.server.entities.profiles import GroupEntries, MemberEntries, Modes
from cais_tools.switch.server.entities.registers import RegisterEntries
from cais_tools.switch.server.entities.replication import ReplicationEntries
from cais_tools.switch.server.entities.table_actions import TableActions
from cais_tools.switch.server.entities.tables import TableEntries
from cais_tools.switch.server.entities.value_sets import ValueSetEntries
from cais_tools.switch.server.schema import Schema
from cais_tools.switch.server.status import P4Error, invalid

if TYPE_CHECKING:
    from cais_tools.switch.engine import Engine

__all__ = ["EntityStore"]


class EntityStore:
    """Not thread-safe: the caller holds the device's lock, for reads while it takes from the iterator."""

    def __init__(
        self, schema: Schema, engine: Engine, ports: Ports, buffers: DigestBuffers, clock: Callable[[], int]
    ) -> None:
        modes = Modes()
        actions = TableActions(schema, engine.profiles, ports, modes)
        self.tables = TableEntries(schema, engine.tables, actions, clock)
        self._handlers: dict[str, Handler] = {
            "table_entry": self.tables,
            "action_profile_member": MemberEntries(schema, engine.profiles, modes),
            "action_profile_group": GroupEntries(schema, engine.profiles, ports, modes),
            "meter_entry": MeterEntries(schema, engine.meters),
            "direct_meter_entry": DirectMeterEntries(self.tables),
            "counter_entry": CounterEntries(schema, engine.counters),
            "direct_counter_entry": DirectCounterEntries(self.tables),
            "packet_replication_engine_entry": ReplicationEntries(engine.pre, ports),
            "register_entry": RegisterEntries(schema, engine.registers),
            "value_set_entry": ValueSetEntries(schema, engine.value_sets),
            "digest_entry": DigestEntries(schema, buffers),
        }

    def write(self, update: p4runtime_pb2.Update) -> Undo:
        """Apply one update. Raises P4Error, StateError."""
        if update.type not in (INSERT, MODIFY, DELETE):
            raise invalid("the update has no type")
        kind = update.entity.WhichOneof("entity")
        return self._handler(kind).write(update.type, getattr(update.entity, kind or ""))

    def read(self, entity: p4runtime_pb2.Entity) -> Iterator[p4runtime_pb2.Entity]:
        """What a request selects. Raises P4Error, StateError, perhaps only while it is iterated."""
        kind = entity.WhichOneof("entity")
        return self._handler(kind).read(getattr(entity, kind or ""))

    def _handler(self, kind: str | None) -> Handler:
        if kind is None:
            raise invalid("the entity is not set")
        handler = self._handlers.get(kind)
        if handler is None:
            raise P4Error(code_pb2.UNIMPLEMENTED, f"{kind} is not supported by this switch")
        return handler
