"""What PI's checks look at: the P4Info, and what is in the engine's action profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.switch.refusals import NotFound
from cais_tools.switch.server.bmv2.refusal import invalid
from cais_tools.switch.server.entities.meters import config_message
from cais_tools.switch.server.entities.profiles import is_hidden
from cais_tools.switch.server.matching import key_of
from cais_tools.switch.server.schema import ProfileSchema, Schema, TableSchema

if TYPE_CHECKING:
    from cais_tools.switch.engine import Engine
    from cais_tools.switch.profiles import ActionProfile

__all__ = ["Target"]

_Unit = p4info_pb2.CounterSpec


@dataclass(frozen=True)
class Target:
    schema: Schema
    engine: Engine

    def action_profile(self, schema: ProfileSchema) -> ActionProfile:
        return self.engine.profiles[schema.name]

    def has_entries_of_its_own(self, table: TableSchema) -> bool:
        """Whether the program brings entries: PI does not know of them, and calls the table out of sync."""
        return bool(self.engine.tables[table.name].spec.entries) and not table.is_const

    def check_mode(self, schema: ProfileSchema, *, one_shot: bool) -> None:
        """A profile that is in use is programmed in one way: by members and groups, or by one-shot sets."""
        profile = self.action_profile(schema)
        if any(is_hidden(ident) != one_shot for ident, _ in (*profile.members(), *profile.groups())):
            raise invalid("Invalid attempt to mix action selector programming modes")

    def meter_config(self, table: TableSchema, entry: p4runtime_pb2.TableEntry) -> p4runtime_pb2.MeterConfig | None:
        """The direct meter's configuration of the entry with this key."""
        try:
            found = self.engine.tables[table.name].get(key_of(table, entry.match), entry.priority)
        except NotFound:
            return None
        config = found.meter.config if found.meter is not None else None
        return config_message(config) if config is not None else None

    def only_counted(self, resource_id: int, data: p4runtime_pb2.CounterData) -> None:
        """Leave in the data what the counter counts."""
        info = self.schema.p4info
        for counter in (*info.counters, *info.direct_counters):
            if counter.preamble.id == resource_id:
                if counter.spec.unit == _Unit.PACKETS:
                    data.byte_count = 0
                elif counter.spec.unit == _Unit.BYTES:
                    data.packet_count = 0
