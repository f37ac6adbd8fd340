"""`cais sniff --stats`: packets, bytes and rates by group, operation and port; losses in the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cais_tools.cli.output import emit_json, say, table
from cais_tools.sniff.stats import Stats

if TYPE_CHECKING:
    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded
    from cais_tools.sniff.stats import Line, StatsReport

__all__ = ["StatsView"]

_COUNTS = ("contributions", "results", "bytes", "packets/s", "MB/s")


class StatsView:
    def __init__(self, interfaces: list[CaptureInterface], *, json: bool, utc: bool, live: bool) -> None:
        del utc, live
        self._stats = Stats(interfaces)
        self._json = json

    def feed(self, decoded: Decoded) -> None:
        self._stats.feed(decoded)

    def tick(self, now_ns: int) -> None:
        pass

    def finish(self) -> int:
        report = self._stats.report()
        if self._json:
            emit_json("cais.sniff-stats/1", _document(report))
            return 0
        bad = f", {report.malformed} too short for a header" if report.malformed else ""
        bad += f", {report.truncated} cut off by the capture" if report.truncated else ""
        say(f"{report.total.packets} packets, {report.total.bytes} bytes in {report.seconds:.6f} s{bad}")
        if report.total.packets:
            say()
            _say_tables(report)
        return 0


def _say_tables(report: StatsReport) -> None:
    rows = [[str(each.group_id), each.op, *_cells(report, each.line)] for each in report.groups]
    say(table(("group", "operation", *_COUNTS), rows, left=(1,)))
    say()
    rows = [
        [each.interface, "-" if each.port is None else str(each.port), each.sender, *_cells(report, each.line)]
        for each in report.ports
    ]
    say(table(("interface", "port", "sender", *_COUNTS), rows, left=(0, 2)))
    say()
    rows = [
        [str(each.group_id), each.sender, each.interface, *map(str, (each.packets, each.repeated, each.lost))]
        for each in report.streams
    ]
    say(table(("group", "sender", "interface", "packets", "repeated", "lost"), rows, left=(1, 2)))


def _cells(report: StatsReport, line: Line) -> list[str]:
    packets, size = report.per_second(line.packets), report.per_second(line.bytes)
    return [
        str(line.contributions),
        str(line.results),
        str(line.bytes),
        "-" if packets is None else f"{packets:.0f}",
        "-" if size is None else f"{size / 1e6:.2f}",
    ]


def _document(report: StatsReport) -> dict[str, Any]:
    return {
        "seconds": report.seconds,
        "malformed": report.malformed,
        "truncated": report.truncated,
        **_counts(report, report.total),
        "groups": [{"group_id": each.group_id, "op": each.op, **_counts(report, each.line)} for each in report.groups],
        "ports": [
            {"interface": each.interface, "port": each.port, "sender": each.sender, **_counts(report, each.line)}
            for each in report.ports
        ],
        "streams": [vars(each) for each in report.streams],
    }


def _counts(report: StatsReport, line: Line) -> dict[str, Any]:
    return {
        **vars(line),
        "packets_per_s": report.per_second(line.packets),
        "bytes_per_s": report.per_second(line.bytes),
    }
