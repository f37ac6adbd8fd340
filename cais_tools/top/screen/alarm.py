"""The screen of an alarm."""

from __future__ import annotations

import textwrap
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from cais_tools.top.documents import row_documents
from cais_tools.top.format import MISSING, clock
from cais_tools.top.journal import Entry
from cais_tools.top.playbooks import EXPLANATIONS, read_playbook
from cais_tools.top.screen.detail import Detail, fact_rows
from cais_tools.top.screen.styled import Lines, Part, Row
from cais_tools.top.tables import ALARMS, severity_tone

__all__ = ["AlarmScreen"]


class AlarmScreen(Detail):
    """An alarm: what it means, and the playbook."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.device)
        self.entry = entry

    def compose(self) -> ComposeResult:
        yield Lines(id="mode")
        yield Lines(id="facts")
        with VerticalScroll(id="playbook"):
            yield Markdown(_playbook(self.entry), open_links=False)
        yield Lines(id="keys")

    def on_mount(self) -> None:
        self.query_one("#playbook").focus()
        super().on_mount()

    def show_detail(self, width: int) -> None:
        self.entry = self.model.journal.entry(self.entry.number) or self.entry
        entry, finding = self.entry, self.entry.finding
        explanation = EXPLANATIONS.get(finding.name)
        lasted = "still holds" if entry.ended is None else f"until {clock(entry.ended)}"
        pairs = [
            ("alarm", finding.name, "accent"),
            ("of", entry.device, "accent"),
            ("severity", finding.severity.word, severity_tone(finding.severity)),
            ("since", clock(entry.time), ""),
            ("", lasted, "warn" if entry.is_active else "good"),
            ("value", finding.value or MISSING, ""),
            ("playbook", f"playbooks/{finding.playbook}", ""),
        ]
        rows = [*fact_rows(pairs, width), *_wrapped(finding.message, width, "warn")]
        if explanation is not None:
            rows += _wrapped(explanation.meaning, width, "")
            rows += _wrapped(f"Raised by: {explanation.threshold}.", width, "dim")
        self.lines("facts").show(rows)

    def copied(self) -> str:
        return self.lines("facts").text

    def exported(self) -> list[dict[str, Any]]:
        return row_documents(ALARMS, [self.entry], None, self.model.time)


def _wrapped(text: str, width: int, tone: str) -> list[Row]:
    return [(Part(line, tone),) for line in textwrap.wrap(text, max(10, width - 1))]


def _playbook(entry: Entry) -> str:
    try:
        return read_playbook(entry.finding.playbook)
    except OSError as error:
        return f"The playbook cannot be read: `{error}`"
