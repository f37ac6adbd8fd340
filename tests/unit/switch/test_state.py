"""Registers, counters and meters as the control plane sees them."""

from __future__ import annotations

import pytest

from cais_tools.switch.meters import GREEN, RED, YELLOW, Meter, MeterArray, MeterConfig
from cais_tools.switch.refusals import Invalid
from cais_tools.switch.state import CounterArray, RegisterArray


def test_registers() -> None:
    register = RegisterArray("r", 3, 8)
    values = register.values
    register.write(1, 255)
    assert register.read_all() == [0, 255, 0]
    register.write_all(7)
    assert register.values is values
    assert register.read_all() == [7, 7, 7]
    for index in (-1, 3):
        with pytest.raises(Invalid, match=f"no index {index}"):
            register.read(index)
    for value in (-1, 256):
        with pytest.raises(Invalid, match="does not fit"):
            register.write(0, value)


def test_counters() -> None:
    counter = CounterArray("c", 2)
    counter.write(1, packets=3)
    counter.write(1, bytes=99)
    assert counter.read(1) == (3, 99)
    assert counter.read_all() == [(0, 0), (3, 99)]
    for index in (-1, 2):
        with pytest.raises(Invalid, match=f"no index {index}"):
            counter.read(index)


def test_meters_without_configuration_are_green() -> None:
    assert [Meter().execute(0, 1 << 40) for _ in range(2)] == [GREEN, GREEN]


def test_two_rates_three_colours() -> None:
    meter = Meter()
    meter.configure(MeterConfig(cir=1000, cburst=2, pir=2000, pburst=4))
    assert [meter.execute(0, 1) for _ in range(5)] == [GREEN, GREEN, YELLOW, YELLOW, RED]
    # A millisecond brings one committed token and two peak tokens.
    assert [meter.execute(1000, 1) for _ in range(3)] == [GREEN, YELLOW, RED]
    # Buckets do not overflow, however long nothing comes.
    assert [meter.execute(10**12, 1) for _ in range(5)] == [GREEN, GREEN, YELLOW, YELLOW, RED]


def test_meters_in_bytes() -> None:
    meter = Meter()
    meter.configure(MeterConfig(cir=0, cburst=100, pir=0, pburst=150))
    assert [meter.execute(0, size) for size in (60, 60, 60, 30)] == [GREEN, YELLOW, RED, GREEN]


def test_one_rate_three_colours() -> None:
    meter = Meter()
    meter.configure(MeterConfig(1000, 2, 1000, 2, eburst=1, single_rate=True))
    assert [meter.execute(0, 1) for _ in range(4)] == [GREEN, GREEN, YELLOW, RED]
    # Three milliseconds: two tokens fill the committed burst, the third goes into the excess burst.
    assert [meter.execute(3000, 1) for _ in range(4)] == [GREEN, GREEN, YELLOW, RED]
    assert [meter.execute(5000, 1) for _ in range(3)] == [GREEN, GREEN, RED]


def test_each_colour_is_counted() -> None:
    meter = Meter()
    assert meter.colours == ((0, 0),) * 3
    meter.execute(0, 1, 60)
    meter.configure(MeterConfig(cir=1, cburst=1, pir=1, pburst=2))
    for size in (10, 20, 30, 40):
        meter.execute(0, 1, size)
    assert meter.colours == ((2, 70), (1, 20), (2, 70))
    kept = meter.colours
    meter.set_colours(None)
    assert meter.colours == ((0, 0),) * 3
    meter.set_colours(kept)
    meter.execute(0, 1, 5)
    assert meter.colours[2] == (3, 75)


def test_a_clock_that_goes_back_does_no_harm() -> None:
    meter = Meter()
    meter.configure(MeterConfig(cir=1000, cburst=1, pir=1000, pburst=1))
    assert [meter.execute(now, 1) for now in (5000, 1000, 1000)] == [GREEN, RED, RED]


def test_meter_arrays() -> None:
    meters = MeterArray("m", 2, in_bytes=False)
    config = MeterConfig(1, 2, 3, 4)
    meters.write(1, config)
    assert [meters.read(index) for index in (0, 1)] == [None, config]
    meters.write(1, None)
    assert meters.read(1) is None
    with pytest.raises(Invalid, match="no index 2"):
        meters.read(2)
