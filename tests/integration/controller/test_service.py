"""Every call of the service, over real gRPC, with a real switch behind the controller."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.rules import rules_for
from cais_tools.errors import DeadlineExceeded, Refused, UsageError
from tests.functional.runner import environment
from tests.integration.controller.lab import JOB, PORTS, Lab, Leader, a_lab, until


@pytest.fixture(scope="module")
def shared() -> Generator[Lab]:
    with a_lab() as lab:
        yield lab


@pytest.fixture
def lab(shared: Lab) -> Generator[Lab]:
    """Without jobs of an earlier test, and without what it has changed."""
    yield shared
    shared.client.remove_job(JOB)
    shared.client.drain("leaf1", release=True)
    shared.client.set_offload([], pb.PATH_AUTO, "")
    shared.client.configure(pb.Settings(offload_threshold=0.2, max_pending_chunks=128))


def test_a_group_is_installed_whole_and_removed_whole(lab: Lab) -> None:
    group = lab.create()
    assert (list(group.ports), group.slots, group.lanes) == ([1, 2, 3, 4], 256, 64)
    assert group.hub_secret == b"\xff\x00"
    state = lab.on_switch()
    there = state.groups[3]
    assert (there.ports, there.slots, there.epoch) == (PORTS, 256, group.epoch)
    assert {rule.key for rule in state.rules} == {spec.key for spec in rules_for(3, PORTS)}
    lab.client.remove_group(JOB, 3)
    assert not lab.on_switch().groups
    assert not lab.on_switch().rules
    with pytest.raises(Refused, match="has no group 3"):
        lab.client.remove_group(JOB, 3)


def test_a_group_that_is_created_again_begins_anew(lab: Lab) -> None:
    first = lab.create()
    again = lab.create(ranks=range(2), hub_address="127.0.0.1:8")
    assert again.epoch != first.epoch
    assert list(again.ports) == [1, 2]
    assert lab.on_switch().groups[3].ports == (1, 2)
    assert lab.client.join_group(JOB, 3, 5.0).hub_address == "127.0.0.1:8"


def test_ports_and_slots_that_are_asked_for(lab: Lab) -> None:
    group = lab.create(ranks=[1, 0], ports=[4, 2], slots=64)
    assert lab.on_switch().groups[3].ports == (4, 2)
    assert group.slots == 64


def test_slots_follow_the_settings(lab: Lab) -> None:
    lab.client.configure(pb.Settings(max_pending_chunks=33))
    assert lab.create().slots == 128
    lab.client.configure(pb.Settings(chunk_size=4 * 64 * 8))
    assert lab.create().slots == 16
    lab.client.configure(pb.Settings(chunk_size=65536))


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        ({"group_id": 256}, UsageError, "group 256 does not exist"),
        ({"ranks": [0, 0]}, UsageError, "are not different ones"),
        ({"ranks": [8]}, UsageError, "of a job of 8"),
        ({"ranks": []}, UsageError, "a group of 0 ranks"),
        ({"ports": [1, 2]}, UsageError, "4 ranks need as many different ports"),
        ({"slots": 100}, UsageError, "power of two"),
        ({"slots": 4096}, Refused, "75% may be given out"),
        ({"device": "leaf9"}, UsageError, "no device 'leaf9'"),
    ],
)
def test_groups_that_cannot_be(lab: Lab, request_: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lab.create(**{"group_id": 3, **request_})  # type: ignore[arg-type]
    assert not lab.on_switch().groups
    assert not lab.client.statistics().groups


def test_a_group_of_another_job_or_of_nobody_we_know_is_left_alone(lab: Lab) -> None:
    lab.create()
    lab.client.register_job("another", "job-2", 4)
    request = pb.CreateGroupRequest(job_id="job-2", group_id=3, ranks=range(4))
    with pytest.raises(Refused, match="belongs to job job-1"):
        lab.client.create_group(request)
    request.job_id = "job-3"
    with pytest.raises(UsageError, match="no job job-3"):
        lab.client.create_group(request)
    lab.client.remove_job("job-2")
    with pytest.raises(UsageError, match="has 8 ranks, not 4"):
        lab.client.register_job("again", JOB, 4)
    # Somebody works on the switch by hand, as the controller's session may.
    device = lab.controller.plane.devices["leaf1"]
    device._switch().ensure_group(9, (1, 2))
    with pytest.raises(Refused, match="not by this controller"):
        lab.create(9)
    device._switch().remove_group(9)


def test_the_controller_chooses_numbers_that_nobody_has() -> None:
    with a_lab() as lab:
        lab.create(1)
        lab.client.register_job("a test", JOB, 8)
        request = pb.CreateGroupRequest(job_id=JOB, ranks=range(4), slots=16, hub_address="127.0.0.1:7")
        with ThreadPoolExecutor(4) as leaders:
            groups = list(leaders.map(lambda _: lab.client.create_group(request).group_id, range(4)))
        assert sorted(groups) == [0, 2, 3, 4]
        assert set(lab.on_switch().groups) == {0, 1, 2, 3, 4}


def test_ranks_wait_for_their_leader(lab: Lab) -> None:
    lab.client.register_job("a test", JOB, 8)
    found: list[pb.Group] = []
    rank = threading.Thread(target=lambda: found.append(lab.client.join_group(JOB, 3, 20.0)))
    rank.start()
    group = lab.create()
    rank.join(20)
    assert found == [group]
    with pytest.raises(DeadlineExceeded, match="leader of group 4 of job job-1 has not come"):
        lab.client.join_group(JOB, 4, 0.3)


def test_a_leader_gets_blocks_epochs_and_settings(lab: Lab) -> None:
    group = lab.create()
    leader = lab.lead(group)
    small = pb.OperationClass(kind=pb.ALL_REDUCE, dtype="float32", bytes=64)
    leader.say(need_block=pb.NeedBlock(first=32, count=32, seen=[small]))
    block = leader.wait_for("block", 2)
    assert (block.first, block.count) == (32, 32)
    assert block.decision.offload
    assert {each.kind for each in block.decision.break_even} == set(range(1, 8))
    leader.say(need_epoch=pb.NeedEpoch(request=7))
    epoch = leader.wait_for("epoch")
    assert (epoch.request, epoch.epoch) == (7, group.epoch + 1)
    assert lab.on_switch().groups[3].epoch == epoch.epoch
    lab.client.configure(pb.Settings(timeout_ms=80), 3)
    assert leader.wait_for("settings").timeout_ms == 80
    assert lab.client.configure(pb.Settings()).timeout_ms == 50
    with pytest.raises(UsageError, match="offload_threshold 2 is not between 0 and 1"):
        lab.client.configure(pb.Settings(offload_threshold=2))
    leader.leave()


def test_a_path_that_is_asked_for_holds_within_a_second(lab: Lab) -> None:
    leader = lab.lead(lab.create())
    leader.operation = 17
    for path, offload in ((pb.PATH_ENDPOINT, False), (pb.PATH_SWITCH, True), (pb.PATH_AUTO, True)):
        (result,) = lab.client.set_offload([3], path, "a test")
        assert (result.group_id, result.holds, result.from_operation) == (3, True, 17)
        # The decision of now comes first: it is what AUTO falls back on.
        assert leader.heard[-1].force.path == path
        assert leader.heard[-2].block.decision.offload is offload
        assert lab.group().wanted == path
    leader.leave()


def test_everything_on_endpoints_and_what_comes_later_too(lab: Lab) -> None:
    leader = lab.lead(lab.create())
    assert [each.holds for each in lab.client.set_offload([], pb.PATH_ENDPOINT, "")] == [True]
    later = lab.create(5)
    assert not later.decision.offload
    late = lab.lead(later)
    assert late.wait_for("force").path == pb.PATH_ENDPOINT
    assert all(each.holds for each in lab.client.set_offload([], pb.PATH_AUTO, ""))
    with pytest.raises(UsageError, match="no group 77"):
        lab.client.set_offload([77], pb.PATH_AUTO, "")
    leader.leave()
    late.leave()


def test_a_leader_that_says_nothing_or_is_not_there_is_told_of(lab: Lab) -> None:
    group = lab.create()
    (absent,) = lab.client.set_offload([3], pb.PATH_ENDPOINT, "")
    assert not absent.holds
    assert "not connected" in absent.text
    silent = lab.lead(group, answers=False)
    began = time.monotonic()
    (late,) = lab.client.set_offload([3], pb.PATH_AUTO, "")
    assert not late.holds
    assert "not answered in time" in late.text
    assert time.monotonic() - began < 10
    silent.leave()


def test_a_drained_device_is_nobodys_path(lab: Lab) -> None:
    leader = lab.lead(lab.create())
    lab.client.set_offload([3], pb.PATH_SWITCH, "")
    (result,) = lab.client.drain("leaf1")
    assert result.holds
    assert leader.told("force")[-1].path == pb.PATH_ENDPOINT
    assert leader.told("block")[-1].decision.reason == "the switch is drained"
    (result,) = lab.client.set_offload([3], pb.PATH_SWITCH, "")
    assert result.text == "the switch is drained"
    leader.say(need_epoch=pb.NeedEpoch(request=1))
    assert leader.wait_for("epoch").epoch == 0
    lab.client.drain("leaf1", release=True)
    assert leader.told("force")[-1].path == pb.PATH_SWITCH
    with pytest.raises(UsageError, match="no device 'spine'"):
        lab.client.drain("spine")
    leader.leave()


def test_decisions_are_explained(lab: Lab) -> None:
    leader = lab.lead(lab.create())
    large = pb.OperationClass(kind=pb.ALL_REDUCE, dtype="float32", bytes=1 << 24)
    leader.say(need_block=pb.NeedBlock(first=0, count=32, seen=[large]))
    until(lambda: lab.client.explain(3).decisions, "a decision")
    leader.say(need_block=pb.NeedBlock(first=32, count=32, seen=[large]))
    row = until(lambda: [each for each in lab.client.explain(3).decisions if each.holds], "one that holds")[-1]
    assert (row.operation, row.path, row.ranks, row.first_operation) == (large, pb.PATH_SWITCH, 4, 32)
    expected = (row.endpoint_time_s - row.switch_time_s) / row.endpoint_time_s * (1 - 1 / 4)
    assert row.score == pytest.approx(expected)
    lab.client.configure(pb.Settings(offload_threshold=0.9), 3)
    found = until(lambda: (now := lab.client.explain(3)).decisions[-1].path == pb.PATH_ENDPOINT and now, "endpoints")
    assert not found.decisions[-1].holds
    leader.operation = 50
    lab.client.set_offload([3], pb.PATH_ENDPOINT, "")
    assert lab.client.explain(3).decisions[-1].first_operation == 50
    assert [each.threshold for each in found.thresholds] == pytest.approx([0.2, 0.9])
    assert "no size" in found.group_state or "threshold 0.900" in found.group_state
    assert "layer makes no difference" in lab.client.explain(3, layer=5).group_state
    with pytest.raises(UsageError, match="no group 4"):
        lab.client.explain(4)
    leader.leave()


def test_statistics_once_and_as_a_stream(lab: Lab) -> None:
    leader = lab.lead(lab.create())
    done = [
        pb.Usage.Done(
            operation=pb.OperationClass(kind=pb.ALL_REDUCE, dtype="int32", bytes=8), path=path, operations=number
        )
        for path, number in ((pb.PATH_SWITCH, 5), (pb.PATH_ENDPOINT, 2))
    ]
    leader.say(usage=pb.Usage(done=done, next_operation=7))
    found = until(lambda: (now := lab.group()).next_operation == 7 and now, "usage")
    assert (found.operations_on_switch, found.operations_on_endpoints, found.attached) == (5, 2, True)
    with closing(lab.client.watch_statistics(50)) as stream:
        times = [next(stream).time for _ in range(3)]
    assert times == sorted(set(times))
    device = lab.client.statistics().devices[0]
    assert (device.name, device.reachable, device.primary, device.drained) == ("leaf1", True, True, False)
    assert {port.port for port in device.ports} >= set(PORTS)
    leader.leave()


def test_health_and_reflection(lab: Lab) -> None:
    lab.client.statistics()
    assert lab.client._open is not None
    channel = lab.client._open[1]
    healthy: Any = health_pb2_grpc.HealthStub(channel)
    reflecting: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    for name in ("", "cais.controller.v1.Controller"):
        answer = healthy.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    answers = reflecting.ServerReflectionInfo(iter([request]), timeout=10)
    names = [each.name for each in next(answers).list_services_response.service]
    assert "cais.controller.v1.Controller" in names


def test_a_leader_of_no_group_of_ours_is_turned_away(lab: Lab) -> None:
    group = lab.create()
    lab.client.remove_group(JOB, 3)
    leader = Leader(lab.client, pb.Hello(job_id=JOB, group_id=3, epoch=group.epoch))
    until(lambda: leader.ended is grpc.StatusCode.FAILED_PRECONDITION, "the end of the stream")
    assert not leader.heard


FORKING = """
import os, sys
from cais_tools.controller.client import ControllerClient

client = ControllerClient(sys.argv[1], timeout=20)
client.statistics()
child = os.fork()
name = client.statistics().devices[0].name
if child == 0:
    os._exit(0 if name == "leaf1" else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_client_speaks_from_a_process_that_was_forked(lab: Lab) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKING, lab.controller.address]
    subprocess.run(command, env=environment(), check=True, timeout=60)
