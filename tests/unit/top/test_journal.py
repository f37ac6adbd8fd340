"""The alarm log."""

from __future__ import annotations

from cais_tools.top.journal import Finding, Journal
from cais_tools.top.severity import Severity

SRAM = Finding("sram", Severity.WARNING, "88%", "overload.md", "88%")
GONE = Finding("gone", Severity.CRITICAL, "refused", "device-gone.md")


def test_a_state_begins_goes_on_and_ends() -> None:
    journal = Journal()
    journal.now("a", [SRAM], 10.0)
    worse = Finding("sram", Severity.WARNING, "91%", "overload.md", "91%")
    journal.now("a", [worse], 11.0)
    (entry,) = journal.entries
    assert (entry.time, entry.ended, entry.finding) == (10.0, None, worse)
    journal.now("a", [], 12.0)
    (entry,) = journal.entries
    assert (entry.ended, entry.times, entry.is_active) == (12.0, 1, False)


def test_what_flickers_is_one_entry_and_what_comes_back_later_another() -> None:
    journal = Journal()
    for time in range(10, 20):
        journal.now("a", [SRAM] if time % 2 == 0 else [], float(time))
    (entry,) = journal.entries
    assert (entry.times, entry.ended) == (5, 19.0)
    journal.now("a", [SRAM], 60.0)
    assert [each.time for each in journal.entries] == [60.0, 10.0]


def test_devices_have_their_own_and_the_worst_comes_first() -> None:
    journal = Journal()
    journal.now("a", [SRAM], 1.0)
    journal.now("b", [GONE], 2.0)
    journal.event("a", SRAM, 3.0)
    assert [(each.device, each.finding.name) for each in journal.active()] == [("b", "gone"), ("a", "sram")]
    assert [each.device for each in journal.active("a")] == ["a"]
    journal.now("b", [], 4.0)
    assert [each.device for each in journal.active()] == ["a"]


def test_it_is_bounded_and_forgets_the_oldest() -> None:
    journal = Journal(most=3)
    journal.now("a", [GONE], 0.0)
    for time in range(1, 6):
        journal.event("a", SRAM, float(time))
    assert [each.time for each in journal.entries] == [5.0, 4.0, 3.0]
    journal.now("a", [GONE], 7.0)
    assert journal.entries[0].time == 7.0
    assert len(journal.entries) == 3


def test_a_copy_stays_as_it_is() -> None:
    journal = Journal()
    journal.now("a", [SRAM], 1.0)
    copy = journal.copy()
    journal.now("a", [], 2.0)
    assert copy.active("a")
    assert not journal.active("a")
