"""`cais sniff --slots`: a line for each aggregate, and the stragglers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cais_tools.cli.output import emit_json, say, table
from cais_tools.sniff.printing import op_name
from cais_tools.sniff.slots import Slots
from cais_tools.sniff.times import clock, rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded
    from cais_tools.sniff.slots import Slot, SlotsReport, Straggler

__all__ = ["SlotsView", "duration"]


def duration(nanoseconds: float | None) -> str:
    """Return `12.3us`, `4.56ms`, `7.8s`; `-` for None."""
    if nanoseconds is None:
        return "-"
    if abs(nanoseconds) < 999_950:
        return f"{nanoseconds / 1e3:.1f}us"
    return f"{nanoseconds / 1e6:.2f}ms" if abs(nanoseconds) < 999_995_000 else f"{nanoseconds / 1e9:.2f}s"


class SlotsView:
    def __init__(self, interfaces: list[CaptureInterface], *, json: bool, utc: bool, live: bool) -> None:
        self._slots = Slots(interfaces, live=live)
        self._json, self._utc = json, utc
        self._headed = False

    def feed(self, decoded: Decoded) -> None:
        self._show(self._slots.feed(decoded))

    def tick(self, now_ns: int) -> None:
        self._show(self._slots.tick(now_ns))

    def finish(self) -> int:
        self._show(self._slots.finish())
        report = self._slots.report()
        if self._json:
            emit_json("cais.slots/1", self._report_document(report))
            return 0
        incomplete = f", {report.incomplete} of them lack contributions" if report.incomplete else ""
        without = report.aggregates - report.with_result
        say(f"{report.aggregates} aggregates: {report.with_result} with a result, {without} without{incomplete}")
        if report.diverged:
            say(f"{report.diverged} diverged: ranks use one number for different operations, layers or chunks")
        if report.bad:
            say(f"{report.bad} packets that the switch drops: unknown operation, or payload_len over the payload")
        if report.stragglers:
            say()
            say(self._stragglers(report.stragglers))
        return 0

    def _name(self, contributor: int) -> str:
        return self._slots.contributors.name(contributor)

    def _show(self, slots: Sequence[Slot]) -> None:
        if self._json:
            for slot in slots:
                emit_json("cais.slot/1", self._document(slot))
            return
        if slots and not self._headed:
            self._headed = True
            say(_line("time", "group", "seq", "operation", "layer", "chunk", "spread", "result", "contributions"))
        for slot in slots:
            say(self._text(slot))

    def _text(self, slot: Slot) -> str:
        parts = [f"{self._name(who)} +{duration(lag)}" for who, lag in slot.contributed.items()]
        if not parts:
            parts.append("no contribution")
        notes = [f"missing {', '.join(map(self._name, slot.missing))}"] if slot.missing else []
        notes += [f"{self._name(who)} sent {times} more" for who, times in slot.duplicates.items()]
        notes += [f"{self._name(who)} seen on more than one interface" for who in slot.two_interfaces]
        if slot.diverged:
            notes.append("DIVERGED: this number has other operations, layers or chunks too")
        if not slot.results:
            notes.append("no result")
        return _line(
            clock(slot.first_ns, utc=self._utc),
            str(slot.group_id),
            str(slot.seq_num),
            op_name(slot.op_type),
            str(slot.layer_id),
            str(slot.chunk_id),
            duration(slot.spread_ns),
            "+" * (slot.result_ns is not None and slot.result_ns >= 0) + duration(slot.result_ns),
            ", ".join(parts) + (f"  ! {'; '.join(notes)}" if notes else ""),
        )

    def _document(self, slot: Slot) -> dict[str, Any]:
        return {
            "ts": rfc3339(slot.first_ns, utc=self._utc),
            "ts_ns": slot.first_ns,
            "group_id": slot.group_id,
            "seq_num": slot.seq_num,
            "op": op_name(slot.op_type),
            "layer_id": slot.layer_id,
            "chunk_id": slot.chunk_id,
            "contributions": [
                {"sender": self._name(who), "after_ns": lag, "duplicates": slot.duplicates.get(who, 0)}
                for who, lag in slot.contributed.items()
            ],
            "missing": [self._name(who) for who in slot.missing],
            "results": slot.results,
            "spread_ns": slot.spread_ns,
            "result_after_ns": slot.result_ns,
            "diverged": slot.diverged,
            "two_interfaces": [self._name(who) for who in slot.two_interfaces],
        }

    def _stragglers(self, stragglers: Sequence[Straggler]) -> str:
        rows = [
            (
                self._name(each.contributor),
                str(each.contributions),
                str(each.missing),
                str(each.duplicates),
                str(each.last),
                duration(each.held_up_ns),
                duration(each.lag_mean_ns),
                duration(each.lag_max_ns),
            )
            for each in stragglers
        ]
        header = ("straggler", "contributions", "missing", "duplicates", "last", "held up", "mean lag", "max lag")
        return table(header, rows)

    def _report_document(self, report: SlotsReport) -> dict[str, Any]:
        stragglers = [
            {**{name: value for name, value in vars(each).items() if name != "contributor"}, "sender": name_of}
            for each in report.stragglers
            for name_of in [self._name(each.contributor)]
        ]
        return {**vars(report), "stragglers": stragglers}


def _line(*cells: str) -> str:
    """One line of a table that is written while it grows: widths are those of what usually comes."""
    time, group, seq, op, layer, chunk, spread, result, rest = cells
    which = f"{time:<21}  {group:>5}  {seq:>10}  {op:<17}  {layer:>5}  {chunk:>5}"
    return f"{which}  {spread:>9}  {result:>10}  {rest}".rstrip()
