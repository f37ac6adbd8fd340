"""`cais top` without a screen: rounds of observations, one after another."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from cais_tools.session.cais import Thresholds
from cais_tools.top.live import Watcher, close_all, take_round
from cais_tools.top.model import Model
from cais_tools.top.observation import Observation
from cais_tools.top.recording import Recorder, Recording

__all__ = ["exit_code", "live_rounds", "replayed_rounds"]

_WARM_UP = 120
"""Rounds before the first one that is shown: alarms began somewhere."""


def live_rounds(
    watchers: Sequence[Watcher],
    interval: float,
    count: int,
    patience: float,
    recorder: Recorder | None = None,
    thresholds: Thresholds | None = None,
) -> Iterator[Model]:
    """The model after each of `count` rounds (0: without end), the first of which has an interval behind it already."""
    model = Model([watcher.source for watcher in watchers], thresholds)
    for watcher in watchers:
        watcher.look(closely=True, in_focus=True)
    try:
        _take(model, take_round(watchers, patience), recorder)
        due, number = time.monotonic(), 0
        while count == 0 or number < count:
            # A switch that is not there has no rates to wait for.
            if count != 1 or any(device.is_up for device in model.devices.values()):
                due = max(due + interval, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
            _take(model, take_round(watchers, patience), recorder)
            number += 1
            yield model
    finally:
        close_all(watchers)


def _take(model: Model, round_: Sequence[Observation], recorder: Recorder | None) -> None:
    for seen in round_:
        if recorder is not None:
            recorder.take(seen)
        model.take(seen)


def replayed_rounds(
    recording: Recording, start: float | None, count: int, thresholds: Thresholds | None = None
) -> Iterator[Model]:
    """The model after each round of a recording: from `start` on (seconds from its beginning; negative: from its end),
    or without it the last round alone; `count` 0: all that follow.
    """
    model = Model(recording.sources, thresholds)
    ends = _round_ends(recording)
    if start is None:
        first = max(0, len(ends) - max(1, count)) if count else 0
    else:
        wanted = (recording.start if start >= 0 else recording.end) + start
        first = next((place for place, end in enumerate(ends) if recording.time(end - 1) >= wanted), len(ends) - 1)
    last = len(ends) if count == 0 else min(len(ends), first + count)
    begin = max(0, first - _WARM_UP)
    place = ends[begin - 1] if begin else 0
    for number in range(begin, last):
        while place < ends[number]:
            model.take(recording[place])
            place += 1
        if number >= first:
            yield model


def _round_ends(recording: Recording) -> list[int]:
    """Rounds are half an interval apart at least."""
    gap = recording.interval / 2
    ends = [place for place in range(1, len(recording)) if recording.time(place) - recording.time(place - 1) > gap]
    return [*ends, len(recording)]


def exit_code(model: Model, *, check: bool) -> int:
    """Without `check` that of the worst failure. With it as for Nagios: 0 fine, 1 warning, 2 critical, and 3 where a
    switch could not be read.
    """
    failures = [device.failure.exit_code for device in model.devices.values() if device.failure is not None]
    if not check:
        return max(failures, default=0)
    return 3 if failures else int(model.severity)
