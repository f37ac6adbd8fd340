"""Writing entities by name: the part of a session that does not care how it is connected. Reading is in `reads`."""

from __future__ import annotations

import abc
import contextlib
import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cais_tools.errors import CaisError
from cais_tools.p4rt import p4runtime_pb2
from cais_tools.session import codec
from cais_tools.session.entities import (
    ActionProfileGroup,
    ActionProfileMember,
    CloneSession,
    CounterCell,
    CounterData,
    DigestConfig,
    Entity,
    MeterCell,
    MulticastGroup,
    RegisterCell,
    TableEntry,
    Update,
    UpdateType,
    ValueSet,
)
from cais_tools.session.errors import BatchFailed
from cais_tools.session.reads import Reads
from cais_tools.session.verdicts import Verdict

__all__ = ["Applied", "AppliedKind", "ReadWrite"]

# Updates in one Write: few enough that every one's error fits into the trailer of any server.
_BATCH_SIZE = 256

_Batch = tuple[int, Sequence[Update], list[p4runtime_pb2.Update]]
"""The place of its first update among all, the updates, and their messages."""


class AppliedKind(enum.Enum):
    INSERTED = "inserted"
    MODIFIED = "modified"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did with one entity."""

    entity: Entity
    kind: AppliedKind


class ReadWrite(Reads):
    @abc.abstractmethod
    def _require_primary(self, doing: str) -> p4runtime_pb2.Uint128: ...

    def try_write(self, updates: Sequence[Update]) -> list[Verdict]:
        """Write all updates, whatever fails of them; one verdict for each, in order.

        Raises UsageError for an update that makes no sense (nothing is sent then), NotPrimary, Unreachable,
        SwitchRestarted.
        """
        return list(self.write_each(updates))

    def write_each(
        self, updates: Sequence[Update], *, at_once: int = 1, stop: Callable[[], bool] | None = None
    ) -> Iterator[Verdict]:
        """As `try_write`, but each verdict comes as soon as it is known: what it raises in a later batch takes
        nothing away from what is known about the earlier ones.

        With `at_once` that many batches are under way together, for updates that may happen in any order. Where `stop`
        says so, no further batch is sent; the verdicts on those under way still come.
        """
        election_id = self._require_primary("write")
        under_way: deque[Callable[[], list[Verdict]]] = deque()
        batches: Iterable[_Batch] = self._batches(updates)
        if at_once == 1:
            batches = list(batches)  # an update that makes no sense is found before anything is sent
        try:
            for start, some, messages in batches:
                if stop is not None and stop():
                    break
                under_way.append(self._rpc.start_write(messages, some, election_id, start))
                if len(under_way) == at_once:
                    yield from under_way.popleft()()
            while under_way:
                yield from under_way.popleft()()
        finally:
            for finish in under_way:  # nothing may go on behind the back of whoever cleans up after an error
                with contextlib.suppress(CaisError):
                    finish()

    def _batches(self, updates: Sequence[Update]) -> Iterator[_Batch]:
        index = self.index
        for start in range(0, len(updates), _BATCH_SIZE):
            some = updates[start : start + _BATCH_SIZE]
            yield start, some, [codec.encode_update(index, update) for update in some]

    def write(self, updates: Sequence[Update]) -> None:
        """Write all updates. Raises BatchFailed, with every update's verdict, when some failed."""
        verdicts = self.try_write(updates)
        if not all(verdict.ok for verdict in verdicts):
            raise BatchFailed(verdicts)

    def insert(self, *entities: Entity) -> None:
        self.write([Update(UpdateType.INSERT, entity) for entity in entities])

    def modify(self, *entities: Entity) -> None:
        self.write([Update(UpdateType.MODIFY, entity) for entity in entities])

    def delete(self, *entities: Entity) -> None:
        self.write([Update(UpdateType.DELETE, entity) for entity in entities])

    def clear_counter(self, name: str, cells: Iterable[int]) -> None:
        self.modify(*(CounterCell(name, cell, CounterData()) for cell in cells))

    def apply(self, entities: Sequence[Entity]) -> list[Applied]:
        """Make the switch have these entities: insert what is missing, modify what differs, leave what is equal.

        Default entries, cells and value sets are always modified. Raises BatchFailed.
        """
        verdicts = self.try_write([_first_update(entity) for entity in entities])
        applied: list[Applied] = []
        for entity, verdict in zip(entities, verdicts, strict=True):
            if verdict.ok:
                inserted = _first_update(entity).type is UpdateType.INSERT
                applied.append(Applied(entity, AppliedKind.INSERTED if inserted else AppliedKind.MODIFIED))
            else:
                applied.append(self._settle(entity, verdict))
        return applied

    def _settle(self, entity: Entity, verdict: Verdict) -> Applied:
        if not verdict.certain:
            # The switch failed a whole batch without saying why: this one alone gets an answer of its own.
            verdict = self.try_write([_first_update(entity)])[0]
            if verdict.ok:
                return Applied(entity, AppliedKind.INSERTED)
        if verdict.code in ("ALREADY_EXISTS", "UNKNOWN") and self._holds(entity):
            return Applied(entity, AppliedKind.UNCHANGED)
        if verdict.code != "ALREADY_EXISTS":
            raise BatchFailed([verdict])
        self.modify(entity)
        return Applied(entity, AppliedKind.MODIFIED)

    def _holds(self, entity: Entity) -> bool:
        match entity:
            case TableEntry():
                wanted = codec.encode(self.index, entity)
                key = p4runtime_pb2.Entity()
                key.CopyFrom(wanted)
                key.table_entry.ClearField("action")
                present = self._read([key], f"read {entity}")
                return any(each.table_entry.action == wanted.table_entry.action for each in present)
            case MulticastGroup():
                return entity in self.read_multicast_groups(entity.group_id)
            case CloneSession():
                return entity in self.read_clone_sessions(entity.session_id)
            case ActionProfileMember() | ActionProfileGroup():
                return self._holds_of_profile(entity)
            case DigestConfig():
                return any(
                    codec.encode(self.index, each) == codec.encode(self.index, entity)
                    for each in self.read_digests(entity.digest)
                )
            case _:
                return False

    def _holds_of_profile(self, entity: ActionProfileMember | ActionProfileGroup) -> bool:
        # As messages: names in the entity may be short, values text.
        wanted = codec.encode(self.index, entity)
        present: Sequence[Entity]
        if isinstance(entity, ActionProfileMember):
            present = self.read_action_profile_members(entity.profile, entity.member_id)
        else:
            present = self.read_action_profile_groups(entity.profile, entity.group_id)
        return any(codec.encode(self.index, each) == wanted for each in present)


def _first_update(entity: Entity) -> Update:
    always_there = CounterCell | MeterCell | RegisterCell | ValueSet
    only_modify = isinstance(entity, always_there) or (isinstance(entity, TableEntry) and entity.is_default)
    return Update(UpdateType.MODIFY if only_modify else UpdateType.INSERT, entity)
