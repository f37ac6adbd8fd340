"""The protocol, against a model of the switch, in virtual time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cais_tools.errors import CaisError
from cais_tools.links.faults import FaultModel
from cais_tools.wire import Header, Job, Op
from cais_tools.worker import blocks, collectives
from cais_tools.worker.config import Timing
from cais_tools.worker.errors import OperationTimedOut, ResultRefused
from cais_tools.worker.exchange import Exchange
from tests.unit.worker.model import SCATTERED, Rank, Simulation

BAD = FaultModel(loss=0.05, duplicate=0.05, reorder=0.05)


def tensors(ranks: int, shape: tuple[int, ...], seed: int = 0) -> NDArray[np.int32]:
    limits = np.iinfo(np.int32)
    return np.random.default_rng(seed).integers(limits.min, limits.max, (ranks, *shape), np.int32, endpoint=True)


def sum_of(simulation: Simulation, inputs: NDArray[np.int32], layer_id: int = 5) -> list[NDArray[Any]]:
    return simulation.run(lambda m: collectives.all_reduce(m, inputs[m.rank], Op.ALLREDUCE, layer_id))


def wrapped_sum(inputs: NDArray[np.int32]) -> NDArray[np.int32]:
    return inputs.sum(axis=0, dtype=np.int32)


@pytest.mark.parametrize("ranks", [1, 2, 4, 32])
def test_sums_over_good_links_need_no_retransmission(ranks: int) -> None:
    simulation, inputs = Simulation(ranks), tensors(ranks, (50, 20))
    for result in sum_of(simulation, inputs):
        np.testing.assert_array_equal(result, wrapped_sum(inputs))
    assert simulation.counters.retransmitted == simulation.counters.duplicates == 0
    assert simulation.counters.sent == simulation.counters.results == ranks * 125


@pytest.mark.parametrize("seed", range(4))
def test_every_operation_over_bad_links(seed: int) -> None:
    simulation = Simulation(4, slots=16, faults=FaultModel(0.1, 0.1, 0.1, 0.0, seed))
    for step in range(5):
        inputs = tensors(4, (4, 33), seed * 10 + step)
        for result in sum_of(simulation, inputs):
            np.testing.assert_array_equal(result, wrapped_sum(inputs))
        gathered = simulation.run(lambda m, x=inputs: collectives.all_gather(m, x[m.rank], 1))
        for result in gathered:
            np.testing.assert_array_equal(result, inputs)
        owner = step % 4
        for result in simulation.run(lambda m, x=inputs, o=owner: collectives.broadcast(m, x[m.rank], o, 1)):
            np.testing.assert_array_equal(result, inputs[owner])
        scattered = simulation.run(lambda m, x=inputs: collectives.reduce_scatter(m, x[m.rank], SCATTERED))
        for rank, result in enumerate(scattered):
            np.testing.assert_array_equal(result, wrapped_sum(inputs)[rank : rank + 1])
    assert simulation.counters.retransmitted > 0
    assert simulation.counters.refused == 0


@given(
    ranks=st.integers(1, 5),
    slots=st.sampled_from([2, 4, 8, 64]),
    elements=st.integers(0, 300),
    loss=st.floats(0, 0.3),
    duplicate=st.floats(0, 0.3),
    reorder=st.floats(0, 0.3),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=30)
def test_sums_are_right_whatever_links_do(
    ranks: int, slots: int, elements: int, loss: float, duplicate: float, reorder: float, seed: int
) -> None:
    faults = FaultModel(loss, duplicate, reorder, 0.0, seed)
    simulation = Simulation(ranks, slots=slots, faults=faults, timing=Timing(timeout=60.0))
    for step in range(2):
        inputs = tensors(ranks, (elements,), seed + step)
        for result in sum_of(simulation, inputs):
            np.testing.assert_array_equal(result, wrapped_sum(inputs))


def test_sequence_numbers_wrap() -> None:
    simulation = Simulation(3, slots=8, faults=BAD, job=Job(1, 2**32 - 10))
    for step in range(3):
        inputs = tensors(3, (80,), step)
        for result in sum_of(simulation, inputs):
            np.testing.assert_array_equal(result, wrapped_sum(inputs))


def test_no_rank_has_more_than_half_the_slots_in_flight() -> None:
    simulation = Simulation(2, slots=8, timing=Timing(first_window=64))
    simulation.switch.silent = {1}  # nothing is ever answered
    with pytest.raises(OperationTimedOut):
        sum_of(simulation, tensors(2, (1000,)))
    exchanges = [rank.exchange for rank in simulation.ranks]
    assert [exchange.progress.sent for exchange in exchanges if exchange is not None] == [4, 4]


def test_windows_start_small_and_grow() -> None:
    simulation = Simulation(2, slots=1024, timing=Timing(first_window=4))
    assert [rank.pacing.window for rank in simulation.ranks] == [4, 4]
    sum_of(simulation, tensors(2, (8 * 2000,)))
    assert all(rank.pacing.window == 512 for rank in simulation.ranks)


def test_a_loss_makes_the_window_smaller() -> None:
    simulation = Simulation(2, slots=64, faults=FaultModel(loss=0.2, seed=1), timing=Timing(timeout=60.0))
    sum_of(simulation, tensors(2, (8 * 200,)))
    assert all(rank.pacing.window < 32 for rank in simulation.ranks)


def repeated_sum(simulation: Simulation, inputs: NDArray[np.int32]) -> tuple[list[NDArray[Any]], list[CaisError]]:
    """Repeat under new jobs, as a coordinator does, until a result is accepted."""
    causes: list[CaisError] = []
    while True:
        try:
            return sum_of(simulation, inputs), causes
        except (ResultRefused, OperationTimedOut) as err:
            causes.append(err)
            simulation.restart()


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_never_make_a_wrong_sum(seed: int) -> None:
    simulation = Simulation(4, faults=FaultModel(0.02, 0.02, 0.02, 0.02, seed))
    repeats = 0
    for step in range(10):
        inputs = tensors(4, (100,), seed * 100 + step)
        results, causes = repeated_sum(simulation, inputs)
        repeats += len(causes)
        for result in results:
            np.testing.assert_array_equal(result, wrapped_sum(inputs))
    assert simulation.counters.refused > 0
    assert repeats > 0


def alone(packets: int = 1) -> tuple[Rank, Exchange]:
    """A group of one rank: what it sends is the result."""
    rank = Simulation(1).ranks[0]
    values = tensors(1, (8 * packets,))[0]
    rank.begin(collectives.all_reduce(rank.member, values, Op.ALLREDUCE, 5), None, Job.of_epoch(1), 0.0)
    assert rank.exchange is not None
    return rank, rank.exchange


def sent_by(exchange: Exchange, now: float) -> list[bytes]:
    return [row.tobytes() for matrix in exchange.poll_transmit(now) for row in matrix]


def flipped(frame: bytes, byte: int) -> bytes:
    return frame[:byte] + bytes([frame[byte] ^ 1]) + frame[byte + 1 :]


CHUNK, RESERVED, LANE = 14 + 5, 14 + 19, 14 + 20 + 3


@pytest.mark.parametrize("byte", [CHUNK, RESERVED, LANE])
def test_a_result_damaged_on_the_way_is_asked_for_once_more(byte: int) -> None:
    rank, exchange = alone()
    (good,) = sent_by(exchange, 0.0)
    bad = flipped(good, byte)
    exchange.receive([bad], 0.001)
    exchange.receive([bad], 0.001)  # a copy of the same result is no second refusal
    assert exchange.wake_up() <= 0.001
    assert sent_by(exchange, 0.001) == [good]
    exchange.receive([flipped(good, 15)], 0.002)  # of another group
    assert not exchange.complete
    exchange.receive([bad, good], 0.002)  # a late copy of the bad one does not spoil the good one
    assert exchange.complete
    np.testing.assert_array_equal(exchange.results, exchange.transfer.payload)
    assert (rank.counters.refused, rank.counters.foreign, rank.counters.retransmitted) == (2, 1, 1)


def test_a_result_that_is_bad_again_is_refused() -> None:
    _, exchange = alone()
    (good,) = sent_by(exchange, 0.0)
    exchange.receive([flipped(good, LANE)], 0.001)
    sent_by(exchange, 0.001)
    with pytest.raises(ResultRefused, match="a bit was flipped"):
        exchange.receive([flipped(good, LANE)], 0.002)


def test_a_result_of_what_has_not_been_sent_is_ignored() -> None:
    rank, exchange = alone(20)
    frames = sent_by(exchange, 0.0)
    assert len(frames) == 16
    header = Header.unpack(frames[0], 14)._replace(seq_num=Job.of_epoch(1).first_seq + 18)
    exchange.receive([frames[0][:14] + header.pack() + frames[0][34:]], 0.001)
    assert exchange.progress.done == rank.counters.refused == 0
    assert rank.counters.late == 1


def test_the_owners_acknowledgement_is_checked_against_its_own_payload() -> None:
    simulation, inputs = Simulation(2), tensors(2, (8,))
    owner = simulation.ranks[1]
    plans = [collectives.broadcast(rank.member, inputs[1], 1, 5) for rank in simulation.ranks]
    answers: list[tuple[int, bytes]] = []
    for i, rank in enumerate(simulation.ranks):
        rank.begin(plans[i], None, simulation.job, 0.0)
        assert rank.exchange is not None
        answers += simulation.switch.process(i, sent_by(rank.exchange, 0.0)[0])
    acknowledgement = dict(answers)[1]
    assert len(acknowledgement) == 34
    assert owner.exchange is not None
    owner.exchange.receive([flipped(acknowledgement, RESERVED)], 0.001)
    assert owner.counters.refused == 1
    owner.exchange.receive([acknowledgement], 0.001)
    assert owner.exchange.complete


def test_only_round_trips_that_say_something_are_measured() -> None:
    rank, exchange = alone(4)
    frames = sent_by(exchange, 0.0)
    exchange.receive([frames[1]], 0.02)
    measured = rank.pacing.rto
    assert measured == pytest.approx(0.06)  # RFC 6298 (2.2)
    exchange.receive([frames[0]], 0.03)  # overtaken by a later one
    assert rank.pacing.rto == measured
    assert sent_by(exchange, 0.11) == frames[2:]
    exchange.receive(frames[2:], 0.111)  # sent twice
    assert rank.pacing.rto == measured


@pytest.mark.parametrize("bit", [0, 15, 16, 27, 30])
def test_a_damaged_exponent_is_refused(bit: int) -> None:
    simulation = Simulation(2)
    process = simulation.switch.process

    def damage(port: int, frame: bytes) -> list[tuple[int, bytes]]:
        answer = process(port, frame)
        slot = simulation.switch.state[0]
        if len(answer) == 2 and slot.key[0] == Op.ALLREDUCE_MAX:
            slot.lanes = slot.lanes ^ np.int32(1 << bit)
            return [(rank, answer[rank][1][:34] + slot.lanes.astype(">i4").tobytes()) for rank in range(2)]
        return answer

    simulation.switch.process = damage
    values = np.ones((2, 8), np.float32)
    with pytest.raises(ResultRefused, match="not what a reduction"):
        simulation.run(lambda m: collectives.all_reduce(m, values[m.rank], Op.ALLREDUCE, 5))


def test_a_rank_that_believes_in_another_exponent_is_found_out() -> None:
    simulation = Simulation(2)
    misled = simulation.ranks[1]
    begin = misled.begin

    def mislead(plan: collectives.Plan[Any], results: Any, job: Job, now: float) -> None:
        if results is not None:
            results[0, 0] = blocks.codewords(np.array([[1e6]]))[0, 0]  # sound, and not below its own
        begin(plan, results, job, now)

    misled.begin = mislead
    values = np.ones((2, 8), np.float32)
    with pytest.raises(ResultRefused, match="does not match"):
        simulation.run(lambda m: collectives.all_reduce(m, values[m.rank], Op.ALLREDUCE, 5))


def test_a_stored_result_that_is_bad_is_refused_with_its_cause() -> None:
    simulation, inputs = Simulation(3), tensors(3, (8,))
    process = simulation.switch.process

    def forget_rank_1(port: int, frame: bytes) -> list[tuple[int, bytes]]:
        answer = process(port, frame)
        slot = simulation.switch.state[0]
        if slot.ranks == {0}:
            slot.ranks.add(1)
        return answer

    simulation.switch.process = forget_rank_1
    with pytest.raises(ResultRefused, match=r"rank 1 \(port 2\) is missing in it") as caught:
        sum_of(simulation, inputs)
    assert caught.value.chunk_id == 0


def test_a_rank_counted_twice_is_named() -> None:
    simulation, inputs = Simulation(3), tensors(3, (8,))
    process = simulation.switch.process

    def count_rank_1_twice(port: int, frame: bytes) -> list[tuple[int, bytes]]:
        if port == 1:
            process(port, frame)
            simulation.switch.state[0].ranks.remove(1)
        return process(port, frame)

    simulation.switch.process = count_rank_1_twice
    with pytest.raises(ResultRefused, match=r"rank 1 \(port 2\) is in it twice"):
        sum_of(simulation, inputs)


def test_ranks_that_diverge_are_never_added() -> None:
    simulation, inputs = Simulation(2), tensors(2, (8,))
    with pytest.raises(OperationTimedOut):
        simulation.run(lambda m: collectives.all_reduce(m, inputs[m.rank], Op.ALLREDUCE, m.rank))


def test_a_rank_of_another_job_is_refused() -> None:
    simulation, inputs = Simulation(2), tensors(2, (8,))
    simulation.ranks[1].begin = lambda plan, results, job, now, begin=simulation.ranks[1].begin: begin(
        plan, results, Job(99, job.first_seq), now
    )
    with pytest.raises(ResultRefused, match="does not match"):
        sum_of(simulation, inputs)


def test_a_rule_without_this_port_is_named() -> None:
    simulation = Simulation(2)
    simulation.switch.outputs = lambda op, layer_id, chunk_id: {0}
    with pytest.raises(ResultRefused, match="does not name this rank's port"):
        sum_of(simulation, tensors(2, (8,)))


def test_a_silent_switch_times_out() -> None:
    simulation = Simulation(2, timing=Timing(timeout=2.0))
    simulation.switch.silent = {0, 1}
    with pytest.raises(OperationTimedOut, match=r"0 of 13 packets done, no result for 2 s") as caught:
        sum_of(simulation, tensors(2, (100,)))
    assert caught.value.hint is not None
    assert "rank 0 (port 1), rank 1 (port 2)" in caught.value.hint
    named = caught.value.with_missing({1: "has sent nothing"})
    assert "rank 1 (port 2) has sent nothing" in str(named)
    assert named.hint is not None
    assert "link of port 2" in named.hint
    assert simulation.counters.retransmitted == 5 * 2 * 13  # after 0.1, 0.2, 0.4, 0.8 and 1.6 s
    assert simulation.ranks[0].counters.results == 0


def test_a_new_job_frees_a_slot_that_a_damaged_number_holds() -> None:
    simulation, inputs = Simulation(2, timing=Timing(timeout=1.0)), tensors(2, (8,))
    sum_of(simulation, inputs)
    simulation.switch.state[1 % 64] = simulation.switch.state[0]
    simulation.switch.state[1 % 64].seq = simulation.job.first_seq + 2**30 + 1
    with pytest.raises(OperationTimedOut):
        sum_of(simulation, inputs)
    simulation.restart()
    for result in sum_of(simulation, inputs):
        np.testing.assert_array_equal(result, wrapped_sum(inputs))
