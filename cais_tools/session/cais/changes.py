"""Changes in stages, each with its undoing: a change that fails half-way leaves nothing half-installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cais_tools.errors import CaisError, DeadlineExceeded, Refused, Unreachable
from cais_tools.session.entities import Entity, MulticastGroup, Update, UpdateType
from cais_tools.session.errors import DeviceError, SwitchRestarted
from cais_tools.session.verdicts import Verdict

__all__ = ["Change", "Stage", "delete", "insert", "modify", "perform"]


@dataclass(frozen=True, slots=True)
class Change:
    update: Update
    undo: Update


Stage = Sequence[Change]
"""Changes that may happen in any order; the next stage comes when all of them are in force."""


_Done = tuple[Change, bool]
"""A change, and whether it surely happened."""

_MOST_NAMED = 4


class Writer(Protocol):
    def write_each(self, updates: Sequence[Update]) -> Iterator[Verdict]: ...


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
    done: list[_Done] = []
    for stage in stages:
        if not stage:
            continue
        verdicts: list[Verdict] = []
        try:
            verdicts.extend(writer.write_each([change.update for change in stage]))  # keeps those before an error
        except SwitchRestarted:
            raise  # nothing of it is in force any more
        except CaisError as error:
            done += _happened(stage, verdicts)
            if isinstance(error, Unreachable | DeadlineExceeded):
                # The switch may have done all the same what it gave no answer to.
                done += [(change, False) for change in stage[len(verdicts) :]]
            _undo(writer, done, f"{what}: {error}", error)
            raise
        done += _happened(stage, verdicts)
        failed = [verdict for verdict in verdicts if not verdict.ok]
        if failed:
            entity = stage[failed[0].index].update.entity
            refusal = _refusal(failed[0], entity, what)
            _undo(writer, done, str(refusal), refusal)
            raise refusal


def _happened(stage: Stage, verdicts: Sequence[Verdict]) -> list[_Done]:
    """The changes with a verdict that did or may have happened."""
    return [
        (change, verdict.ok)
        for change, verdict in zip(stage, verdicts, strict=False)
        if verdict.ok or not verdict.certain
    ]


def _undo(writer: Writer, done: Sequence[_Done], why: str, cause: CaisError) -> None:
    """Undo in reverse order, one by one: an update that never happened must not hide one that stays."""
    left: list[str] = []
    backwards = list(reversed(done))
    for place, (change, surely_happened) in enumerate(backwards):
        try:
            [verdict] = writer.write_each([change.undo])
        except SwitchRestarted:
            return
        except (Unreachable, DeadlineExceeded):
            # It will not answer the rest either, and each may take until its deadline.
            left.append(_in_force(change, False))
            left += [_in_force(*each) for each in backwards[place + 1 :]]
            break
        except CaisError:
            left.append(_in_force(change, surely_happened))
        else:
            if surely_happened and not verdict.ok and verdict.code not in ("NOT_FOUND", "ALREADY_EXISTS"):
                left.append(_in_force(change, surely_happened))
    if left:
        left.reverse()
        named = "; ".join(left[:_MOST_NAMED])
        more = f"; and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        error = Refused(f"{why}; still in force: {named}{more}", hint=cause.hint)
        error.exit_code = cause.exit_code
        raise error from cause


def _in_force(change: Change, is_certain: bool) -> str:
    return str(change.update) if is_certain else f"{change.update} (perhaps)"


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
