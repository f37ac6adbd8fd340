"""The screen of a port."""

from __future__ import annotations

from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from cais_tools.session.cais import BAD_FRAMES
from cais_tools.top.documents import row_documents
from cais_tools.top.format import count, latency, percent, rate, size
from cais_tools.top.rows import PortRow, port_rows
from cais_tools.top.screen.detail import Detail, curve_rows, fact_rows
from cais_tools.top.screen.styled import Lines, Part, Row
from cais_tools.top.tables import PORTS

__all__ = ["PortScreen"]

_WIDE: Final = 12
_MOST_RANKS: Final = 8


class PortScreen(Detail):
    """A port: who is behind it, what goes through it, and how long that waits."""

    def __init__(self, device: str, port: int) -> None:
        super().__init__(device)
        self.port = port

    def compose(self) -> ComposeResult:
        yield Lines(id="mode")
        with VerticalScroll():
            yield Lines(id="facts")
            yield Lines(id="curve")
            yield Lines(id="delays")
        yield Lines(id="keys")

    def _row(self) -> PortRow | None:
        return next((row for row in port_rows(self.device) if row.port == self.port), None)

    def show_detail(self, width: int) -> None:
        row = self._row()
        if row is None:
            self.lines("facts").show([(Part(f"port {self.port} of {self.device_name} is not known", "warn"),)])
            return
        self.lines("facts").show([*fact_rows(self._pairs(row), width), *self.gone()])
        values = self.device.curves.ports
        history = values[self.port].last(width) if self.port in values else ()
        height = 8 if self.has_class("-tall") else 3
        self.lines("curve").show(curve_rows("bytes a second, in and out", history, width, size, height))
        self.lines("delays").show(self._delays(width))

    def _pairs(self, row: PortRow) -> list[tuple[str, str, str]]:
        snapshot = self.device.snapshot
        ranks = [
            f"g{group.group_id}:r{member.rank}"
            for group in (() if snapshot is None else snapshot.groups.values())
            for member in group.members
            if member.port == self.port
        ]
        link = self.device.source.link_gbps
        bad = dict.fromkeys(BAD_FRAMES, 0) if snapshot is None else snapshot.bad_frames
        pairs = [
            ("port", f"{row.port} {row.name}".strip(), "accent"),
            ("of", self.device_name, "accent"),
            (
                "behind it",
                " ".join(ranks[:_MOST_RANKS])
                + (f" and {len(ranks) - _MOST_RANKS} more" if len(ranks) > _MOST_RANKS else "")
                or "nobody",
                "",
            ),
            ("packets in", f"{count(row.packets_in, _WIDE)} ({rate(row.packets_in_per_s)}/s)", ""),
            ("bytes in", f"{size(row.bytes_in)} ({size(row.bytes_in_per_s)}/s)", ""),
            ("packets out", f"{count(row.packets_out, _WIDE)} ({rate(row.packets_out_per_s)}/s)", ""),
            ("bytes out", f"{size(row.bytes_out)} ({size(row.bytes_out_per_s)}/s)", ""),
            ("link", f"{link:g} Gb/s" if link else "speed not in cais.toml (link_gbps)", "" if link else "dim"),
            ("utilisation", percent(row.utilisation), ""),
            ("queue delay", f"{latency(row.delay_us)}, p99 {latency(row.p99_us)}", ""),
        ]
        # Of frames that are cut short nobody knows by which port they came in.
        return [*pairs, *((f"bad frames of the switch, {name}", count(bad.get(name)), "") for name in BAD_FRAMES)]

    def _delays(self, width: int) -> list[Row]:
        rates = self.device.rates
        delay = None if rates is None else rates.delays.get(self.port)
        if delay is None or not delay.total:
            return [(Part("nothing left by this port in the interval", "dim"),)]
        most = max(delay.counts)
        last = max(bucket for bucket, number in enumerate(delay.counts) if number)
        room = max(1, width - 32)
        rows: list[Row] = [(Part("queue delay of the interval, packets", "dim"),)]
        for bucket in range(last + 1):
            number = delay.counts[bucket]
            low = "0us" if bucket == 0 else latency(float(1 << (bucket - 1)))
            high = "up" if bucket == len(delay.counts) - 1 else latency(float(1 << bucket))
            filled = max(1, round(number / most * room)) if number else 0
            rows.append((Part(f"{low:>8} to {high:>8}{count(number):>9}  "), Part("█" * filled, "accent")))
        return rows

    def copied(self) -> str:
        return self.lines("facts").text

    def exported(self) -> list[dict[str, Any]]:
        row = self._row()
        return [] if row is None else row_documents(PORTS, [row], self.device_name, self.model.time)
