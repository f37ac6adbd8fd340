"""Reading entities by name."""

from __future__ import annotations

import abc
from collections.abc import Collection, Iterable, Mapping, Sequence

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session import arrays, codec, profiles
from cais_tools.session.data import Data, decode_data
from cais_tools.session.entities import (
    ActionProfileGroup,
    ActionProfileMember,
    CloneSession,
    CounterData,
    DigestConfig,
    MeterCell,
    MulticastGroup,
    TableEntry,
    ValueSet,
)
from cais_tools.session.errors import DeviceError
from cais_tools.session.rpc import Rpc

__all__ = ["Reads"]


Wanted = tuple[tuple[int, tuple[int, ...]], ...]
"""Cells of counters, by the counters' numbers."""


class Reads(abc.ABC):
    _rpc: Rpc
    # Who reads the same thousands of cells every second shall not build the request anew each time.
    _asked: tuple[Wanted, Sequence[p4runtime_pb2.Entity]] = ((), ())

    @property
    @abc.abstractmethod
    def index(self) -> P4InfoIndex: ...

    @abc.abstractmethod
    def _require_unchanged(self) -> None: ...

    def _read(self, entities: Sequence[p4runtime_pb2.Entity], doing: str) -> list[p4runtime_pb2.Entity]:
        self._require_unchanged()
        return self._rpc.read(entities, doing)

    def read_tables(self, names: Iterable[str], *, counters: Collection[str] = ()) -> list[TableEntry]:
        """All entries (not the default ones) of these tables in one read; those in `counters` with their direct
        counter's value.
        """
        index = self.index
        with_counters = {index.table(name).preamble.id for name in counters}
        wanted: list[p4runtime_pb2.Entity] = []
        for name in names:
            table_id = index.table(name).preamble.id
            entity = p4runtime_pb2.Entity(table_entry=p4runtime_pb2.TableEntry(table_id=table_id))
            if table_id in with_counters:
                entity.table_entry.counter_data.SetInParent()
            wanted.append(entity)
        entities = self._read(wanted, "read its tables")
        entries = (codec.decode_table_entry(index, each.table_entry) for each in entities)
        return [entry for entry in entries if not entry.is_default]

    def read_table(self, name: str, *, counters: bool = False) -> list[TableEntry]:
        """All entries of one table; with `counters`, each with its direct counter's value."""
        return self.read_tables([name], counters=[name] if counters else [])

    def read_default(self, name: str) -> TableEntry | None:
        """The default entry of a table; None where it has no default action."""
        index = self.index
        entry = p4runtime_pb2.TableEntry(table_id=index.table(name).preamble.id, is_default_action=True)
        entities = self._read([p4runtime_pb2.Entity(table_entry=entry)], f"read the default entry of {name}")
        return codec.decode_table_entry(index, entities[0].table_entry) if entities else None

    def read_counter(self, name: str) -> dict[int, CounterData]:
        """All cells of an indirect counter by index."""
        counter_id = self.index.counter(name).preamble.id
        entry = p4runtime_pb2.CounterEntry(counter_id=counter_id)
        entities = self._read([p4runtime_pb2.Entity(counter_entry=entry)], f"read the counter {name}")
        return {each.counter_entry.index.index: _counter_data(each.counter_entry.data) for each in entities}

    def read_counters(self, cells: Mapping[str, Iterable[int]]) -> dict[str, dict[int, CounterData]]:
        """Some cells of some counters, by counter (as named in `cells`) and index, in one read."""
        names = {self.index.counter(name).preamble.id: name for name in cells}
        wanted = tuple((counter_id, tuple(cells[name])) for counter_id, name in names.items())
        asked, entities = self._asked
        if asked != wanted:
            entities = _cell_entities(wanted)
            self._asked = wanted, entities
        found: dict[str, dict[int, CounterData]] = {name: {} for name in cells}
        if entities:
            for each in self._read(entities, "read its counters"):
                entry = each.counter_entry
                found[names[entry.counter_id]][entry.index.index] = _counter_data(entry.data)
        return found

    def read_register(self, name: str, cells: Iterable[int] | None = None) -> dict[int, Data]:
        """Cells of a register by index: those asked for, or all. Raises DeviceError where the switch cannot tell."""
        register_id = self.index.register(name).preamble.id
        wanted = [
            p4runtime_pb2.RegisterEntry(register_id=register_id, index=p4runtime_pb2.Index(index=cell))
            for cell in cells or ()
        ]
        if cells is None:
            wanted = [p4runtime_pb2.RegisterEntry(register_id=register_id)]
        try:
            entities = self._read([p4runtime_pb2.Entity(register_entry=each) for each in wanted], f"read {name}")
        except DeviceError as error:
            if error.code == "UNIMPLEMENTED":
                error.hint = "this switch shows no registers over P4Runtime (bmv2 does not); the embedded switch does"
            raise
        return {each.register_entry.index.index: decode_data(each.register_entry.data) for each in entities}

    def read_multicast_groups(self, group_id: int = 0) -> list[MulticastGroup]:
        """One multicast group, or all (0); empty where there is none."""
        entry = p4runtime_pb2.MulticastGroupEntry(multicast_group_id=group_id)
        engine = p4runtime_pb2.PacketReplicationEngineEntry(multicast_group_entry=entry)
        entities = self._read(
            [p4runtime_pb2.Entity(packet_replication_engine_entry=engine)], "read its multicast groups"
        )
        return [
            codec.decode_multicast_group(each.packet_replication_engine_entry.multicast_group_entry)
            for each in entities
        ]

    def read_clone_sessions(self, session_id: int = 0) -> list[CloneSession]:
        """One clone session, or all (0); empty where there is none."""
        entry = p4runtime_pb2.CloneSessionEntry(session_id=session_id)
        engine = p4runtime_pb2.PacketReplicationEngineEntry(clone_session_entry=entry)
        entities = self._read([p4runtime_pb2.Entity(packet_replication_engine_entry=engine)], "read its clone sessions")
        return [
            codec.decode_clone_session(each.packet_replication_engine_entry.clone_session_entry) for each in entities
        ]

    def read_action_profile_members(self, profile: str, member_id: int = 0) -> list[ActionProfileMember]:
        """One member of an action profile, or all (0); empty where there is none."""
        entry = p4runtime_pb2.ActionProfileMember(
            action_profile_id=self.index.action_profile(profile).preamble.id, member_id=member_id
        )
        entities = self._read_if_there(p4runtime_pb2.Entity(action_profile_member=entry), f"read members of {profile}")
        found = [profiles.decode_member(self.index, each.action_profile_member) for each in entities]
        # bmv2 has a member once more for each weight that it has in a group, and shows them all.
        return list({each.member_id: each for each in found}.values())

    def read_action_profile_groups(self, profile: str, group_id: int = 0) -> list[ActionProfileGroup]:
        """One group of an action profile, or all (0); empty where there is none."""
        entry = p4runtime_pb2.ActionProfileGroup(
            action_profile_id=self.index.action_profile(profile).preamble.id, group_id=group_id
        )
        entities = self._read_if_there(p4runtime_pb2.Entity(action_profile_group=entry), f"read groups of {profile}")
        return [profiles.decode_group(self.index, each.action_profile_group) for each in entities]

    def read_meter(self, name: str) -> dict[int, MeterCell]:
        """All cells of an indirect meter by index."""
        entry = p4runtime_pb2.MeterEntry(meter_id=self.index.meter(name).preamble.id)
        entities = self._read([p4runtime_pb2.Entity(meter_entry=entry)], f"read the meter {name}")
        return {
            each.meter_entry.index.index: arrays.decode_meter_cell(self.index, each.meter_entry) for each in entities
        }

    def read_value_set(self, name: str) -> ValueSet:
        """What a parser's value set holds. Raises DeviceError where the switch cannot tell (bmv2 cannot)."""
        entry = p4runtime_pb2.ValueSetEntry(value_set_id=self.index.value_set(name).preamble.id)
        entities = self._read([p4runtime_pb2.Entity(value_set_entry=entry)], f"read the value set {name}")
        return arrays.decode_value_set(self.index, entities[0].value_set_entry) if entities else ValueSet(name)

    def read_digests(self, name: str) -> list[DigestConfig]:
        """How a digest is configured; empty where it is not wanted."""
        entry = p4runtime_pb2.DigestEntry(digest_id=self.index.digest(name).preamble.id)
        entities = self._read_if_there(p4runtime_pb2.Entity(digest_entry=entry), f"read the digest {name}")
        return [codec.decode_digest(self.index, each.digest_entry) for each in entities]

    def _read_if_there(self, wanted: p4runtime_pb2.Entity, doing: str) -> list[p4runtime_pb2.Entity]:
        try:
            return self._read([wanted], doing)
        except DeviceError as error:
            if error.code == "NOT_FOUND":
                return []
            raise


def _cell_entities(wanted: Wanted) -> list[p4runtime_pb2.Entity]:
    return [
        p4runtime_pb2.Entity(
            counter_entry=p4runtime_pb2.CounterEntry(counter_id=counter_id, index=p4runtime_pb2.Index(index=cell))
        )
        for counter_id, cells in wanted
        for cell in cells
    ]


def _counter_data(message: p4runtime_pb2.CounterData) -> CounterData:
    return CounterData(message.packet_count, message.byte_count)
