"""What `cais rules` says: findings, differences, and what is in force afterwards; as text, or as one document."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cais_tools.cli.fleet import say_verdicts, verdict_word
from cais_tools.cli.output import coloured, emit_json, note, say
from cais_tools.cli.rules_text import (
    change_as_dict,
    difference_lines,
    finding_as_dict,
    item_line,
    summary,
    summary_as_dict,
)
from cais_tools.errors import CaisError
from cais_tools.fleet import Outcome, worst

if TYPE_CHECKING:
    from cais_tools.cli.rules_wanted import Source
    from cais_tools.session.cais.applying import Applied, Examined
    from cais_tools.session.cais.difference import Difference, Item

__all__ = ["Report"]

_COLOURS = {"error": "red", "warning": "yellow", "note": "green"}
_MOST_LINES = 20


class Report:
    """Collects for JSON, writes at once for people."""

    def __init__(self, command: str, as_json: bool) -> None:
        self._command, self.as_json = command, as_json
        self._findings: list[dict[str, Any]] = []
        self._differences: dict[str, Difference] = {}

    def flush(self) -> None:
        sys.stdout.flush()

    def findings(self, source: Source, outcomes: Sequence[Outcome[Examined]]) -> None:
        found = source.of({each.device.name: each.value for each in outcomes if each.value is not None})
        self._findings = [finding_as_dict(finding, names) for finding, names in found.items()]
        if self.as_json:
            return
        for finding, names in found.items():
            word = finding.severity.value
            about = f"{', '.join(names)}: " if 0 < len(names) < len(outcomes) else ""
            note(f"{coloured(f'{word}:', _COLOURS[word], sys.stderr)} {about}{finding}")
            if finding.hint:
                note(f"  {finding.hint}")

    def differences(self, outcomes: Sequence[Outcome[Examined]]) -> None:
        """Each difference once, under the devices that have it."""
        self._differences = {each.device.name: each.value.difference for each in outcomes if each.value is not None}
        if self.as_json:
            return
        by_text: dict[tuple[str, ...], list[str]] = {}
        for name, difference in self._differences.items():
            by_text.setdefault(tuple(difference_lines(difference)), []).append(name)
        for lines, names in by_text.items():
            if not lines:
                continue
            if len(outcomes) > 1:
                say(f"{', '.join(names)}:")
            for line in lines:
                say(line)
            say(summary(self._differences[names[0]]))

    def finish(self, outcomes: Sequence[Outcome[Examined]], verdict: str, code: int) -> None:
        """End without a change. `verdict` is for JSON, on devices where there is something to do."""
        if self.as_json:
            more = {name: {"verdict": verdict} for name, found in self._differences.items() if found}
            wrong = [each.device.name for each in outcomes if each.value is not None and each.value.errors]
            self._emit(outcomes, {**more, **{name: {"verdict": "wrong file"} for name in wrong}}, code)
        elif len(outcomes) > 1:
            say_verdicts(outcomes, _in_short)
        elif outcomes and outcomes[0].value is not None:
            examined = outcomes[0].value
            if not examined.difference and not examined.errors:
                say(f"nothing to do: {outcomes[0].device.name} has {_contents(examined)} as wanted")

    def applied(
        self, examined: Sequence[Outcome[Examined]], applied: Sequence[Outcome[Applied]], code: int | None
    ) -> list[Outcome[Any]]:
        """Say what came of it on each device, with what is in force where it ended early; what did is an error now."""
        by_name = {outcome.device.name: outcome for outcome in applied}
        settled = [_settled(by_name.get(each.device.name, each)) for each in examined]
        if self.as_json:
            more = {name: _result_as_dict(outcome.value) for name, outcome in by_name.items()}
            self._emit(settled, more, worst(settled) if code is None else code)
            return settled
        early = [each for each in applied if each.value is not None and not each.value.complete]
        for outcome in early:
            assert outcome.value is not None
            _say_early(outcome.device.name, outcome.value)
        if len(examined) > 1:
            say_verdicts(settled, _applied_in_short)
        elif not early:
            for outcome in applied:
                if outcome.value is not None:
                    say(f"{outcome.device.name}: {_done(outcome.value.wanted)}")
        return settled

    def _emit(self, outcomes: Sequence[Outcome[Any]], more: Mapping[str, Mapping[str, Any]], code: int) -> None:
        devices = [self._device(outcome, more.get(outcome.device.name, {})) for outcome in outcomes]
        document = {"command": self._command, "exit_code": code, "findings": self._findings, "devices": devices}
        emit_json("cais.rules-changes/1", document)

    def _device(self, outcome: Outcome[Any], more: Mapping[str, Any]) -> dict[str, Any]:
        found = self._differences.get(outcome.device.name)
        return {
            "device": outcome.device.name,
            "address": outcome.device.address,
            "verdict": verdict_word(outcome, "unchanged"),
            "error": outcome.error and outcome.error.message,
            "hint": outcome.error and outcome.error.hint,
            "summary": None if found is None else summary_as_dict(found),
            "changes": None if found is None else [change_as_dict(item) for item in found.items],
            **more,
        }


def _done(difference: Difference) -> str:
    counts = summary_as_dict(difference)
    return f"{counts['add']} added, {counts['change']} changed, {counts['remove']} removed"


def _in_short(examined: Examined) -> str:
    if examined.errors:
        return "the file is wrong for it"
    return summary(examined.difference) if examined.difference else f"as wanted: {_contents(examined)}"


def _contents(examined: Examined) -> str:
    groups, rules = len(examined.state.groups), len(examined.state.rules)
    return f"{groups} group{'' if groups == 1 else 's'} and {rules} rule{'' if rules == 1 else 's'}"


def _applied_in_short(value: Applied | Examined) -> str:
    from cais_tools.session.cais.applying import Applied

    return _done(value.wanted) if isinstance(value, Applied) else _in_short(value)


# -- what ended early


def _settled(outcome: Outcome[Any]) -> Outcome[Any]:
    """An application that ended early is an error of its device."""
    from cais_tools.session.cais.applying import Applied

    value = outcome.value
    if not isinstance(value, Applied) or value.complete:
        return outcome
    return Outcome(outcome.device, value, _failure(outcome.device.name, value))


def _failure(name: str, applied: Applied) -> CaisError:
    why = applied.error.message if applied.error is not None else "interrupted"
    hint = "the same command again does what is left"
    if applied.error is not None:
        hint = f"{applied.error.hint}; then {hint}" if applied.error.hint else f"mend it; then {hint}"
    failure = CaisError(f"{name}: {why}; {_how_far(applied)}", hint=hint)
    failure.exit_code = applied.error.exit_code if applied.error is not None else 1
    return failure


def _how_far(applied: Applied) -> str:
    if applied.in_force is None:
        return (
            f"{applied.done} of {applied.updates} updates were confirmed, and it does not say any more what is in force"
        )
    return f"{len(applied.in_force)} of {len(applied.wanted.items)} changes are in force"


def _say_early(name: str, applied: Applied) -> None:
    if applied.interrupted or applied.in_force is None:
        failure = _failure(name, applied)
        note(failure.message)
        note(f"  {failure.hint}")
    if applied.in_force is None or applied.left is None:
        return
    for title, items in (("in force", applied.in_force), ("not in force", applied.left)):
        say(f"{name}: {title}: {len(items) or 'nothing'}")
        for line in _some_lines(items):
            say(f"  {line}")


def _some_lines(items: Sequence[Item]) -> list[str]:
    lines = [item_line(item) for item in items[:_MOST_LINES]]
    if len(items) > _MOST_LINES:
        lines.append(f"and {len(items) - _MOST_LINES} more (all of them: cais rules diff, or --json)")
    return lines


def _result_as_dict(applied: Applied | None) -> dict[str, Any]:
    if applied is None:
        return {}
    verdict = "applied" if applied.complete else "interrupted" if applied.interrupted else "failed"
    result: dict[str, Any] = {"verdict": verdict, "updates": applied.updates, "updates_confirmed": applied.done}
    if not applied.complete:
        result["in_force"] = _items(applied.in_force)
        result["not_in_force"] = _items(applied.left)
    return result


def _items(items: Sequence[Item] | None) -> list[dict[str, Any]] | None:
    return None if items is None else [change_as_dict(item) for item in items]
