"""Time-outs and windows."""

from __future__ import annotations

import pytest

from cais_tools.worker.config import Timing
from cais_tools.worker.pacing import Pacing


def test_time_outs_follow_the_round_trips() -> None:
    pacing = Pacing(Timing(first_rto=0.3, min_rto=0.01, max_rto=1.0), 64)
    assert pacing.rto == 0.3
    pacing.measured(0.1)
    assert pacing.rto == pytest.approx(0.1 + 4 * 0.05)  # RFC 6298 (2.2)
    pacing.measured(0.2)
    deviation = 0.05 + (0.1 - 0.05) / 4
    assert pacing.rto == pytest.approx(0.1 + 0.1 / 8 + 4 * deviation)  # (2.3)
    for _ in range(100):
        pacing.measured(0.0001)
    assert pacing.rto == 0.01
    for _ in range(100):
        pacing.measured(100.0)
    assert pacing.rto == 1.0


def test_time_outs_do_not_drive_each_other_up() -> None:
    pacing = Pacing(Timing(min_rto=0.001), 64)
    for i in range(1000):  # one packet in four waits for another rank's time-out, which is as long as ours
        pacing.measured(pacing.rto if i % 4 == 0 else 0.01)
    assert pacing.rto < 0.06


def test_windows_double_until_a_loss_and_then_grow_by_one() -> None:
    pacing = Pacing(Timing(first_window=16), 1000)
    pacing.completed(16, 16)
    assert pacing.window == 32
    pacing.completed(32, 32)
    pacing.lost()
    assert pacing.window == 32
    pacing.completed(32, 32)
    assert pacing.window == 33


def test_a_window_that_is_not_used_does_not_grow() -> None:
    pacing = Pacing(Timing(first_window=16), 1000)
    pacing.completed(7, 7)
    assert pacing.window == 16
    pacing.completed(8, 8)
    assert pacing.window == 24


def test_windows_have_limits() -> None:
    pacing = Pacing(Timing(first_window=4), 8)
    for _ in range(10):
        pacing.lost()
    assert pacing.window == 4
    for _ in range(100):
        pacing.completed(pacing.window, pacing.window)
    assert pacing.window == 8
    assert Pacing(Timing(first_window=16), 8).window == 8
    assert Pacing(Timing(), 1).window == 1
