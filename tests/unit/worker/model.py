"""The slot rules of design section 4 in a few lines of Python, and ranks around them in virtual time.

No sockets, no clock, no threads: what happens depends on the seed of the faults alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cais_tools.links.faults import FaultModel, FaultyLink
from cais_tools.wire import Header, Job, Op
from cais_tools.wire.header import ETHERNET_BYTES, HEADER_BYTES, SWITCH_MAC, group_mac, mac_bytes
from cais_tools.worker import layout
from cais_tools.worker.collectives import Plan
from cais_tools.worker.config import Membership, Timing
from cais_tools.worker.errors import OperationTimedOut
from cais_tools.worker.exchange import Counters, Exchange
from cais_tools.worker.pacing import Pacing
from cais_tools.worker.transfer import Transfer
from tests.unit.links.memory import MemoryLink

T = TypeVar("T")

SCATTERED = 7
"""The layer whose sums go to the owner of the chunk alone."""
ETHER_TYPE = b"\x88\xb5"

_REDUCE: dict[Op, Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.int32]]] = {
    Op.ALLREDUCE_MAX: np.maximum,
    Op.ALLREDUCE_MIN: np.minimum,
    Op.ALLREDUCE_PRODUCT: np.multiply,
}
_IDENTITY = {
    Op.ALLREDUCE_MAX: np.iinfo(np.int32).min,
    Op.ALLREDUCE_MIN: np.iinfo(np.int32).max,
    Op.ALLREDUCE_PRODUCT: 1,
}


@dataclass
class Slot:
    epoch: int
    seq: int
    key: tuple[int, int, int]
    ranks: set[int]
    lanes: NDArray[np.int32]
    tag: int


class ModelSwitch:
    """A group's slots. Rank r sits behind port r."""

    def __init__(self, ranks: int, slots: int, lanes: int, *, group_id: int = 3, epoch: int = 1) -> None:
        self.ranks, self.slots, self.lanes, self.group_id = ranks, slots, lanes, group_id
        self.epoch = epoch
        self.state: dict[int, Slot] = {}
        self.silent: set[int] = set()
        """Ports whose frames never arrive."""

    def outputs(self, op: Op, layer_id: int, chunk_id: int) -> set[int]:
        everybody = set(range(self.ranks))
        owner = next((r for r in everybody if chunk_id in layout.share(self.ranks, r)), None)
        if op in (Op.ALLGATHER, Op.BROADCAST):
            return everybody - {owner}
        if op == Op.ALLREDUCE and layer_id == SCATTERED:
            return {r for r in everybody if r == owner}
        return everybody

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        body = ETHERNET_BYTES + HEADER_BYTES
        if port in self.silent or len(frame) < body or frame[12:14] != ETHER_TYPE:
            return []
        header = Header.unpack(frame, ETHERNET_BYTES)
        if header.group_id != self.group_id or header.op_type not in set(Op):
            return []
        if header.payload_len > 4 * self.lanes or (header.payload_len and len(frame) < body + 4 * self.lanes):
            return []
        op = Op(header.op_type)
        if header.payload_len:
            lanes = np.frombuffer(frame, ">i4", self.lanes, body).astype(np.int32)
        else:
            lanes = np.full(self.lanes, _IDENTITY.get(op, 0), np.int32)
        return self._contribute(port, op, header, lanes)

    def _contribute(self, port: int, op: Op, header: Header, lanes: NDArray[np.int32]) -> list[tuple[int, bytes]]:
        key = (header.op_type, header.layer_id, header.chunk_id)
        slot = self.state.get(header.seq_num % self.slots)
        ahead = (header.seq_num - slot.seq) % 2**32 if slot else 0
        if slot is None or slot.epoch != self.epoch or 0 < ahead < 2**31:
            slot = Slot(self.epoch, header.seq_num, key, {port}, lanes, header.reserved)
            self.state[header.seq_num % self.slots] = slot
        elif ahead or slot.key != key:
            return []
        elif port in slot.ranks:
            done = len(slot.ranks) == self.ranks
            return [self._result(port, op, header, slot)] if done else []
        else:
            slot.ranks.add(port)
            with np.errstate(over="ignore"):
                slot.lanes = _REDUCE.get(op, np.add)(slot.lanes, lanes)
            slot.tag = (slot.tag + header.reserved) % 2**32
        if len(slot.ranks) < self.ranks:
            return []
        return [self._result(member, op, header, slot) for member in range(self.ranks)]

    def _result(self, port: int, op: Op, header: Header, slot: Slot) -> tuple[int, bytes]:
        gets_payload = port in self.outputs(op, header.layer_id, header.chunk_id)
        length = 4 * self.lanes if gets_payload else 0
        ethernet = mac_bytes(group_mac(self.group_id)) + mac_bytes(SWITCH_MAC) + ETHER_TYPE
        out = header._replace(payload_len=length, reserved=slot.tag).pack()
        return port, ethernet + out + (slot.lanes.astype(">i4").tobytes() if gets_payload else b"")


class Rank:
    """One rank's exchanges over a link in memory."""

    def __init__(self, member: Membership, faults: FaultModel, timing: Timing) -> None:
        self.member, self.timing = member, timing
        self.memory = MemoryLink()
        self.link = FaultyLink(self.memory, faults)
        self.pacing = Pacing(timing, member.window)
        self.counters = Counters()
        self.sent_in_job = 0
        self.exchange: Exchange | None = None

    def begin(self, plan: Plan[Any], results: Any, job: Job, now: float) -> None:
        """Go on with the plan; raises StopIteration with its value at the end."""
        if self.exchange is not None:
            self.sent_in_job += self.exchange.transfer.packets
            self.exchange = None
        transfer = plan.send(results)
        self.exchange = Exchange(
            transfer,
            self.member,
            epoch=job.epoch,
            first=job.first_seq + self.sent_in_job,
            before=self.sent_in_job,
            pacing=self.pacing,
            timing=self.timing,
            counters=self.counters,
            now=now,
        )


class Simulation:
    """A group of ranks around a model switch."""

    def __init__(
        self,
        ranks: int,
        *,
        slots: int = 64,
        lanes: int = 8,
        faults: FaultModel | None = None,
        timing: Timing | None = None,
        job: Job | None = None,
    ) -> None:
        self.job = job or Job.of_epoch(1)
        self.switch = ModelSwitch(ranks, slots, lanes, epoch=self.job.epoch)
        self.now = 0.0
        timing = timing or Timing()
        model = faults or FaultModel()
        self.ranks: list[Rank] = []
        for rank in range(ranks):
            member = Membership(3, rank, ranks, slots, lanes, ports={r: r + 1 for r in range(ranks)})
            own = FaultModel(model.loss, model.duplicate, model.reorder, model.corrupt, model.seed * 100 + rank)
            self.ranks.append(Rank(member, own, timing))

    @property
    def counters(self) -> Counters:
        return sum((rank.counters for rank in self.ranks), Counters())

    def run(self, call: Callable[[Membership], Plan[T]]) -> list[T]:
        """Carry `call(member)` out on all ranks; what it returns, by rank."""
        plans = [call(rank.member) for rank in self.ranks]
        values: dict[int, T] = {}
        for i in range(len(plans)):
            self._advance(i, plans, None, values)
        while len(values) < len(plans):
            moved = False
            for i, rank in enumerate(self.ranks):
                if rank.exchange is not None:
                    moved |= self._turn(i, rank, rank.exchange)
                    if rank.exchange.complete:
                        self._advance(i, plans, rank.exchange.results, values)
                        moved = True
            if not moved:
                wake_ups = [rank.exchange.wake_up() for rank in self.ranks if rank.exchange is not None]
                self.now = max(self.now + 1e-6, min(wake_ups))
        return [values[i] for i in range(len(plans))]

    def restart(self) -> None:
        """Give all ranks and the switch a new job."""
        self.job = Job.of_epoch(self.job.epoch + 1)
        self.switch.epoch = self.job.epoch
        for rank in self.ranks:
            rank.exchange, rank.sent_in_job = None, 0

    def _advance(self, i: int, plans: Sequence[Plan[T]], results: Any, values: dict[int, T]) -> None:
        try:
            self.ranks[i].begin(plans[i], results, self.job, self.now)
        except StopIteration as stop:
            values[i] = stop.value

    def _turn(self, i: int, rank: Rank, exchange: Exchange) -> bool:
        for matrix in exchange.poll_transmit(self.now):
            rank.link.send_matrix(matrix)
        contributions, rank.memory.sent = rank.memory.sent, []
        for frame in contributions:
            for port, result in self.switch.process(i, frame):
                self.ranks[port].memory.arriving.append(result)
        moved = bool(contributions)
        self.now += 1e-5
        while rank.memory.arriving:
            moved = True
            exchange.receive(rank.link.recv(), self.now)
        if not exchange.complete and exchange.waited(self.now) >= rank.timing.timeout:
            raise OperationTimedOut(rank.member, exchange.progress, exchange.waited(self.now))
        return moved


def in_lock_step(plans: Sequence[Plan[T]], *, lanes: int) -> list[T]:
    """Carry plans out with perfect sums and no packets at all: for tests of numbers alone."""
    results: list[Any] = [None] * len(plans)
    while True:
        transfers, values = _next_transfers(plans, results)
        if values:
            assert len(values) == len(plans)
            return values
        op = transfers[0].op
        full: list[NDArray[np.int32]] = []
        for transfer in transfers:
            rows = np.full((transfer.packets, lanes), _IDENTITY.get(op, 0), np.int32)
            rows[slice(None) if transfer.filled is None else transfer.filled] = transfer.payload
            full.append(rows)
            np.testing.assert_array_equal(transfer.chunk_ids, transfers[0].chunk_ids)
            np.testing.assert_equal(transfer.salt, transfers[0].salt)
        total = full[0]
        with np.errstate(over="ignore"):
            for rows in full[1:]:
                total = _REDUCE.get(op, np.add)(total, rows)
        results = [total.copy() for _ in plans]


def _next_transfers(plans: Sequence[Plan[T]], results: list[Any]) -> tuple[list[Transfer], list[T]]:
    transfers: list[Transfer] = []
    values: list[T] = []
    for plan, result in zip(plans, results, strict=True):
        try:
            transfers.append(plan.send(result))
        except StopIteration as stop:
            values.append(stop.value)
    return transfers, values
