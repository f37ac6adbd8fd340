"""Ranks, their leader and a real switch: sums, faults, and that all take the same way."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from cais_tools.links.faults import FaultModel
from cais_tools.session.cais import RuleSpec, Span
from cais_tools.training import directives as d
from cais_tools.training.errors import Diverged, FallbackFailed, RankLost
from cais_tools.training.operations import Operation
from cais_tools.wire import Op
from tests.integration.training.lab import GROUP, PORTS, RANKS, SHARED, a_lab, integers


def test_every_operation_goes_through_the_switch() -> None:
    with a_lab() as lab:
        arrays = [integers(rank, 1000) for rank in range(RANKS)]
        lab.sum()
        for result in lab.run("ALL_REDUCE_MAX", arrays):
            np.testing.assert_array_equal(result, np.max(arrays, axis=0))
        for result in lab.run("ALL_REDUCE_MIN", arrays):
            np.testing.assert_array_equal(result, np.min(arrays, axis=0))
        for result in lab.run("ALL_REDUCE_PRODUCT", arrays):
            np.testing.assert_array_equal(result, np.prod(arrays, axis=0, dtype=np.int32))
        total = np.sum(arrays, axis=0, dtype=np.int32)
        for rank, result in enumerate(lab.run("REDUCE_SCATTER", arrays)):
            np.testing.assert_array_equal(result, np.split(total, RANKS)[rank])
        for result in lab.run("ALL_GATHER", arrays):
            np.testing.assert_array_equal(result, np.stack(arrays))
        for result in lab.run("BROADCAST", arrays, root=2):
            np.testing.assert_array_equal(result, arrays[2])
        assert [group.stats.on_switch for group in lab.groups] == [7] * RANKS


def test_training_goes_on_when_the_switch_is_killed() -> None:
    with a_lab() as lab:
        for step in range(10):
            lab.sum(step)
        lab.process.process.send_signal(signal.SIGKILL)
        lab.sum(10)
        for step in range(11, 40):
            lab.sum(step)
        stats = [group.stats for group in lab.groups]
        assert {each.on_switch + each.handed_out + each.on_endpoints for each in stats} == {40}
        assert {each.fallbacks for each in stats} == {1}
        assert lab.told(d.Trouble)[0].what is d.What.TIMED_OUT


def test_when_the_fallback_fails_too_all_ranks_raise() -> None:
    with a_lab() as lab:
        lab.sum()
        lab.process.process.send_signal(signal.SIGKILL)
        lab.groups[2]._endpoints.close()
        for future in lab.submit("ALL_REDUCE", [integers(rank) for rank in range(RANKS)]):
            with pytest.raises(FallbackFailed, match="could not do operation 1 at all"):
                future.result(15)


def test_lost_packets_are_repaired_without_a_fallback() -> None:
    with a_lab(FaultModel(loss=0.02)) as lab:
        for step in range(20):
            lab.sum(step, 4000)
        assert {group.stats.on_endpoints for group in lab.groups} == {0}


def test_a_force_reaches_all_at_one_operation() -> None:
    with a_lab() as lab:
        lab.attach()
        lab.sum()
        lab.hub.directive(d.Force(7, d.Path.ENDPOINT, "the operator said so"))
        changed = lab.wait_for(d.Changed)
        assert (changed.request, changed.from_operation) == (7, 1)
        lab.sum(1)
        assert [group.stats.reasons["the operator said so"] for group in lab.groups] == [1] * RANKS
        lab.hub.directive(d.Force(8, d.Path.AUTO, ""))
        while len(lab.told(d.Changed)) < 2:
            time.sleep(0.01)
        lab.sum(2)
        assert [group.stats.on_switch for group in lab.groups] == [2] * RANKS


def test_offload_toggled_while_operations_run() -> None:
    with a_lab() as lab:
        lab.attach()
        for step in range(60):
            futures = lab.submit("ALL_REDUCE", [integers(rank, 500, step) for rank in range(RANKS)])
            path = d.Path.ENDPOINT if step % 2 else d.Path.SWITCH
            lab.hub.directive(d.Force(step, path, "toggled"))
            expected = np.sum([integers(rank, 500, step) for rank in range(RANKS)], axis=0, dtype=np.int32)
            for future in futures:
                np.testing.assert_array_equal(future.result(20), expected)
        assert len({(group.stats.on_switch, group.stats.on_endpoints) for group in lab.groups}) == 1
        assert all(group.stats.on_switch and group.stats.on_endpoints for group in lab.groups)
        assert not lab.told(d.Trouble)


def test_the_switch_comes_back_when_it_has_proved_itself() -> None:
    with a_lab() as lab:
        lab.attach()
        lab.sum()
        # A rule that is gone is like a switch that is gone, but for that it can come back.
        lab.switch.delete_rule(GROUP, Op.ALLREDUCE, SHARED, Span())
        lab.sum(1)
        assert lab.groups[0].stats.fallbacks == 1
        lab.hub.directive(d.Prove(1, lab.new_epoch()))
        for step in range(2, 6):
            lab.sum(step)
        assert not lab.wait_for(d.Proved).right
        lab.switch.add_rule(RuleSpec(GROUP, Op.ALLREDUCE, SHARED, Span(), PORTS, PORTS))
        lab.reports.clear()
        lab.hub.directive(d.Prove(2, lab.new_epoch()))
        while not lab.told(d.Proved):
            lab.sum(6)
        assert lab.told(d.Proved) == [d.Proved(2, True, "")]
        lab.hub.directive(d.Force(3, d.Path.AUTO, ""))
        lab.wait_for(d.Changed)
        before = lab.groups[0].stats.on_switch
        for step in range(7, 12):
            lab.sum(step)
        assert lab.groups[0].stats.on_switch == before + 5


def test_a_damaged_result_is_repeated_under_new_numbers() -> None:
    with a_lab(FaultModel(corrupt=0.003)) as lab:
        lab.attach()
        for step in range(30):
            lab.sum(step)
        assert lab.groups[0].stats.repeats > 0
        assert lab.told(d.Trouble)[0].what is d.What.REFUSED


def test_ranks_that_diverge_are_named() -> None:
    with a_lab() as lab:
        lab.sum()
        futures = [
            group.submit(Operation("ALL_REDUCE", integers(rank, 64 if rank == 2 else 60), "int32"))
            for rank, group in enumerate(lab.groups)
        ]
        for future in futures:
            with pytest.raises(Diverged, match="rank 2 calls all_reduce of 256 bytes"):
                future.result(10)


def test_when_a_rank_ends_all_others_raise() -> None:
    with a_lab() as lab:
        lab.sum()
        futures = [group.submit(Operation("ALL_REDUCE", integers(0), "int32")) for group in lab.groups[:3]]
        lab.groups[3].abort()
        for future in futures:
            with pytest.raises(RankLost, match="rank 3 has ended"):
                future.result(10)


def test_a_straggler_is_no_fault() -> None:
    with a_lab(stall=0.8) as lab:
        arrays = [integers(rank) for rank in range(RANKS)]
        early = [lab.groups[rank].submit(Operation("ALL_REDUCE", arrays[rank], "int32")) for rank in range(3)]
        time.sleep(1.6)
        late = lab.groups[3].submit(Operation("ALL_REDUCE", arrays[3], "int32"))
        for future in (*early, late):
            np.testing.assert_array_equal(future.result(10), np.sum(arrays, axis=0, dtype=np.int32))
        assert {group.stats.on_switch for group in lab.groups} == {1}
        assert not lab.told(d.Trouble)


def test_all_leave_together() -> None:
    with a_lab() as lab:
        lab.sum()
        threads = [threading.Thread(target=group.close, args=(5.0,)) for group in lab.groups]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
        assert not lab.told(d.Trouble)
