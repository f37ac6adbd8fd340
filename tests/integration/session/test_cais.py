"""Groups, rules and telemetry on real switches with the shipped program."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from cais_tools.errors import Refused
from cais_tools.session import DeviceError
from cais_tools.session.cais import CaisSwitch, ChangeKind, Rates, RuleSpec, Snapshot, Span
from cais_tools.wire.frames import build_frames
from cais_tools.wire.header import DEFAULT_LANES, Op
from tests.integration.session.targets import SwitchUnderTest

ANY = Span()
ALL4 = (1, 2, 3, 4)


def _spec(op: Op = Op.ALLREDUCE, layer: Span = ANY, chunk: Span = ANY, **changes: tuple[int, ...]) -> RuleSpec:
    return RuleSpec(3, op, layer, chunk, changes.get("inputs", ALL4), changes.get("outputs", ALL4))


def test_the_life_of_a_group(cais: CaisSwitch) -> None:
    empty = cais.state()
    created = cais.add_rule(_spec(layer=Span(5, 5)))
    assert cais.state().groups == {3: created.group.group}
    with pytest.raises(Refused, match="this rule exists"):
        cais.add_rule(_spec(layer=Span(5, 5)))
    assert cais.ensure_rule(_spec(layer=Span(5, 5))).kind is ChangeKind.UNCHANGED
    cais.add_rule(_spec(Op.BROADCAST, chunk=Span(0, 9), inputs=(2,), outputs=(1, 3, 4)))
    cais.add_rule(_spec(Op.ALLREDUCE_MAX, inputs=(*ALL4, 5), outputs=(5,)))
    job = cais.start_job(3)
    state = cais.state(hits=True)
    assert state.groups[3].ports == (1, 2, 3, 4, 5)
    assert state.groups[3].epoch == job.epoch
    assert [(rule.op, str(rule.layer), str(rule.chunk), rule.outputs) for rule in state.rules] == [
        (0, "5", "any", ALL4),
        (2, "any", "0-9", (1, 3, 4)),
        (3, "any", "any", (5,)),
    ]
    assert all(each.ports == {1, 2, 3, 4, 5} for each in state.output_sets.values())
    cais.delete_rule(3, Op.BROADCAST, ANY, Span(0, 9))
    assert len(cais.state().output_sets) == 2
    cais.remove_group(3)
    assert cais.state() == empty


def test_the_most_specific_rule_is_read_first(cais: CaisSwitch) -> None:
    for layer, chunk in ((ANY, ANY), (Span(5, 5), ANY), (Span(5, 5), Span(0, 0)), (Span(4, 7), Span(0, 0))):
        cais.add_rule(_spec(layer=layer, chunk=chunk))
    assert [f"{rule.layer}/{rule.chunk}" for rule in cais.rules()] == ["5/0", "4-7/0", "5/any", "any/any"]


def test_a_port_that_does_not_exist(cais: CaisSwitch, target: SwitchUnderTest) -> None:
    if not target.refuses_unknown_ports:
        pytest.skip("bmv2 takes entries for any port")
    with pytest.raises(DeviceError, match="7") as error:
        cais.add_rule(_spec(outputs=(1, 7)))
    assert "have all these ports" in (error.value.hint or "")
    assert cais.state().output_sets == {}


def test_an_idle_switch_has_no_telemetry_to_speak_of(cais: CaisSwitch) -> None:
    cais.add_rule(_spec())
    shot = cais.snapshot()
    assert (shot.pool, shot.slots_allocated, shot.slots_in_use, shot.operations) == (4096, 256, 0, 0)
    assert list(shot.groups) == [3]
    assert list(shot.ports) == [1, 2, 3, 4]
    assert [rule.packets for rule in shot.rules] == [0]


def _wait(read: Callable[[], Snapshot], done: Callable[[Snapshot], bool]) -> Snapshot:
    ended = time.monotonic() + 30
    while not done(shot := read()):
        assert time.monotonic() < ended, shot
        time.sleep(0.02)
    return shot


def test_telemetry_of_real_sums(cais: CaisSwitch, target: SwitchUnderTest) -> None:
    if not target.hosts:
        pytest.skip("bmv2 needs veth interfaces: root and ip (iproute2)")
    cais.add_rule(_spec(layer=Span(0, 0)))
    job = cais.start_job(3)
    before = cais.snapshot()
    payload = np.ones((10, DEFAULT_LANES), np.int32)

    def send(port: int, count: int, layer: int = 0) -> None:
        frames = build_frames(
            op=Op.ALLREDUCE,
            group_id=3,
            rank=0,
            layer_id=layer,
            total_chunks=10,
            chunk_ids=np.arange(count),
            seq_nums=(job.first_seq + np.arange(count)).astype(np.uint32),
            tags=0,
            payload_len=DEFAULT_LANES * 4,
            payload=payload[:count],
        )
        target.hosts[port].send_matrix(frames)

    for port in ALL4:
        send(port, 10 if port < 4 else 7)
    send(5, 2)  # no member
    send(1, 1, layer=9)  # no rule
    after = _wait(cais.snapshot, lambda shot: shot.groups[3].contributions == 40)
    group = after.groups[3]
    assert {name: count for name, count in group.packets.items() if count} == {
        "opened": 10,
        "added": 20,
        "completed": 7,
        "no_member": 2,
        "no_rule": 1,
    }
    assert (group.slots_in_use, after.sram_usage) == (3, 3 / 4096)
    assert group.bytes["opened"] == 10 * (14 + 20 + 4 * DEFAULT_LANES)
    settled = _wait(cais.snapshot, lambda shot: all(shot.ports[port].sent.packets == 7 for port in ALL4))
    assert settled.ports[5].received.packets == 2
    assert settled.rules[0].packets == 37
    assert settled.delay.total == 28
    rates = Rates.between(before, settled)
    assert rates.operations_per_s * rates.seconds == pytest.approx(7)
    assert rates.fallback_ratio == pytest.approx(3 / 40)
    cais.remove_group(3)
    assert 3 not in cais.snapshot().groups
