"""Rounds over several switches, of which some fail and some hang."""

from __future__ import annotations

import threading

import pytest

from cais_tools.config import Device
from cais_tools.errors import DeadlineExceeded, Unreachable
from cais_tools.fleet.sampling import FleetSampler, port_labels
from cais_tools.session import SessionOptions
from cais_tools.session.cais import Reading
from tests.unit.session.readings import reading, snapshot

READING = reading(None, snapshot())
PATIENCE = 30.0


class _Sampler:
    """Reads when it is told to. Made in the order of the devices."""

    made: list[_Sampler]

    def __init__(self, *_: object) -> None:
        self.error: Exception | None = None
        self.go = threading.Event()
        self.go.set()
        self.taken = self.closed = 0
        self.made.append(self)

    def take(self) -> Reading:
        assert self.go.wait(PATIENCE)
        self.taken += 1
        if self.error is not None:
            raise self.error
        return READING

    def close(self) -> None:
        self.closed += 1
        self.go.set()


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> FleetSampler:
    _Sampler.made = []
    monkeypatch.setattr("cais_tools.fleet.sampling.Sampler", _Sampler)
    return FleetSampler([Device(name, f"{name}:9559") for name in ("a", "b", "c")], SessionOptions())


def test_a_failure_is_its_own_devices_affair(fleet: FleetSampler) -> None:
    _Sampler.made[1].error = Unreachable("gone")
    _Sampler.made[2].error = ValueError("a fault of ours")
    samples = fleet.take(PATIENCE)
    assert [sample.device.name for sample in samples] == ["a", "b", "c"]
    assert samples[0].reading is READING
    assert [sample.outcome.exit_code for sample in samples] == [0, 3, 1]
    assert "unexpected ValueError" in str(samples[2].error)
    _Sampler.made[1].error = None
    assert fleet.take(PATIENCE)[1].reading is READING


def test_who_hangs_holds_up_nobody_and_its_answer_counts_later(fleet: FleetSampler) -> None:
    hanging = _Sampler.made[1]
    hanging.go.clear()
    for _ in range(2):
        samples = fleet.take(0.05)
        assert isinstance(samples[1].error, DeadlineExceeded)
        assert "b has not answered" in str(samples[1].error)
        assert samples[2].reading is READING
    hanging.go.set()
    assert fleet.take(PATIENCE)[1].reading is READING
    assert (hanging.taken, _Sampler.made[0].taken) == (1, 3)


def test_closing_ends_what_is_under_way(fleet: FleetSampler) -> None:
    _Sampler.made[0].go.clear()
    fleet.take(0.02)
    fleet.close()
    assert [each.closed for each in _Sampler.made] == [1, 1, 1]


def test_ports_are_called_by_name_before_number() -> None:
    device = Device("tor", "tor:9559", ports={"7": 132, "swp7": 132, "8": 133, "1": 1})
    assert port_labels(device) == {132: "swp7", 133: "front panel 8", 1: "front panel 1"}
    assert port_labels(Device("tor", "tor:9559")) == {}
