"""What is asked of a switch now and then only, since it takes longer than counters or changes less often."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from cais_tools.errors import CaisError, Refused
from cais_tools.p4rt.p4info import UnknownName
from cais_tools.session import DeviceError
from cais_tools.session.cais import CaisSwitch, OpenSlot, Rule, Snapshot
from cais_tools.session.observer import Primary, ask_primary
from cais_tools.session.temperature import Temperatures

__all__ = ["Facts", "Found"]

_RULES_S: Final = 10.0
_PRIMARY_S: Final = 5.0
_SLOTS_CLOSELY_S: Final = 0.5
_SLOTS_FOCUS_S: Final = 3.0
_SLOTS_S: Final = 30.0
_HEAT_S: Final = 2.0
_HEAT_TIMEOUT_S: Final = 0.5
_SHARE: Final = 10.0
"""What was slow is left alone for so many times as long as it took."""

_HIDDEN: Final = "this switch shows no registers over P4Runtime (bmv2 does not), so nobody can look into its slots"


@dataclass(frozen=True, slots=True)
class Found:
    """None: not looked at this time."""

    primary: Primary | None = None
    rules: tuple[Rule, ...] | None = None
    open_slots: tuple[OpenSlot, ...] | None = None
    slots_hidden: str | None = None
    temperature_c: float | None = None


class _Due:
    """When something is to be done again."""

    def __init__(self) -> None:
        self._at = 0.0

    def passed(self, every: float, now: float) -> bool:
        return now >= self._at + every

    def done(self, began: float) -> None:
        now = time.monotonic()
        self._at = now + _SHARE * (now - began)


class Facts:
    """Reads what is due. `closely`: somebody looks into a group; `in_focus`: the switch is the one that is shown."""

    def __init__(self) -> None:
        self.closely = False
        self.in_focus = True
        self._thermometer: Temperatures | None = None
        self._celsius: float | None = None
        self.forget()

    def forget(self) -> None:
        """The connection was lost: everything is to be asked again."""
        self._rules, self._primary, self._slots, self._heat = _Due(), _Due(), _Due(), _Due()
        self._has_registers: bool | None = None

    def read(self, switch: CaisSwitch, snapshot: Snapshot) -> Found:
        """Whatever goes wrong here shows in the next snapshot, too, or is of no weight."""
        try:
            if self._has_registers is None:
                self._has_registers = _shows_registers(switch)
            return Found(
                primary=self._read_primary(switch),
                rules=self._read_rules(switch),
                open_slots=self._read_slots(switch, snapshot),
                slots_hidden=None if self._has_registers else _HIDDEN,
                temperature_c=self._read_temperature(switch),
            )
        except CaisError:
            return Found()

    def _read_primary(self, switch: CaisSwitch) -> Primary | None:
        now = time.monotonic()
        # A switch without registers is taken for bmv2, which must not be asked.
        if not self._has_registers or not self._primary.passed(_PRIMARY_S, now):
            return None
        try:
            return ask_primary(switch.session)
        except Refused:
            return None  # it has too many clients already
        finally:
            self._primary.done(now)

    def _read_temperature(self, switch: CaisSwitch) -> float | None:
        """The last one that was told, since it is asked for now and then only."""
        now = time.monotonic()
        if self._heat.passed(_HEAT_S, now):
            session = switch.session
            if self._thermometer is None:
                self._thermometer = Temperatures(session.target, session.options.tls, _HEAT_TIMEOUT_S)
            hottest = self._thermometer.hottest()
            self._celsius = None if hottest is None else hottest.celsius
            self._heat.done(now)
        return self._celsius

    def close(self) -> None:
        """End what is connected besides the session."""
        if self._thermometer is not None:
            self._thermometer.close()

    def _read_rules(self, switch: CaisSwitch) -> tuple[Rule, ...] | None:
        now = time.monotonic()
        if not self._rules.passed(_RULES_S, now):
            return None
        rules = switch.rules()
        self._rules.done(now)
        return rules

    def _read_slots(self, switch: CaisSwitch, snapshot: Snapshot) -> tuple[OpenSlot, ...] | None:
        if not self._has_registers:
            return None
        if not snapshot.slots_in_use:
            return ()
        now = time.monotonic()
        every = _SLOTS_CLOSELY_S if self.closely else _SLOTS_FOCUS_S if self.in_focus else _SLOTS_S
        if not self._slots.passed(every, now):
            return None
        found = tuple(switch.open_slots())
        self._slots.done(now)
        return found


def _shows_registers(switch: CaisSwitch) -> bool:
    try:
        switch.session.read_register("slot_state", [0])
    except UnknownName:
        return False
    except DeviceError as error:
        if error.code != "UNIMPLEMENTED":
            raise
        return False
    return True
