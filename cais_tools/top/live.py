"""Switches, looked at again and again, each in a thread of its own: one that hangs holds up nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from cais_tools.config import Device
from cais_tools.errors import CaisError, DeadlineExceeded
from cais_tools.fleet import options_for
from cais_tools.fleet.sampling import port_labels
from cais_tools.session import SessionOptions, SwitchRestarted, connect
from cais_tools.session.cais import Sampler
from cais_tools.top.facts import Facts
from cais_tools.top.feed import Sink
from cais_tools.top.observation import Failure, Observation, Program, Source
from cais_tools.top.recording import Recorder
from cais_tools.top.steering import Steering

__all__ = ["Live", "Watcher", "close_all", "take_round"]

_LATE_S: Final = 2.0
_JOIN_S: Final = 1.0


class Watcher:
    """One switch. `begin` looks at it in another thread, which hands the observation to `done`. `steering` has what
    the controller says of its groups.
    """

    def __init__(self, device: Device, options: SessionOptions, steering: Steering | None = None) -> None:
        self._steering = steering
        self.source = Source(device.name, device.address, port_labels(device), device.link_gbps)
        self.done: Callable[[Observation], None] = lambda _: None
        self._sampler = Sampler(lambda: connect(device.address, options_for(device, options)))
        self._facts = Facts()
        self._thread: threading.Thread | None = None
        self._began = self._told = 0.0
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def look(self, *, closely: bool, in_focus: bool) -> None:
        """How often what costs more is asked for."""
        self._facts.closely, self._facts.in_focus = closely, in_focus

    def begin(self) -> None:
        """Look at the switch, unless that is under way still; then it counts as gone after a while."""
        now = time.monotonic()
        if self.is_busy:
            if now - self._began > _LATE_S and now - self._told >= _LATE_S:
                self._told = now
                self._give(self.late())
            return
        self._began = now
        # A daemon: a switch that never answers must not keep the process from ending.
        self._thread = threading.Thread(target=self._look, name=f"watch {self.source.name}", daemon=True)
        self._thread.start()

    def late(self) -> Observation:
        """What there is to say of a switch that has not answered yet."""
        seconds = time.monotonic() - self._began
        error = DeadlineExceeded(f"{self.source.name} has not answered for {seconds:.1f} s")
        return Observation(self.source.name, time.time(), failure=Failure.of(error), seconds=seconds)

    def _give(self, seen: Observation) -> None:
        if not self._is_closed:
            self.done(seen)

    def _look(self) -> None:
        try:
            seen = self._observe()
        except CaisError as error:
            seen = self._failed(error)
        except Exception as error:
            self._sampler.close()
            seen = self._failed(CaisError(f"unexpected {type(error).__name__}: {error}"))
        self._give(seen)

    def _failed(self, error: CaisError) -> Observation:
        self._facts.forget()
        seconds = time.monotonic() - self._began
        return Observation(self.source.name, time.time(), failure=Failure.of(error), seconds=seconds)

    def _observe(self) -> Observation:
        try:
            snapshot = self._sampler.snapshot()
        except SwitchRestarted:
            snapshot = self._sampler.snapshot()  # it is there, with another load; or without any, which is told then
        now = time.time()
        switch = self._sampler.switch()
        session = switch.session
        facts = self._facts.read(switch, snapshot)
        return Observation(
            device=self.source.name,
            time=now,
            snapshot=snapshot,
            program=Program(session.index.message.pkg_info.name, session.cookie),
            primary=facts.primary,
            rules=facts.rules,
            open_slots=facts.open_slots,
            slots_hidden=facts.slots_hidden,
            temperature_c=facts.temperature_c,
            steered=self._steering.of(self.source) if self._steering is not None else None,
            seconds=time.monotonic() - self._began,
        )

    def close(self) -> None:
        """End the session; a look that is under way fails, and nobody hears of it."""
        self._is_closed = True
        self._facts.close()
        self._sampler.close()

    def join(self, end: float) -> None:
        if self._thread is not None:
            self._thread.join(max(0.0, end - time.monotonic()))


def close_all(watchers: Sequence[Watcher]) -> None:
    for watcher in watchers:
        watcher.close()
    end = time.monotonic() + _JOIN_S
    for watcher in watchers:
        watcher.join(end)


def take_round(watchers: Sequence[Watcher], patience: float) -> list[Observation]:
    """One observation of each, after `patience` seconds at the most; in the order of the watchers."""
    seen: dict[str, Observation] = {}
    for watcher in watchers:
        watcher.done = lambda observation: seen.update({observation.device: observation})
        watcher.begin()
    end = time.monotonic() + patience
    for watcher in watchers:
        watcher.join(end)
    return [seen[name] if (name := each.source.name) in seen else each.late() for each in watchers]


class Live:
    """A feed from switches."""

    def __init__(self, watchers: Sequence[Watcher], interval: float, recorder: Recorder | None = None) -> None:
        self._watchers = list(watchers)
        self._interval = interval
        self._recorder = recorder
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="rounds", daemon=True)

    @property
    def sources(self) -> Sequence[Source]:
        return [watcher.source for watcher in self._watchers]

    def start(self, sink: Sink) -> None:
        recorder = self._recorder

        def done(seen: Observation) -> None:
            if recorder is not None:
                recorder.take(seen)  # in the watcher's thread: the file may be slow
            sink(seen)

        for watcher in self._watchers:
            watcher.done = done
        self._thread.start()

    def set_interval(self, seconds: float) -> None:
        with self._changed:
            self._interval = seconds
            self._changed.notify_all()

    def look_at(self, device: str, *, closely: bool) -> None:
        for watcher in self._watchers:
            is_it = watcher.source.name == device
            watcher.look(closely=is_it and closely, in_focus=is_it)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        close_all(self._watchers)

    def _run(self) -> None:
        begun = 0.0
        while True:
            with self._changed:
                while not self._is_closed and (left := begun + self._interval - time.monotonic()) > 0:
                    self._changed.wait(left)
                if self._is_closed:
                    return
            now = time.monotonic()
            # In step, as long as nothing is late: intervals do not grow by what a round takes.
            begun = begun + self._interval if now - begun < 2 * self._interval else now
            for watcher in self._watchers:
                watcher.begin()
