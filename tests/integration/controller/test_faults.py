"""What may go wrong between switches, leaders and the controller, and what it does about it."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from cais_tools.controller import plane, proving
from cais_tools.controller.client import ControllerClient
from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.controller.rules import rules_for
from cais_tools.errors import Unreachable
from cais_tools.session.cais import Span
from tests.integration.controller.lab import JOB, PORTS, Lab, Leader, a_controller, a_lab, a_switch, until


@pytest.fixture(autouse=True)
def quick_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (plane, proving):
        monkeypatch.setattr(module, "FIRST_PROOF_S", 0.1)


@pytest.fixture
def lab() -> Generator[Lab]:
    with a_lab() as lab:
        yield lab


def _reconnect(lab: Lab) -> None:
    """As after a connection that broke."""
    device = lab.controller.plane.devices["leaf1"]
    with device._lock:
        device._sampler.close()
    until(lambda: device._sampler._switch is not None and device.view.is_reachable, "a new session")


def test_after_trouble_the_switch_proves_itself_and_offload_is_back(lab: Lab) -> None:
    group = lab.create()
    leader = lab.lead(group)
    leader.say(trouble=pb.Trouble(what=pb.Trouble.TIMED_OUT, operation=5, text="nothing came", on_endpoints=True))
    prove = leader.wait_for("prove")
    assert prove.epoch == group.epoch + 1
    assert leader.wait_for("force").path == pb.PATH_AUTO
    before = leader.heard[: leader.heard.index(pb.Directive(force=leader.told("force")[0]))]
    assert before[-1].block.decision.offload
    assert lab.group().fallbacks == 1
    assert lab.on_switch().groups[3].epoch == prove.epoch


def test_until_then_blocks_are_for_the_endpoints(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plane, "FIRST_PROOF_S", 30.0)
    leader = lab.lead(lab.create())
    leader.say(trouble=pb.Trouble(what=pb.Trouble.REFUSED, operation=5, text="damaged"))
    leader.say(need_block=pb.NeedBlock(first=32, count=32))
    assert leader.wait_for("block", 2).decision.offload  # it was repeated on the switch
    leader.say(trouble=pb.Trouble(what=pb.Trouble.TIMED_OUT, operation=6, text="nothing", on_endpoints=True))
    leader.say(need_block=pb.NeedBlock(first=64, count=32))
    decision = leader.wait_for("block", 3).decision
    assert (decision.offload, decision.reason) == (False, "the switch has not yet added up a test vector")
    assert not leader.told("prove")


def test_a_switch_that_adds_up_wrongly_is_tried_again(lab: Lab) -> None:
    leader = lab.lead(lab.create(), proves=False)
    leader.say(trouble=pb.Trouble(what=pb.Trouble.TIMED_OUT, on_endpoints=True))
    first, again = leader.wait_for("prove"), leader.wait_for("prove", 2)
    assert again.epoch == first.epoch + 1
    assert again.request != first.request
    assert not leader.told("force")


def test_a_switch_that_was_restarted_gets_everything_again() -> None:
    with (
        a_switch() as switch,
        a_controller(switch.address) as controller,
        ControllerClient(controller.address) as client,
    ):
        lab = Lab(switch, controller, client)
        group = lab.create()
        leader = lab.lead(group)
        device = controller.plane.devices["leaf1"]
        address = switch.address
        switch.stop()
        until(lambda: not device.view.is_reachable, "the switch is missed")
        assert leader.wait_for("block", 2).decision.reason == "the switch does not answer"
        with a_switch(address) as anew:
            lab.switch = anew
            # What its leader has under way there is lost: it must not wait for it.
            assert leader.wait_for("force").path == pb.PATH_ENDPOINT
            prove = leader.wait_for("prove")
            state = lab.on_switch()
            assert {rule.key for rule in state.rules} == {spec.key for spec in rules_for(3, PORTS)}
            assert state.groups[3].epoch == prove.epoch
            assert prove.epoch not in (group.epoch, group.epoch + 1)
            assert leader.wait_for("force", 2).path == pb.PATH_AUTO


def test_what_is_missing_is_mended_and_what_is_anothers_stays(lab: Lab) -> None:
    group = lab.create()
    device = lab.controller.plane.devices["leaf1"]
    hand = device._switch()
    hand.delete_rule(3, 4, Span(0, 0x7FFF), Span())
    hand.ensure_group(9, (1, 2), 64)
    _reconnect(lab)
    state = lab.on_switch()
    assert {rule.key for rule in state.rules} == {spec.key for spec in rules_for(3, PORTS)}
    assert state.groups[3].epoch == group.epoch
    assert state.groups[9].slots == 64


def test_a_group_that_cannot_be_removed_now_goes_later(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.create()
    device = lab.controller.plane.devices["leaf1"]

    def gone(_: int, **__: object) -> None:
        raise Unreachable("no answer")

    monkeypatch.setattr(device, "remove", gone)
    lab.client.remove_job(JOB)
    assert 3 in lab.on_switch().groups
    _reconnect(lab)
    until(lambda: not lab.on_switch().groups, "the group is gone")
    assert not lab.controller.plane.leftovers_on("leaf1")


def test_who_removes_a_group_late_leaves_the_next_one_of_its_number_alone(lab: Lab) -> None:
    lab.create()
    installer = lab.controller.plane._installer
    installer.let_go(JOB, 3)
    again = lab.create()
    installer.take_away("leaf1", 3)
    assert lab.on_switch().groups[3].epoch == again.epoch


def test_a_switch_that_comes_late_is_used_when_it_has_proved_itself() -> None:
    with a_switch() as switch:
        address = switch.address
    with a_controller(address) as controller, ControllerClient(controller.address, timeout=20) as client:
        until(lambda: "not been asked" not in controller.plane.devices["leaf1"].view.error, "a first look")
        lab = Lab(switch, controller, client)
        group = lab.create()
        assert (group.epoch, group.lanes, group.decision.offload) == (0, 0, False)
        leader = lab.lead(group)
        with a_switch(address) as late:
            lab.switch = late
            prove = leader.wait_for("prove")
            assert lab.on_switch().groups[3].epoch == prove.epoch
            assert leader.wait_for("force").path == pb.PATH_AUTO
            assert leader.told("block")[-1].decision.offload


def test_a_group_without_its_leader_goes_and_its_job_with_it() -> None:
    with a_lab(grace=0.3) as lab:
        leader = lab.lead(lab.create())
        time.sleep(0.5)
        assert lab.group().attached
        leader.leave()
        until(lambda: not lab.client.statistics().groups, "the group is gone")
        until(lambda: not lab.on_switch().groups, "from the switch, too")
        assert not lab.controller.plane.jobs()


def test_a_second_stream_takes_the_place_of_the_first(lab: Lab) -> None:
    first = lab.lead(lab.create())
    second = lab.lead(lab.create())
    until(lambda: first.ended is not None, "the first stream's end")
    assert lab.client.set_offload([3], pb.PATH_ENDPOINT, "")[0].holds
    assert second.told("force")
    assert not first.told("force")


def test_a_controller_that_comes_back_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "folder" / "state.sqlite"
    with a_switch() as switch:
        with a_controller(switch.address, state=state) as controller, ControllerClient(controller.address) as client:
            lab = Lab(switch, controller, client)
            group, other = lab.create(), lab.create(4)
            lab.client.set_offload([4], pb.PATH_ENDPOINT, "kept")
            lab.client.configure(pb.Settings(offload_threshold=0.1))
            lab.client.configure(pb.Settings(offload_threshold=0.15), 4)
            lab.client.drain("leaf1")
        with a_controller(switch.address, state=state) as controller, ControllerClient(controller.address) as client:
            lab = Lab(switch, controller, client)
            until(lambda: controller.plane.devices["leaf1"].view.is_reachable, "the switch")
            assert lab.client.statistics().devices[0].drained
            lab.client.drain("leaf1", release=True)
            now = {each.group_id: each for each in lab.client.statistics().groups}
            assert (now[3].epoch, now[4].epoch) == (group.epoch, other.epoch)
            assert lab.on_switch().groups[3].epoch == group.epoch
            assert now[4].wanted == pb.PATH_ENDPOINT
            assert [now[3].threshold, now[4].threshold] == pytest.approx([0.1, 0.15])
            hello = pb.Hello(job_id=JOB, group_id=3, epoch=group.epoch, next_operation=40, path=pb.PATH_SWITCH)
            leader = Leader(client, hello)
            assert leader.wait_for("block").decision.offload
            # Whatever was asked for meanwhile, it hears of it.
            assert leader.wait_for("force").path == pb.PATH_AUTO
            assert not leader.told("prove")
            # One that has left the switch while there was no controller is tested.
            hello = pb.Hello(job_id=JOB, group_id=4, next_operation=40, path=pb.PATH_ENDPOINT, reason="timed out")
            assert Leader(client, hello).wait_for("prove").epoch == other.epoch + 1


def test_a_hot_switch_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with a_switch(temperature=91.0) as switch, a_controller(switch.address) as controller:
        device = controller.plane.devices["leaf1"]
        until(lambda: device.view.temperature_c == 91.0, "the temperature")
        assert "device leaf1 is hot" in caplog.text
