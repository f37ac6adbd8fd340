"""The alarm log: what was wrong, from when until when. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cais_tools.top.severity import Severity

__all__ = ["Entry", "Finding", "Journal"]

_MOST = 500
_FLICKER_S = 30.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a device now. `value` is for people: `93%`, `61.5us`, or empty."""

    name: str
    severity: Severity
    message: str
    playbook: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding in the log: since when; until when (None: it still holds); how many times it came back meanwhile."""

    number: int
    device: str
    finding: Finding
    time: float
    ended: float | None = None
    times: int = 1

    @property
    def key(self) -> int:
        return self.number

    @property
    def is_active(self) -> bool:
        return self.ended is None


class Journal:
    """The newest entries. A finding that goes and comes back within half a minute is one entry."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._entries: dict[int, Entry] = {}
        self._states: dict[str, dict[str, int]] = {}  # the newest entry of each device's findings
        self._numbers = 0

    @property
    def entries(self) -> list[Entry]:
        """The newest first."""
        return list(reversed(self._entries.values()))

    def entry(self, number: int) -> Entry | None:
        return self._entries.get(number)

    def active(self, device: str | None = None) -> list[Entry]:
        """What holds now, the most severe first."""
        devices = self._states if device is None else [device]
        numbers = [number for each in devices for number in self._states.get(each, {}).values()]
        found = [entry for number in numbers if (entry := self._entries.get(number)) is not None and entry.is_active]
        return sorted(found, key=lambda each: (-each.finding.severity, each.time))

    def event(self, device: str, finding: Finding, time: float) -> None:
        """Something that happened at this moment, and is over."""
        self._add(Entry(self._numbers + 1, device, finding, time, ended=time))

    def now(self, device: str, findings: Iterable[Finding], time: float) -> None:
        """What is wrong with a device at `time`; whatever else was is over."""
        wrong = {each.name: each for each in findings}
        states = self._states.setdefault(device, {})
        for name, number in list(states.items()):
            entry = self._entries.get(number)
            if entry is None:
                del states[name]
            elif name in wrong:
                self._entries[number] = _continued(entry, wrong[name], time)
                if self._entries[number].is_active:
                    del wrong[name]
            elif entry.is_active:
                self._entries[number] = replace(entry, ended=time)
        for name, finding in wrong.items():
            states[name] = self._add(Entry(self._numbers + 1, device, finding, time))

    def _add(self, entry: Entry) -> int:
        self._numbers = entry.number
        self._entries[entry.number] = entry
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]
        return entry.number

    def copy(self) -> Journal:
        other = Journal(self._most)
        other._entries, other._numbers = self._entries.copy(), self._numbers
        other._states = {device: states.copy() for device, states in self._states.items()}
        return other


def _continued(entry: Entry, finding: Finding, time: float) -> Entry:
    """The entry with the finding as it is now; as it was, where it ended too long ago."""
    if entry.ended is None:
        return entry if finding == entry.finding else replace(entry, finding=finding)
    if not 0 <= time - entry.ended < _FLICKER_S:
        return entry
    return replace(entry, finding=finding, ended=None, times=entry.times + 1)
