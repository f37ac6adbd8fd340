"""What follows from a leader's words, from time that passes, and from what a switch tells."""

from __future__ import annotations

import math
import threading
import time

import pytest

from cais_tools.controller import live
from cais_tools.controller.devices import smoothed_delay
from cais_tools.controller.leader import Leader
from cais_tools.controller.live import Doubt, Live, has_doubt, inputs_of, ring_bandwidth
from cais_tools.controller.policy import Decision
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.scoring import Kind, OperationClass, Path
from tests.unit.controller.records import a_group

SETTINGS = {"offload_threshold": 0.2, "sram_usage_limit": 0.75}


@pytest.mark.parametrize(
    ("hello", "doubted"),
    [
        ({"epoch": 7, "path": pb.PATH_SWITCH, "next_operation": 9}, False),
        ({"epoch": 6, "path": pb.PATH_SWITCH, "next_operation": 9}, True),  # the switch has begun anew meanwhile
        ({"path": pb.PATH_ENDPOINT, "next_operation": 9}, True),  # it has left the switch
        ({"epoch": 7, "path": pb.PATH_ENDPOINT, "next_operation": 9}, False),  # as the controller had decided
        ({}, False),  # it begins
    ],
)
def test_who_comes_back_to_be_tested(hello: dict[str, int], doubted: bool) -> None:
    assert has_doubt(Leader(pb.Hello(**hello)), a_group()) is doubted  # type: ignore[arg-type]
    assert has_doubt(Leader(pb.Hello(**hello)), a_group(epoch=0))  # type: ignore[arg-type]


def test_tests_that_fail_come_seldom_and_then_every_30_seconds() -> None:
    doubt = Doubt(0.0)
    waits: list[float] = []
    for _ in range(7):
        doubt.failed()
        waits.append(doubt.wait)
    assert waits == [2, 4, 8, 16, 30, 30, 30]
    assert doubt.due > time.monotonic() + 29


def test_a_group_lives_as_long_as_its_leader_and_a_little_longer() -> None:
    assert Live(leader=Leader(pb.Hello()), gone_since=-math.inf).is_alive(30, 600)
    now = time.monotonic()
    assert Live(gone_since=now - 29).is_alive(30, 600)
    assert not Live(gone_since=now - 31).is_alive(30, 600)
    assert Live(gone_since=now - 31, has_been_led=False).is_alive(30, 600)


def test_endpoints_reduce_as_a_ring_does() -> None:
    assert ring_bandwidth(12.0, 1) == 12.0
    assert ring_bandwidth(12.0, 2) == 12.0
    assert ring_bandwidth(12.0, 4) == 8.0


def test_inputs_of_a_group_whose_device_is_not_there() -> None:
    inputs = inputs_of(a_group(), Live(), None, SETTINGS, drained=False)
    assert (inputs.reachable, inputs.proved, inputs.sram_usage) == (False, True, 0.0)
    assert inputs.link.processing_rate == live._DEFAULT_GBPS * 1e9 / 8
    assert not inputs_of(a_group(), Live(doubt=Doubt(0.0)), None, SETTINGS, drained=True).proved


def test_the_queue_delay_is_an_average_and_an_idle_switch_has_none() -> None:
    delay = 0.0
    for _ in range(50):
        delay = smoothed_delay(delay, None)
    assert delay == 0.0
    delay = 100.0
    for _ in range(50):
        delay = smoothed_delay(delay, None)
    assert delay < 1.0


def test_a_leader_is_waited_for() -> None:
    leader = Leader(pb.Hello())
    request = leader.force(Path.ENDPOINT, "so")
    heard = leader.directives()
    assert next(heard).force.request == request
    threading.Timer(0.05, lambda: leader.changed(pb.Changed(request=request, from_operation=5))).start()
    assert leader.wait_for(request, 10.0) == 5
    late = leader.force(Path.AUTO, "")
    assert leader.wait_for(late, 0.0) is None
    leader.changed(pb.Changed(request=late, from_operation=5))
    leader.close()
    assert [each.force.request for each in heard] == [late]


def test_a_leader_counts_and_has_classes_that_are_taken_once() -> None:
    leader = Leader(pb.Hello())
    done = [
        pb.Usage.Done(operation=pb.OperationClass(kind=kind, dtype="float32", bytes=8), path=path, operations=2)  # type: ignore[arg-type]
        for kind, path in ((1, pb.PATH_SWITCH), (99, pb.PATH_ENDPOINT))
    ]
    leader.used(pb.Usage(done=done, next_operation=4))
    assert (leader.totals.on_switch, leader.totals.on_endpoints, leader.next_operation) == (2, 2, 4)
    classes = leader.take_seen()
    assert classes == (OperationClass(Kind.ALL_REDUCE, "float32", 8), OperationClass(Kind.UNSPECIFIED, "float32", 8))
    assert leader.take_seen() == ()


def test_decisions_travel() -> None:
    one = OperationClass(Kind.BROADCAST, "int32", 8)
    leader = Leader(pb.Hello())
    leader.block(3, 4, Decision(True, "so", {one: Path.ENDPOINT}, {Kind.ALL_REDUCE: 9}, 0.2, True))
    block = next(leader.directives()).block
    assert (block.first, block.count, block.decision.reason) == (3, 4, "so")
    (override,) = block.decision.overrides
    assert (override.operation.kind, override.operation.bytes, override.path) == (pb.BROADCAST, 8, pb.PATH_ENDPOINT)
    assert [(each.kind, each.bytes) for each in block.decision.break_even] == [(pb.ALL_REDUCE, 9)]
