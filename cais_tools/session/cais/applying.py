"""Makes a switch have the wanted state, and says what is in force when that ends early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cais_tools.errors import CaisError, CheckFailed, Refused
from cais_tools.session.cais.checks import SwitchFacts, check_wanted
from cais_tools.session.cais.difference import Difference, Item, difference
from cais_tools.session.cais.findings import Finding, errors_in
from cais_tools.session.cais.model import State
from cais_tools.session.cais.switch import CaisSwitch, random_epoch
from cais_tools.session.cais.wanted import Wanted, with_others
from cais_tools.session.entities import Update, UpdateType
from cais_tools.session.errors import DeviceError
from cais_tools.session.verdicts import Verdict

__all__ = ["Applied", "Examined", "apply_wanted", "examine"]


_AT_ONCE = 3
"""Batches under way together: the switch is never without work while the next one is encoded."""


class Writer(Protocol):
    def write_each(
        self, updates: Sequence[Update], *, at_once: int = 1, stop: Callable[[], bool] | None = None
    ) -> Iterator[Verdict]: ...


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a difference.

    Where it was not all carried out: `in_force` and `left` are its items by what the switch says afterwards, None
    where it did not answer any more; `error` is what the switch refused, `interrupted` that somebody stopped it.
    `done` of `updates` were confirmed.
    """

    wanted: Difference
    done: int
    updates: int
    error: CaisError | None = None
    interrupted: bool = False
    in_force: tuple[Item, ...] | None = None
    left: tuple[Item, ...] | None = None

    @property
    def complete(self) -> bool:
        return self.error is None and not self.interrupted


@dataclass(frozen=True, slots=True)
class Examined:
    """What a switch is to have, what the checks say of it, and, where they find no error, the way there."""

    state: State
    wanted: Wanted
    findings: tuple[Finding, ...]
    difference: Difference

    @property
    def errors(self) -> list[Finding]:
        return errors_in(self.findings)


def examine(
    switch: CaisSwitch, wanted: Wanted, facts: SwitchFacts | None = None, *, keep_others: bool = False
) -> Examined:
    """Check `wanted` (with `keep_others` also what the switch has beyond it) and compare it with the switch.

    `facts` is what is known of the switch beside what it says itself; without it nothing is checked.
    """
    state = switch.state()
    if keep_others:
        wanted = with_others(wanted, state)
    findings = [] if facts is None else check_wanted(wanted, _completed(facts, switch, state, wanted))
    if errors_in(findings):
        return Examined(state, wanted, tuple(findings), Difference())
    found = difference(state, wanted, random_epoch, rules_size=int(switch.session.index.table("rules").size))
    return Examined(state, wanted, (*findings, *found.problems), found)


def _completed(facts: SwitchFacts, switch: CaisSwitch, state: State, wanted: Wanted) -> SwitchFacts:
    index = switch.session.index
    busy: frozenset[int] = frozenset()
    if facts.ports is None:
        ports = {port for group in wanted.groups.values() for port in group.ports}
        ports |= {port for rule in wanted.rules for port in rule.outputs}
        cells = switch.session.read_counters({"port_in": sorted(port for port in ports if port)})["port_in"]
        busy = frozenset(port for port, data in cells.items() if data.packets)
    sizes = {table: int(index.table(table).size) for table in ("groups", "members", "rules")}
    return replace(facts, pool=state.pool, lanes=switch.lanes, table_sizes=sizes, busy_ports=busy)


def apply_wanted(
    switch: CaisSwitch,
    wanted: Wanted,
    *,
    expected: Difference | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Applied:
    """Write the difference stage by stage. Nothing is undone when something is refused; the same call then goes on.

    `expected` is the difference that somebody has agreed to; raises CheckFailed where it is another one by now.
    `stop` is asked before each batch. Raises what reading the switch raises.
    """
    with switch.session.changing:
        found = examine(switch, wanted).difference
        if found.problems:
            raise Refused(str(found.problems[0]), hint=found.problems[0].hint)
        if expected is not None and _shown(found) != _shown(expected):
            raise CheckFailed(
                f"{switch.session.target} is no longer as it was when the difference was shown; nothing was changed",
                hint="somebody else changes it, too; look at the difference again",
            )
        run = _Run(found, stop, progress)
        error = run.write(switch.session)
        if error is None and run.done == found.updates:
            return Applied(found, run.done, found.updates)
        return _look_again(switch, wanted, found, run.done, error)


def _shown(found: Difference) -> list[tuple[str, object]]:
    return [(item.kind.value, item.name) for item in found.items]


class _Run:
    def __init__(self, found: Difference, stop: Callable[[], bool], progress: Callable[[int, int], None]) -> None:
        self._found, self._stop, self._progress = found, stop, progress
        self.done = 0

    def write(self, writer: Writer) -> CaisError | None:
        """Write stage after stage, until one has an update that was refused."""
        for stage in self._found.stages:
            try:
                refused = self._write_stage(writer, stage)
            except CaisError as error:
                return error
            if refused is not None:
                return refused
            if self._stop():
                return None
        return None

    def _write_stage(self, writer: Writer, stage: Sequence[Update]) -> CaisError | None:
        refused: CaisError | None = None
        for verdict in writer.write_each(stage, at_once=_AT_ONCE, stop=self._stop):
            if verdict.ok or _is_gone(stage[verdict.index], verdict):
                self.done += 1
                self._progress(self.done, self._found.updates)
            elif refused is None:
                refused = _refusal(stage[verdict.index], verdict)
        return refused


def _is_gone(update: Update, verdict: Verdict) -> bool:
    return update.type is UpdateType.DELETE and verdict.code == "NOT_FOUND"


def _refusal(update: Update, verdict: Verdict) -> DeviceError:
    reason = f"{verdict.code}, {verdict.message}" if verdict.message else verdict.code
    return DeviceError(
        f"the switch refused to {update.type.name.lower()} {update.entity} ({reason})",
        code=verdict.code,
        details=verdict.message,
        hint=verdict.hint,
    )


def _look_again(switch: CaisSwitch, wanted: Wanted, found: Difference, done: int, error: CaisError | None) -> Applied:
    """What the switch says is in force: verdicts alone do not know what became of a call that got no answer."""
    in_force = left = None
    try:
        remaining = examine(switch, wanted).difference
    except CaisError as failure:
        error = error or failure
    else:
        names = {item.name for item in remaining.items}
        in_force = tuple(item for item in found.items if item.name not in names)
        left = remaining.items
        if not left and error is None:
            return Applied(found, done, found.updates)  # the stop came after the last of them
    return Applied(found, done, found.updates, error, error is None, in_force, left)
