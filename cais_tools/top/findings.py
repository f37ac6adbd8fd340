"""What is wrong with a switch: the library's alarms, and what only shows over time. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cais_tools.session.cais import Alarm
from cais_tools.session.cais import Severity as AlarmSeverity
from cais_tools.session.observer import Primary
from cais_tools.top.format import latency, percent
from cais_tools.top.journal import Finding
from cais_tools.top.observation import Failure, Program
from cais_tools.top.playbooks import EXPLANATIONS
from cais_tools.top.severity import Severity

__all__ = ["HOTTEST_C", "alarm_findings", "gone", "hot", "other_primary", "program_changed"]

HOTTEST_C: Final = 85.0


def _finding(name: str, severity: Severity, message: str, value: str = "") -> Finding:
    return Finding(name, severity, message, EXPLANATIONS[name].playbook, value)


def alarm_findings(alarms: Iterable[Alarm]) -> list[Finding]:
    return [
        Finding(
            alarm.name,
            Severity.CRITICAL if alarm.severity is AlarmSeverity.CRITICAL else Severity.WARNING,
            alarm.message,
            alarm.playbook,
            latency(alarm.value) if alarm.name == "overload" else percent(alarm.value),
        )
        for alarm in alarms
    ]


def hot(celsius: float | None) -> list[Finding]:
    if celsius is None or celsius <= HOTTEST_C:
        return []
    message = f"the chip has {celsius:.0f} degrees Celsius, more than {HOTTEST_C:.0f}"
    return [_finding("temperature", Severity.CRITICAL, message, f"{celsius:.0f}C")]


def gone(failure: Failure) -> Finding:
    return _finding("gone", Severity.CRITICAL, failure.message)


def other_primary(before: Primary, after: Primary) -> Finding | None:
    """Somebody is primary who was not before."""
    if not after.is_taken or (before.is_taken and before.election_id == after.election_id):
        return None
    who = "another client is primary now" if before.is_taken else "a client has become primary"
    number = "" if after.election_id is None else f" (election id {after.election_id})"
    return _finding("primary", Severity.WARNING, f"{who}{number}")


def program_changed(before: Program | None, after: Program | None) -> Finding:
    if before is None or after is None or before.name == after.name:
        name = after.name if after is not None else ""
        return _finding("program", Severity.WARNING, f"{name or 'the program'} was loaded anew, counters began again")
    return _finding("program", Severity.WARNING, f"runs {after.name or 'unnamed'} now, not {before.name or 'unnamed'}")
