"""The report of the smoke test as text."""

from __future__ import annotations

import math
import sys

from cais_tools.cli.output import coloured, say, table
from cais_tools.smoke.report import Comparison, OperationRow, Report

__all__ = ["say_report"]

_HEADER = (
    "operation",
    "steps",
    "packets",
    "retrans",
    "duplicates",
    "mismatches",
    "repeated",
    "undetected",
    "p50 ms",
    "p99 ms",
    "MB/s",
)


def say_report(report: Report) -> None:
    """Print the table, what is behind a failure, and the verdict."""
    if report.rows:
        say(table(_HEADER, [_row(row) for row in report.rows.values()]))
    if report.against:
        say()
        say(_comparison(report))
    if report.faults:
        say("faults: " + ", ".join(f"{count} {kind}" for kind, count in report.faults.items()))
    mismatch = report.mismatch
    if mismatch is not None:
        say(f"mismatch: {mismatch}")
        say(f"likely cause: {mismatch.cause}")
        say(f"frames: {mismatch.frame or 'not saved'}")
    verdict, separator, rest = report.verdict().partition(":")
    say(coloured(verdict, "green" if report.passed else "red", sys.stdout) + separator + rest)


def _row(row: OperationRow) -> list[str]:
    counts = (row.steps, row.packets, row.retransmissions, row.duplicates, row.mismatches, row.repeated, row.undetected)
    return [row.operation, *map(str, counts), _ms(row.p50), _ms(row.p99), _number(row.goodput / 1e6)]


def _comparison(report: Report) -> str:
    header = ("operation", "steps", "differences", "CAIS p50 ms", "gloo p50 ms", "CAIS p99 ms", "gloo p99 ms")
    return table(header, [_side_by_side(report.rows[name], other) for name, other in report.against.items()])


def _side_by_side(row: OperationRow, other: Comparison) -> list[str]:
    times = (row.p50, other.p50, row.p99, other.p99)
    return [row.operation, str(other.steps), str(other.differences), *map(_ms, times)]


def _ms(seconds: float) -> str:
    return _number(seconds * 1e3)


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
