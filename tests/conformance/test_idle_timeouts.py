"""Idle time-outs of table entries, as bmv2 has them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import grpc
import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.conformance.services import KINDS, Switch, running
from tests.integration.switch.client import DELETE, INSERT, MODIFY, PROGRAMS, exact, verdicts

pytestmark = pytest.mark.skipif(not PROGRAMS.is_dir(), reason=f"the conformance data is not there: {PROGRAMS}")

SHORT = 1_000_000  # nanoseconds: has passed when anybody looks
LONG = 3_600_000_000_000
FIRST, SECOND, THIRD = (bytes([2, 0, 0, 0, 0, last]) for last in (5, 6, 7))


@pytest.fixture(scope="module", params=KINDS)
def switch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Switch]:
    with running(request.param, tmp_path_factory.mktemp("bmv2") / "log") as switch:
        yield switch


def learned(switch: Switch, mac: bytes, idle_timeout_ns: int) -> p4runtime_pb2.Entity:
    action = switch.action("NoAction")
    return switch.entry("ingress.smac", exact(mac), action=action, idle_timeout_ns=idle_timeout_ns)


def timed_out(switch: Switch) -> dict[bytes, int]:
    """Who is in the next notification, with the time-outs that it says they have."""
    entries: Sequence[Any] = switch.client.receive("idle_timeout_notification").table_entry
    return {entry.match[0].exact.value: entry.idle_timeout_ns for entry in entries}


def test_entries_that_are_idle_are_told_again_and_again(switch: Switch) -> None:
    switch.load("digest")
    switch.insert(learned(switch, FIRST, SHORT), learned(switch, SECOND, LONG), learned(switch, THIRD, 0))
    assert [timed_out(switch) for _ in range(3)] == [{FIRST: SHORT}] * 3
    switch.client.write(MODIFY, learned(switch, FIRST, LONG), learned(switch, THIRD, SHORT))
    # What was under way before.
    while (told := timed_out(switch)) == {FIRST: SHORT}:
        pass
    assert told == {THIRD: SHORT}
    switch.client.write(DELETE, learned(switch, THIRD, SHORT))
    switch.client.write(MODIFY, learned(switch, SECOND, SHORT))
    while (told := timed_out(switch)) == {THIRD: SHORT}:
        pass
    assert told == {SECOND: SHORT}


def test_how_long_ago_an_entry_was_hit(switch: Switch) -> None:
    switch.load("digest")
    switch.insert(learned(switch, FIRST, LONG))
    wanted = learned(switch, FIRST, 0)
    wanted.table_entry.ClearField("action")
    wanted.table_entry.time_since_last_hit.SetInParent()
    [found] = switch.read(wanted)
    assert found.table_entry.HasField("time_since_last_hit")
    assert 0 <= found.table_entry.time_since_last_hit.elapsed_ns < LONG
    assert found.table_entry.idle_timeout_ns == LONG


def test_time_outs_that_cannot_be(switch: Switch) -> None:
    switch.load("digest")
    refused(switch, learned(switch, FIRST, -1))
    switch.load("ternary")
    match = p4runtime_pb2.FieldMatch(field_id=1, ternary={"value": b"\x12\x34", "mask": b"\xff\xff"})
    action = switch.action("ingress.send_1")
    refused(switch, switch.entry("ingress.ter", match, priority=1, action=action, idle_timeout_ns=SHORT))


def refused(switch: Switch, entry: p4runtime_pb2.Entity) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        switch.client.write(INSERT, entry)
    assert [each.canonical_code for each in verdicts(failed.value)] == [code_pb2.INVALID_ARGUMENT]
