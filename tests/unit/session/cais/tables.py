"""The CAIS tables of a switch as a dictionary: as strict as a switch about what is there already, or is not."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from cais_tools.session.cais.model import State
from cais_tools.session.cais.tables import decode_state
from cais_tools.session.entities import CounterCell, Entity, MulticastGroup, TableEntry, Update, UpdateType

POOL = 4096


class Tables:
    def __init__(self) -> None:
        self.entities: dict[Any, Entity] = {}

    def perform(self, update: Update) -> None:
        entity = update.entity
        if isinstance(entity, CounterCell):
            assert update.type is UpdateType.MODIFY
            return
        key = _key(entity)
        assert (key in self.entities) == (update.type is not UpdateType.INSERT), str(update)
        if update.type is UpdateType.DELETE:
            del self.entities[key]
        else:
            self.entities[key] = entity

    def perform_all(self, updates: Iterable[Update]) -> None:
        for update in updates:
            self.perform(update)

    @property
    def state(self) -> State:
        entries = [each for each in self.entities.values() if isinstance(each, TableEntry)]
        groups = [each for each in self.entities.values() if isinstance(each, MulticastGroup)]
        return decode_state(entries, groups, POOL)


def _key(entity: Entity) -> Any:
    if isinstance(entity, MulticastGroup):
        return entity.group_id
    assert isinstance(entity, TableEntry)
    return entity.table, tuple(entity.match.items()), entity.priority


def assert_consistent(state: State) -> None:
    """No rule without its multicast group, none without a group; no two groups on one slot."""
    for rule in state.rules:
        assert rule.output_set in state.output_sets, f"{rule} has no output set"
        assert state.output_sets[rule.output_set].ports, f"{rule} has no multicast group"
        assert state.output_sets[rule.output_set].receivers, f"{rule} has no receivers"
    for group in state.groups.values():
        assert {member.rank_mask for member in group.members} >= {
            1 << rank for rank in range(32) if group.participants >> rank & 1
        }, f"group {group.group_id} waits for a rank that is no member"
    blocks = sorted((group.slot_base, group.slots) for group in state.groups.values())
    for (first, size), (second, _) in itertools.pairwise(blocks):
        assert first + size <= second
