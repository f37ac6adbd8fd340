"""Examine on all devices, show, ask once, change on all devices, say what came of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cais_tools.cli.errors import INTERRUPTED
from cais_tools.cli.fleet import FleetFailed, raise_worst, run_on_all
from cais_tools.cli.output import note
from cais_tools.cli.rules_report import Report
from cais_tools.cli.rules_wanted import Source, read_source
from cais_tools.errors import CaisError, CheckFailed, UsageError
from cais_tools.fleet import Outcome, Stop
from cais_tools.session.cais.applying import Applied, Examined, apply_wanted, examine

if TYPE_CHECKING:
    from cais_tools.cli.devices import Connection
    from cais_tools.config import Device
    from cais_tools.session import SwitchSession

__all__ = ["apply_file", "clear", "show_difference"]


def apply_file(
    connection: Connection, file: Path | None, *, dry_run: bool, keep_others: bool, yes: bool, as_json: bool
) -> None:
    devices = connection.devices()
    source = read_source(connection.config, file, devices)
    report = Report("rules apply", as_json)
    _change(connection, devices, source, report, dry_run=dry_run, keep_others=keep_others, yes=yes)


def clear(connection: Connection, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    devices = connection.devices()
    report = Report("rules clear", as_json)
    _change(connection, devices, Source.empty(devices), report, dry_run=dry_run, keep_others=False, yes=yes)


def show_difference(connection: Connection, file: Path | None, *, keep_others: bool, as_json: bool) -> None:
    devices = connection.devices()
    source = read_source(connection.config, file, devices)
    report = Report("rules diff", as_json)
    outcomes = _examine(connection, devices, source, report, keep_others=keep_others)
    error = _error_of(source, outcomes)
    differs = any(outcome.value is not None and outcome.value.difference for outcome in outcomes)
    code = CheckFailed.exit_code if differs else 0
    report.finish(outcomes, "differs", error.exit_code if error is not None else code)
    if error is not None:
        raise error
    if differs and not as_json:
        note(f"to make them equal: cais rules apply {source.file}")
    raise typer.Exit(code)


def _examine(
    connection: Connection, devices: Sequence[Device], source: Source, report: Report, *, keep_others: bool
) -> list[Outcome[Examined]]:
    """Read, check and compare on every device, and show what came of it."""
    from cais_tools.session.cais import CaisSwitch

    if source.errors:  # a file that cannot be read as a whole is told so before anything is connected to
        report.findings(source, [])
        failure = source.failure(source.errors)
        report.finish([], "", failure.exit_code)
        raise failure

    def work(session: SwitchSession, device: Device) -> Examined:
        switch = CaisSwitch(session)
        found = examine(switch, source.wanted[device.name], source.facts[device.name], keep_others=keep_others)
        if found.difference and connection.changes:
            session.require_primary("change its rules")
        return found

    try:
        outcomes = run_on_all(connection, devices, work)
    except KeyboardInterrupt:
        note("nothing was changed")
        raise
    report.findings(source, outcomes)
    report.differences(outcomes)
    return outcomes


def _change(
    connection: Connection,
    devices: Sequence[Device],
    source: Source,
    report: Report,
    *,
    dry_run: bool,
    keep_others: bool,
    yes: bool,
) -> None:
    if dry_run:
        connection = replace(connection, changes=False)
    outcomes = _examine(connection, devices, source, report, keep_others=keep_others)
    error = _error_of(source, outcomes)
    invalid = any(outcome.value is not None and outcome.value.errors for outcome in outcomes)
    todo = {each.device.name: each.value for each in outcomes if each.value is not None and each.value.difference}
    if dry_run or invalid or not todo:
        report.finish(outcomes, "to be changed", error.exit_code if error is not None else 0)
        if error is not None:
            raise error
        return
    if not yes:
        _ask(list(todo), report)
    stop = Stop() if report.as_json else _Stop()
    applied = _apply(connection, [each for each in devices if each.name in todo], todo, stop)
    settled = report.applied(outcomes, applied, INTERRUPTED if stop.cause is not None else None)
    if stop.cause is None and len(settled) == 1 and settled[0].error is not None:
        raise settled[0].error
    raise_worst(settled, stop)


class _Stop(Stop):
    def request(self, cause: BaseException) -> None:
        super().request(cause)
        note("stopping when the switch has answered; again to leave at once")


def _apply(
    connection: Connection, devices: Sequence[Device], todo: Mapping[str, Examined], stop: Stop
) -> list[Outcome[Applied]]:
    from cais_tools.cli.progress import progress_bar
    from cais_tools.session.cais import CaisSwitch

    done = dict.fromkeys(todo, 0)
    total = sum(examined.difference.updates for examined in todo.values())
    with progress_bar("applying") as show:

        def work(session: SwitchSession, device: Device) -> Applied:
            def progress(count: int, _: int) -> None:
                done[device.name] = count
                show(sum(done.values()), total)

            examined = todo[device.name]
            return apply_wanted(
                CaisSwitch(session),
                examined.wanted,
                expected=examined.difference,
                stop=lambda: stop.requested,
                progress=progress,
            )

        return run_on_all(connection, devices, work, stop=stop)


def _ask(names: Sequence[str], report: Report) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "nothing was changed: there is no terminal to ask whether to go on",
            hint="give --yes, or --dry-run to look only",
        )
    report.flush()
    try:
        sys.stderr.write(f"Change {', '.join(names)}? [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        note("\nnothing was changed")
        raise
    if answer.strip().lower() not in ("y", "yes"):
        note("nothing was changed")
        raise typer.Exit(CheckFailed.exit_code)


def _error_of(source: Source, outcomes: Sequence[Outcome[Examined]]) -> CaisError | None:
    """What the command ends with if nothing is changed; an error in the file before those of devices."""
    errors = {str(error): error for each in outcomes if each.value is not None for error in each.value.errors}
    if errors:
        return source.failure(list(errors.values()))
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if not failed:
        return None
    return failed[0] if len(outcomes) == 1 else FleetFailed(outcomes)
