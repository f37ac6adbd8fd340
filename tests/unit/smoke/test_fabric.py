"""What a smoke test leaves on a device that is not its own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from cais_tools.errors import Refused, Unreachable
from cais_tools.smoke import fabric
from cais_tools.smoke.fabric import Fabric
from cais_tools.smoke.plan import OPERATIONS, Plan
from cais_tools.smoke.settings import Settings

PORTS = {1: "veth1", 2: "veth2"}
PLAN = Plan((OPERATIONS["sum"],), steps=1, ranks=2, size=64, seed=1)


@dataclass
class Device:
    """A switch whose answers are interrupted."""

    groups: set[int]
    interrupt_after: str
    session: Any = field(default_factory=lambda: SimpleNamespace(target="127.0.0.1:1"))

    def state(self) -> Any:
        return SimpleNamespace(groups=self.groups)

    def ensure_group(self, group_id: int, _ports: list[int]) -> Any:
        if self.interrupt_after != "nothing":
            self.groups.add(group_id)
        if self.interrupt_after != "add_rules":
            raise KeyboardInterrupt
        return SimpleNamespace(group=SimpleNamespace(slots=64))

    def add_rules(self, _rules: object) -> None:
        raise KeyboardInterrupt

    def remove_group(self, group_id: int) -> None:
        if group_id not in self.groups:
            raise Refused(f"there is no group {group_id}")
        self.groups.remove(group_id)


def _add_group(device: Any, group_id: int) -> None:
    settings = Settings(PLAN, device="127.0.0.1:1", ports=PORTS, group_id=group_id)
    with contextlib.ExitStack() as stack:
        fabric._add_group(device, settings, [1, 2], stack)


@pytest.mark.parametrize("after", ["nothing", "ensure_group", "add_rules"])
def test_whenever_ctrl_c_comes_the_group_is_gone(after: str) -> None:
    device = Device({3}, after)
    with pytest.raises(KeyboardInterrupt):
        _add_group(device, 5)
    assert device.groups == {3}


def test_somebody_elses_group_stays() -> None:
    device = Device({5}, "add_rules")
    with pytest.raises(Refused, match="group 5 is in use"):
        _add_group(device, 5)
    assert device.groups == {5}


def test_whoever_fails_first_learns_that_the_switch_has_gone() -> None:
    def look() -> None:
        raise Unreachable("killed")

    network = Fabric("", None, (), (), (), look)  # type: ignore[arg-type]
    stopped: list[bool] = []
    with network.watched(lambda: stopped.append(True)), pytest.raises(Unreachable, match="killed"):
        network.check()
    assert stopped == [True]
