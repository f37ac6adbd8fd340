"""Changes in stages, each with its undoing: a change that fails half-way leaves nothing half-installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cais_tools.errors import CaisError, Refused
from cais_tools.session.entities import Entity, MulticastGroup, Update, UpdateType
from cais_tools.session.errors import DeviceError
from cais_tools.session.verdicts import Verdict

__all__ = ["Change", "Stage", "delete", "insert", "modify", "perform"]


@dataclass(frozen=True, slots=True)
class Change:
    update: Update
    undo: Update


Stage = Sequence[Change]
"""Changes that may happen in any order; the next stage comes when all of them are in force."""


class Writer(Protocol):
    def try_write(self, updates: Sequence[Update]) -> list[Verdict]: ...


def insert(entity: Entity) -> Change:
    return Change(Update(UpdateType.INSERT, entity), Update(UpdateType.DELETE, entity))


def modify(entity: Entity, before: Entity) -> Change:
    return Change(Update(UpdateType.MODIFY, entity), Update(UpdateType.MODIFY, before))


def delete(entity: Entity) -> Change:
    return Change(Update(UpdateType.DELETE, entity), Update(UpdateType.INSERT, entity))


def perform(writer: Writer, stages: Iterable[Stage], what: str) -> None:
    """Make the changes stage by stage; when one is refused, undo those before it and raise.

    The error says what the switch refused, and if undoing failed too, what is in force although it should not be.
    """
    done: list[tuple[Change, bool]] = []  # and whether it surely happened
    for stage in stages:
        if not stage:
            continue
        try:
            verdicts = writer.try_write([change.update for change in stage])
        except CaisError as error:
            _undo(writer, done, f"{what}: {error}", error)
            raise
        done += [
            (change, verdict.ok)
            for change, verdict in zip(stage, verdicts, strict=True)
            if verdict.ok or not verdict.certain
        ]
        failed = [verdict for verdict in verdicts if not verdict.ok]
        if failed:
            entity = stage[failed[0].index].update.entity
            refusal = _refusal(failed[0], entity, what)
            _undo(writer, done, str(refusal), refusal)
            raise refusal


def _undo(writer: Writer, done: Sequence[tuple[Change, bool]], why: str, cause: CaisError) -> None:
    """Undo in reverse order, one by one: an update that never happened must not hide one that stays."""
    left: list[str] = []
    for change, surely_happened in reversed(done):
        try:
            verdict = writer.try_write([change.undo])[0]
        except CaisError:
            left.append(str(change.update))
        else:
            if surely_happened and not verdict.ok and verdict.code not in ("NOT_FOUND", "ALREADY_EXISTS"):
                left.append(str(change.update))
    if left:
        error = Refused(f"{why}; still in force: {'; '.join(reversed(left))}", hint=cause.hint)
        error.exit_code = cause.exit_code
        raise error from cause


def _refusal(verdict: Verdict, entity: Entity, what: str) -> DeviceError:
    reason = f"{verdict.code}, {verdict.message}" if verdict.message else verdict.code
    hint = verdict.hint
    if isinstance(entity, MulticastGroup) and verdict.code in ("INVALID_ARGUMENT", "NOT_FOUND", "UNKNOWN"):
        hint = "does the switch have all these ports? Ports are the switch's own numbers, starting at 1"
    return DeviceError(
        f"{what}: the switch refused {entity} ({reason}); nothing was changed",
        code=verdict.code,
        details=verdict.message,
        hint=hint,
    )
