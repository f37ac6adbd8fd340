"""What a command says about several switches: one table with one verdict for each, or one JSON document."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cais_tools.cli.errors import hint_of
from cais_tools.cli.output import coloured, emit_json, say, table
from cais_tools.errors import CaisError

if TYPE_CHECKING:
    from cais_tools.cli.devices import Connection
    from cais_tools.config import Device
    from cais_tools.fleet import Outcome, Stop
    from cais_tools.session import SwitchSession

__all__ = ["FleetFailed", "raise_worst", "run_on_all", "say_fleet_json", "say_verdicts", "verdict_word"]

T = TypeVar("T")

_WORDS = {1: "failed", 2: "usage", 3: "unreachable", 4: "not permitted", 5: "refused"}


class FleetFailed(CaisError):
    """Some devices of several failed; the exit code is that of the worst."""

    def __init__(self, outcomes: Sequence[Outcome[Any]]) -> None:
        from cais_tools.fleet import worst

        failed = [outcome for outcome in outcomes if outcome.error is not None]
        names = ", ".join(outcome.device.name for outcome in failed)
        super().__init__(f"{len(failed)} of {len(outcomes)} devices failed: {names}", hint=_hints(failed))
        self.exit_code = worst(outcomes)


def _hints(failed: Sequence[Outcome[Any]]) -> str | None:
    """Each hint once, with the devices that it is for."""
    names: dict[str, list[str]] = {}
    for outcome in failed:
        hint = None if outcome.error is None else hint_of(outcome.error)
        if hint:
            names.setdefault(hint, []).append(outcome.device.name)
    hints = "; ".join(f"{', '.join(devices)}: {hint}" for hint, devices in names.items())
    return hints.replace("?; ", "? ") or None


def run_on_all(
    connection: Connection,
    devices: Sequence[Device],
    work: Callable[[SwitchSession, Device], T],
    *,
    stop: Stop | None = None,
) -> list[Outcome[T]]:
    """`fleet.run_on_each` with the command's options; where CAIS_DEBUG is set, tracebacks go to stderr."""
    from cais_tools.fleet import run_on_each

    outcomes = run_on_each(devices, work, options=connection.options(), stop=stop)
    if os.environ.get("CAIS_DEBUG"):
        for outcome in outcomes:
            if outcome.error is not None:
                traceback.print_exception(outcome.error)
    return outcomes


def verdict_word(outcome: Outcome[Any], fine: str = "ok") -> str:
    """One or two words: `ok`, or what kind of failure the exit code stands for."""
    return fine if outcome.error is None else _WORDS.get(outcome.exit_code, "failed")


def say_verdicts(outcomes: Sequence[Outcome[T]], result: Callable[[T], str]) -> None:
    """Write the table: a line for each device, with what came of it in a few words."""
    rows = [[each.device.name, _coloured_verdict(each), _result(each, result)] for each in outcomes]
    say(table(("device", "verdict", "result"), rows, left=(0, 1, 2)))


def _coloured_verdict(outcome: Outcome[Any]) -> str:
    return coloured(verdict_word(outcome), "green" if outcome.error is None else "red", sys.stdout)


def _result(outcome: Outcome[T], result: Callable[[T], str]) -> str:
    return outcome.error.message if outcome.error is not None else result(cast("T", outcome.value))


def say_fleet_json(
    command: str, outcomes: Sequence[Outcome[T]], document: Callable[[Device, T], Mapping[str, Any]]
) -> None:
    """Write one document for all devices (`cais.fleet/1`): each has what the command says of a single one."""
    from cais_tools.fleet import worst

    devices = [_as_dict(outcome, document) for outcome in outcomes]
    emit_json("cais.fleet/1", {"command": command, "exit_code": worst(outcomes), "devices": devices})


def _as_dict(outcome: Outcome[T], document: Callable[[Device, T], Mapping[str, Any]]) -> dict[str, Any]:
    error = outcome.error
    head = {
        "device": outcome.device.name,
        "address": outcome.device.address,
        "verdict": verdict_word(outcome),
        "exit_code": outcome.exit_code,
        "error": error and error.message,
        "hint": error and hint_of(error),
    }
    return head if error is not None else {**head, **document(outcome.device, cast("T", outcome.value))}


def raise_worst(outcomes: Sequence[Outcome[Any]], stop: Stop | None = None) -> None:
    """End the command as the worst device says; where it was interrupted, as that."""
    if stop is not None and stop.cause is not None:
        raise stop.cause
    if any(outcome.error is not None for outcome in outcomes):
        raise FleetFailed(outcomes)
