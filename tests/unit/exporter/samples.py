"""Samples of three switches: one with traffic and an alarm, one just connected, one that is down."""

from __future__ import annotations

from cais_tools.config import Device
from cais_tools.errors import Unreachable
from cais_tools.fleet.sampling import Sample
from tests.unit.session.readings import group_stats, histogram, reading, snapshot

BEFORE = snapshot(group_stats(4, opened=10, completed=10, added=10), delay=histogram(b0=10))
AFTER = snapshot(
    group_stats(4, opened=105, completed=20, added=20, answered=3, no_rule=30),
    delay=histogram(b0=10, b3=4, b15=1),
    time=2.0,
)
SAMPLES = [
    Sample(Device("tor1", "10.0.0.1:9559", ports={"swp1": 1}), reading(BEFORE, AFTER), None, 0.02),
    Sample(Device('to"r\\2', "10.0.0.2:9559"), reading(None, BEFORE), None, 0.03),
    Sample(Device("tor3", "10.0.0.3:9559"), None, Unreachable("nothing listens"), 0.04),
]
