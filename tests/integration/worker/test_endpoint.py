"""Endpoints over real cables, with a model of the switch at the other end."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from cais_tools.errors import UsageError
from cais_tools.links.cable import Cable
from cais_tools.links.faults import FaultModel, FaultyLink
from cais_tools.wire import Job, Op
from cais_tools.worker import (
    Endpoint,
    LocalGroup,
    Membership,
    OperationInterrupted,
    OperationTimedOut,
    Patience,
    ResultRefused,
    Timing,
    blocks,
    collectives,
    halves,
)
from tests.unit.worker.model import SCATTERED, ModelSwitch

RANKS, SLOTS, LANES = 4, 64, 16


class Bench:
    """A model switch in a thread of its own, cables, and a group of ranks in this process."""

    def __init__(self, faults: FaultModel | None = None, *, timeout: float = 10.0) -> None:
        self.job = Job.of_epoch(1)
        self.switch = ModelSwitch(RANKS, SLOTS, LANES, epoch=1)
        self.heard = dict.fromkeys(range(1, RANKS + 1), 0)
        self.ports = [Cable() for _ in range(RANKS)]
        self.hosts = [Cable(0, port.local_port) for port in self.ports]
        for port, host in zip(self.ports, self.hosts, strict=True):
            port.connect(host.local_port)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        model = faults or FaultModel()
        self.endpoints = [
            Endpoint(
                FaultyLink(host, FaultModel(model.loss, model.duplicate, model.reorder, model.corrupt, rank)),
                Membership(3, rank, RANKS, SLOTS, LANES, ports={r: r + 1 for r in range(RANKS)}),
                self.job,
                timing=Timing(timeout=timeout),
            )
            for rank, host in enumerate(self.hosts)
        ]
        self.group = LocalGroup(self.endpoints, renew=self.renew, heard=self.frames_heard)

    def renew(self) -> Job:
        self.job = Job.of_epoch(self.job.epoch + 1)
        self.switch.epoch = self.job.epoch
        return self.job

    def frames_heard(self) -> Mapping[int, int]:
        return self.heard

    def close(self) -> None:
        self.group.close()
        self._ended.set()
        self._thread.join()
        for cable in (*self.ports, *self.hosts):
            cable.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            for cable in select.select(self.ports, [], [], 0.02)[0]:
                rank = self.ports.index(cable)
                out: dict[int, list[bytes]] = {}
                for frame in cable.recv():
                    self.heard[rank + 1] += rank not in self.switch.silent
                    for port, result in self.switch.process(rank, frame):
                        out.setdefault(port, []).append(result)
                for port, results in out.items():
                    self.ports[port].send(results)


@pytest.fixture
def make() -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def build(*args: Any, **kwargs: Any) -> Bench:
        benches.append(Bench(*args, **kwargs))
        return benches[-1]

    yield build
    for bench in benches:
        bench.close()


def int32(seed: int, *shape: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.random.default_rng(seed).integers(-(2**31), 2**31, (RANKS, *shape), dtype=np.int32)


def check_everything(group: LocalGroup, steps: int) -> None:
    for step in range(steps):
        x = int32(step, 8, 50)
        total = x.sum(axis=0, dtype=np.int32)
        for result in group.run(lambda e, x=x: e.all_reduce(x[e.member.rank])):
            np.testing.assert_array_equal(result, total)
        for result in group.run(lambda e, x=x: e.all_gather(x[e.member.rank])):
            np.testing.assert_array_equal(result, x)
        owner = step % RANKS
        for result in group.run(lambda e, x=x, o=owner: e.broadcast(x[e.member.rank], o)):
            np.testing.assert_array_equal(result, x[owner])
        parts = group.run(lambda e, x=x: e.reduce_scatter(x[e.member.rank], layer_id=SCATTERED))
        np.testing.assert_array_equal(np.concatenate(parts), total)
        at_root = group.run(lambda e, x=x, o=owner: e.reduce(x[e.member.rank], o, layer_id=SCATTERED))
        assert [result is None for result in at_root] == [rank != owner for rank in range(RANKS)]
        np.testing.assert_array_equal(at_root[owner], total)
        floats = x.astype(np.float32)
        for result in group.run(lambda e, x=floats: e.all_reduce(x[e.member.rank])):
            off = np.abs(result - floats.sum(axis=0, dtype=np.float64)).reshape(-1)
            assert np.all(off <= blocks.error_bound(floats.reshape(RANKS, -1), LANES))

        for result in group.run(lambda e, x=floats: e.all_reduce(halves.to_bfloat16(x[e.member.rank]), bfloat16=True)):
            assert result.dtype == np.uint16
            bits = halves.to_bfloat16(floats)
            off = np.abs(halves.from_bfloat16(result) - halves.from_bfloat16(bits).sum(axis=0, dtype=np.float64))
            assert np.all(off.reshape(-1) <= halves.error_bound(bits.reshape(RANKS, -1), LANES))


def check_max_min_product(group: LocalGroup) -> None:
    x = int32(77, 300)
    for op, want in ((Op.ALLREDUCE_MAX, x.max(axis=0)), (Op.ALLREDUCE_MIN, x.min(axis=0))):
        for result in group.run(lambda e, op=op: e.all_reduce(x[e.member.rank], op=op)):
            np.testing.assert_array_equal(result, want)
    for result in group.run(lambda e: e.all_reduce(x[e.member.rank], op=Op.ALLREDUCE_PRODUCT)):
        np.testing.assert_array_equal(result, x.prod(axis=0, dtype=np.int32))


def test_all_operations(make: Callable[..., Bench]) -> None:
    bench = make()
    check_everything(bench.group, 2)
    check_max_min_product(bench.group)
    assert bench.group.repeats == 0
    assert sum(endpoint.counters.refused for endpoint in bench.endpoints) == 0


def test_all_operations_over_bad_cables(make: Callable[..., Bench]) -> None:
    bench = make(FaultModel(loss=0.05, duplicate=0.02, reorder=0.05))
    check_everything(bench.group, 2)
    check_max_min_product(bench.group)
    assert sum(endpoint.counters.retransmitted for endpoint in bench.endpoints) > 0
    assert bench.group.repeats == 0


def test_flipped_bits_are_caught_and_the_operation_is_repeated(make: Callable[..., Bench]) -> None:
    bench = make(FaultModel(loss=0.01, corrupt=0.005), timeout=0.5)
    check_everything(bench.group, 3)
    assert bench.group.repeats > 0


def test_a_rank_whose_frames_do_not_arrive_is_named(make: Callable[..., Bench]) -> None:
    bench = make(timeout=0.3)
    x = int32(1, 100)
    bench.group.run(lambda e: e.all_reduce(x[e.member.rank]))
    bench.switch.silent = {2}
    with pytest.raises(OperationTimedOut, match=r"rank 2 \(port 3\) has sent frames of which none") as caught:
        bench.group.run(lambda e: e.all_reduce(x[e.member.rank]))
    assert list(caught.value.missing) == [2]
    bench.switch.silent = set()
    for result in bench.group.run(lambda e: e.all_reduce(x[e.member.rank])):
        np.testing.assert_array_equal(result, x.sum(axis=0, dtype=np.int32))


def test_a_rank_that_does_not_take_part_is_named(make: Callable[..., Bench]) -> None:
    bench = make(timeout=0.3)
    x = int32(1, 100)
    absent = threading.Event()

    def call(endpoint: Endpoint) -> object:
        if endpoint.member.rank == 3:
            return absent.wait(0.2)
        return endpoint.all_reduce(x[endpoint.member.rank])

    with pytest.raises(OperationTimedOut, match=r"rank 3 \(port 4\) has not sent its share"):
        bench.group.run(call)


def test_one_ranks_mistake_ends_the_wait_of_the_others(make: Callable[..., Bench]) -> None:
    bench = make(timeout=60.0)

    def call(endpoint: Endpoint) -> object:
        dtype = np.int64 if endpoint.member.rank == 1 else np.int32
        return endpoint.all_reduce(np.zeros(100, dtype))

    with pytest.raises(UsageError, match="int64"):
        bench.group.run(call)
    assert bench.group.repeats == 0
    check_max_min_product(bench.group)


def test_a_group_that_is_stopped_while_it_begins_a_job_stays_stopped(make: Callable[..., Bench]) -> None:
    """The new job makes endpoints forget interrupts; without more, they would wait for a switch that is dead."""
    bench = make(timeout=60.0)
    x = int32(1, 100)

    def renew() -> Job:
        group.stop()
        return bench.renew()

    group = LocalGroup(bench.endpoints, renew=renew)
    bench.endpoints[0].interrupt()
    for _ in range(3):
        with pytest.raises(OperationInterrupted):
            group.run(lambda e: e.all_reduce(x[e.member.rank]))
    assert bench.job.epoch == 2  # and no job was begun after that
    group.close()


@pytest.mark.parametrize("patience", [Patience(0, 9), Patience(3, 9), Patience(9, 2)])
def test_patience_with_a_silent_switch(make: Callable[..., Bench], patience: Patience) -> None:
    bench = make(timeout=0.05)
    bench.switch.silent = set(range(RANKS))
    group = LocalGroup(bench.endpoints, renew=bench.renew, patience=patience)
    with pytest.raises(OperationTimedOut):
        group.run(lambda e: e.all_reduce(np.zeros(10, np.int32)))
    assert group.repeats == min(patience.repeats, patience.time_outs)
    group.close()


def test_patience_with_results_that_stay_bad(make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(timeout=10.0)
    monkeypatch.setattr("cais_tools.worker.exchange.tag.checksum", lambda rows: rows.view(np.uint32)[:, 0] ** 2)
    group = LocalGroup(bench.endpoints, renew=bench.renew, patience=Patience(repeats=5))
    with pytest.raises(ResultRefused) as caught:
        group.run(lambda e: e.all_reduce(np.full(10, 7, np.int32)))
    assert group.repeats == 5
    assert caught.value.packet == 0
    assert caught.value.payload is not None
    np.testing.assert_array_equal(caught.value.payload, [28] * 10 + [0] * (LANES - 10))
    group.close()


SHARED_PLANS = [
    ("sum", lambda m, x: collectives.all_reduce(m, x, Op.ALLREDUCE, 0)),
    ("sum of floats", lambda m, x: collectives.all_reduce(m, x.astype(np.float32), Op.ALLREDUCE, 0)),
    ("max", lambda m, x: collectives.all_reduce(m, x, Op.ALLREDUCE_MAX, 0)),
    ("max of floats", lambda m, x: collectives.all_reduce(m, x.astype(np.float16), Op.ALLREDUCE_MAX, 0)),
    ("product", lambda m, x: collectives.all_reduce(m, x, Op.ALLREDUCE_PRODUCT, 0)),
    ("gather", lambda m, x: collectives.all_gather(m, x, 0)),
    ("scatter", lambda m, x: collectives.reduce_scatter(m, x, SCATTERED)),
]


@pytest.mark.parametrize(("name", "plan"), SHARED_PLANS, ids=[name for name, _ in SHARED_PLANS])
def test_ranks_of_another_opinion_refuse_each_others_results(
    make: Callable[..., Bench], name: str, plan: Callable[[Membership, Any], collectives.Plan[Any]]
) -> None:
    """Of as many packets as the others, so that nothing else speaks against them."""
    bench = make()
    group = LocalGroup(bench.endpoints, renew=bench.renew, patience=Patience(0, 0))
    sizes = [100, 100, 104, 100]

    def call(endpoint: Endpoint, fingerprints: list[int]) -> object:
        rank = endpoint.member.rank
        return endpoint.run(plan(endpoint.member, np.ones(sizes[rank], np.int32)), fingerprint=fingerprints[rank])

    group.run(lambda e: call(e, [0] * RANKS))
    group.run(lambda e: call(e, [0xFFFFFFFF] * RANKS))
    with pytest.raises(ResultRefused):
        group.run(lambda e: call(e, [5, 5, 6, 5]))
    group.run(lambda e: call(e, [7] * RANKS))
    group.close()


def test_an_endpoint_alone_says_that_it_is_out_of_step(make: Callable[..., Bench]) -> None:
    endpoint = make().endpoints[0]
    endpoint.interrupt()
    with pytest.raises(OperationInterrupted):
        endpoint.all_reduce(np.zeros(5, np.int32))
    with pytest.raises(UsageError, match="out of step"):
        endpoint.all_reduce(np.zeros(5, np.int32))


def test_an_unplugged_cable_times_out() -> None:
    cable = Cable()
    gone = Cable(0, cable.local_port)
    cable.connect(gone.local_port)
    gone.close()
    endpoint = Endpoint(cable, Membership(0, 0, 1, 8), Job(1, 0), timing=Timing(timeout=0.3))
    with pytest.raises(OperationTimedOut, match="0 of 1 packets done"):
        endpoint.all_reduce(np.zeros(5, np.int32))
    cable.close()
