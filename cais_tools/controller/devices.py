"""A switch that the controller looks after: read every 100 ms, and made to have the groups that it should have."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from cais_tools.config import Device
from cais_tools.controller.mending import install, mend
from cais_tools.controller.record import GroupRecord
from cais_tools.controller.thermometer import Thermometer
from cais_tools.errors import CaisError, NotPrimary, Unreachable
from cais_tools.fleet.run import options_for
from cais_tools.session import SessionOptions, SwitchSession, connect, load_shipped
from cais_tools.session.cais import Alarm, CaisSwitch, Rates, Reading, Sampler

__all__ = ["ManagedDevice", "Owner", "View", "smoothed_delay"]

log = logging.getLogger(__name__)

_AGAIN_S: Final = 0.5
_FIRST_LOOK_S: Final = 3.0
_SMOOTHING: Final = 0.1
"""Of ten readings a second: a time constant of a second."""


class Owner(Protocol):
    """Whoever knows which groups belong on which device. Any thread may call it."""

    def groups_on(self, device: str) -> Mapping[int, GroupRecord]:
        """Those that are installed there, or were."""
        ...

    def leftovers_on(self, device: str) -> Collection[int]:
        """Groups that were removed while the device did not answer."""
        ...

    def mended(self, group: GroupRecord) -> None:
        """The device had lost the group; it has it again, with another epoch."""
        ...

    def cleared(self, device: str, groups: Collection[int]) -> None:
        """These groups are no longer on the device."""
        ...

    def came_or_went(self, device: str) -> None:
        """The device answers again, or does not any more."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a switch now. `reading` None: it does not answer, for `error`.

    `queue_delay_us` is the average over about a second. `seconds` is how long a reading takes, `since` when the
    switch began to answer (monotonic).
    """

    reading: Reading | None = None
    error: str = "it has not been asked yet"
    primary: bool = False
    queue_delay_us: float = 0.0
    seconds: float = 0.0
    since: float = 0.0
    temperature_c: float | None = None

    @property
    def is_reachable(self) -> bool:
        return self.reading is not None

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        return () if self.reading is None else self.reading.alarms


def smoothed_delay(before: float, rates: Rates | None) -> float:
    """The next average. A switch without packets has no queue: else a group that has left it for its long queue would
    never hear that it is gone.
    """
    now = 0.0 if rates is None else rates.delay.average_us or 0.0
    return before + _SMOOTHING * (now - before)


class ManagedDevice:
    """Runs a thread of its own from `start` to `close`."""

    def __init__(
        self,
        device: Device,
        options: SessionOptions,
        owner: Owner,
        *,
        interval: float = 0.1,
    ) -> None:
        self.device = device
        self.view = View()
        self._options = options_for(device, options)
        self._owner = owner
        self._thermometer = Thermometer(device, self._options)
        self._interval = interval
        self._lock = threading.RLock()
        self._sampler = Sampler(self._open)
        self._looked = threading.Event()
        self._ended = threading.Event()
        self._is_slow = False
        self._thread = threading.Thread(target=self._watch, name=f"device-{device.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._thermometer.start()

    def close(self) -> None:
        """End the thread and the session; what the switch has stays there."""
        self._ended.set()
        self._thermometer.close()
        self._thread.join(2.0)
        self._sampler.close()

    def is_usable(self) -> bool:
        """Whether it answers; soon after the start this waits for the first answer."""
        self._looked.wait(_FIRST_LOOK_S)
        return self.view.is_reachable

    # Changes; each raises what the session raises

    def install(self, group: GroupRecord, *, is_ours: bool) -> GroupRecord:
        """Put the group and its rules on the switch; with its slots and a new epoch."""
        with self._lock:
            return install(self._switch(), group, is_ours=is_ours)

    def remove(self, group_id: int, *, only_if: Callable[[], bool] = lambda: True) -> None:
        """Remove a group, if it is there; `only_if` is asked while nobody else changes the switch."""
        with self._lock:
            switch = self._switch()
            if only_if() and group_id in switch.state().groups:
                switch.remove_group(group_id)

    def new_epoch(self, group_id: int) -> int:
        """Begin a new job on the group."""
        with self._lock:
            return self._switch().start_job(group_id).epoch

    @property
    def lanes(self) -> int:
        with self._lock:
            return self._switch().lanes

    def _switch(self) -> CaisSwitch:
        if not self.view.is_reachable:
            raise Unreachable(f"{self.device.name} ({self.device.address}) does not answer: {self.view.error}")
        return self._sampler.switch()

    # In the device's thread

    def _open(self) -> SwitchSession:
        session = connect(self.device.address, self._options)
        try:
            if not session.is_primary:
                raise NotPrimary(
                    f"another client is primary on {self.device.name}", hint="end it: the controller has to write there"
                )
            if session.program_info() is None:
                log.info("device %s has no program: loading the shipped one", self.device.name)
                session.load(load_shipped())
            self._mend(CaisSwitch(session))
        except BaseException:
            session.close()
            raise
        return session

    def _mend(self, switch: CaisSwitch) -> None:
        name = self.device.name
        groups = self._owner.groups_on(name)
        gone = [group_id for group_id in self._owner.leftovers_on(name) if group_id not in groups]
        others, written = mend(switch, groups, gone)
        if written:
            log.warning("device %s was not as it should be: %d entries written", name, written)
        for group in others:
            self._owner.mended(group)
        self._owner.cleared(name, gone)

    def _watch(self) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            before, view = self.view, self._look()
            if view.is_reachable != before.is_reachable:
                view = replace(view, since=time.monotonic())
            self.view = view
            self._tell_changes(before, view, first=not self._looked.is_set())
            self._looked.set()
            if view.is_reachable != before.is_reachable:
                self._owner.came_or_went(self.device.name)
            took = time.monotonic() - began
            self._ended.wait(max(self._interval - took, 0.0) if view.is_reachable else _AGAIN_S)

    def _look(self) -> View:
        began = time.monotonic()
        try:
            with self._lock:
                reading = self._sampler.take()
                primary = self._sampler.switch().session.is_primary
        except CaisError as error:
            return replace(self.view, reading=None, error=error.message, primary=False, queue_delay_us=0.0)
        except Exception as error:
            log.exception("device %s", self.device.name)
            self._sampler.close()
            return replace(self.view, reading=None, error=f"unexpected {type(error).__name__}: {error}", primary=False)
        return replace(
            self.view,
            reading=reading,
            error="",
            primary=primary,
            queue_delay_us=smoothed_delay(self.view.queue_delay_us, reading.rates),
            seconds=time.monotonic() - began,
            temperature_c=self._thermometer.celsius,
        )

    def _tell_changes(self, before: View, view: View, *, first: bool) -> None:
        name = self.device.name
        if view.is_reachable != before.is_reachable:
            if view.is_reachable:
                log.info("device %s answers", name)
            else:
                log.warning("device %s is gone: %s", name, view.error)
        elif view.is_reachable and view.primary != before.primary:
            log.warning(
                "device %s: this controller is %s", name, "primary again" if view.primary else "not primary now"
            )
        elif not view.is_reachable and (first or view.error != before.error):
            log.warning("device %s cannot be used: %s", name, view.error)
        if view.is_reachable and view.seconds > self._interval and before.is_reachable and not self._is_slow:
            self._is_slow = True
            log.info(
                "a reading of %s took %.0f ms: the next begins when one ends, not each %.0f ms",
                name,
                1000 * view.seconds,
                1000 * self._interval,
            )
        for alarm in view.alarms:
            if alarm.name not in {each.name for each in before.alarms}:
                log.warning("device %s: %s", name, alarm.message)
