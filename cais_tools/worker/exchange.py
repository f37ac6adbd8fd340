"""The protocol of one operation, without any I/O (design, section 4, rules 5 to 9).

A rank sends packet s + W only when it has every result up to s, sends again what stays unanswered, and believes a
result only when its integrity tag says that every rank is in it exactly once. Late, duplicated and reordered results
do no harm. State is one array for all packets; whole windows are handled at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from cais_tools.wire import tag
from cais_tools.wire.frames import Frames, Headers, build_frames, parse_frames
from cais_tools.worker.config import Membership, Timing
from cais_tools.worker.diagnosis import RefusedResult, explain
from cais_tools.worker.errors import Progress, ResultRefused
from cais_tools.worker.pacing import Pacing
from cais_tools.worker.transfer import Flags, Rows, Transfer

__all__ = ["Counters", "Exchange"]

Indices = NDArray[np.intp]

# Back-off: the time-out doubles from the second retransmission on (a second loss is no sign of a slow path yet), until
# it is 2^6 times the first.
_MOST_DOUBLINGS = 6


@dataclass
class Counters:
    """What a rank has sent and received, in packets."""

    sent: int = 0
    """First transmissions."""
    retransmitted: int = 0
    results: int = 0
    """Results that completed a packet."""
    duplicates: int = 0
    """Results of packets of this operation that were complete already."""
    late: int = 0
    """Results of earlier operations."""
    refused: int = 0
    """Results that the tag, the header or the payload spoke against."""
    foreign: int = 0
    """Frames of other groups, of other protocols, or cut short."""

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


class Exchange:
    """One transfer of one rank. `first` is the seq_num of its first packet, `before` the packets of the job before it.

    Call `poll_transmit` and send what it returns, feed what arrives to `receive`, and come back at `wake_up` at the
    latest, until `complete`. Times are seconds of any steady clock.
    """

    def __init__(
        self,
        transfer: Transfer,
        member: Membership,
        *,
        epoch: int,
        first: int,
        before: int = 0,
        pacing: Pacing,
        timing: Timing,
        counters: Counters,
        now: float,
    ) -> None:
        self.transfer = transfer
        self._member = member
        self._timing = timing
        self._pacing = pacing
        self._counters = counters
        self._before = before
        self._epoch = epoch
        packets = transfer.packets
        self._first = np.uint32(first % 2**32)
        # uint32 sums wrap, as the sequence numbers do.
        self._seq_nums = np.arange(packets, dtype=np.uint32) + self._first
        self._own_tags = tag.term(epoch, member.group_id, self._seq_nums, member.rank, transfer.salt)
        self._all_tags = tag.terms_of_all(epoch, member.group_id, self._seq_nums, member.ranks, transfer.salt)
        self._filled = np.ones(packets, np.bool_) if transfer.filled is None else transfer.filled
        self._wanted = np.ones(packets, np.bool_) if transfer.wanted is None else transfer.wanted
        self._row = np.cumsum(self._filled) - 1
        self.results: Rows = np.zeros((packets, member.lanes), np.int32)
        """Payloads of the results, shape (packets, lanes), right once `complete` in the rows that are wanted.

        Where only some packets are filled, the rows that this rank filled are there too.
        """
        self._done = np.zeros(packets, np.bool_)
        self._base = self._next = self._completed = 0  # first without a result; first not sent; how many have one
        self._highest = -1  # last packet that has a result
        self._attempts = np.zeros(packets, np.int32)
        self._sent_at = np.zeros(packets, np.float64)
        self._deadline = np.full(packets, np.inf, np.float64)
        self._suspect = np.zeros(packets, np.bool_)  # refused once
        self._asked_again = np.zeros(packets, np.bool_)  # ... and sent again since
        self._halved_until = 0  # the window is halved once for all losses before this packet
        self._last_result = now

    @property
    def complete(self) -> bool:
        return self._completed == self.transfer.packets

    @property
    def progress(self) -> Progress:
        transfer = self.transfer
        return Progress(
            op=transfer.op,
            layer_id=transfer.layer_id,
            packets=transfer.packets,
            sent=self._next,
            done=self._completed,
            waiting_for=self._before + self._base,
            sent_in_job=self._before + self._next,
        )

    @property
    def _in_flight(self) -> int:
        return self._next - self._completed

    def waited(self, now: float) -> float:
        """Return the seconds since the last new result."""
        return now - self._last_result

    def wake_up(self) -> float:
        """Return the time at which something is to be sent again or to be given up."""
        pending = self._deadline[self._base : self._next]
        give_up = self._last_result + self._timing.timeout
        return min(give_up, float(pending.min())) if len(pending) else give_up

    # Sending

    def poll_transmit(self, now: float) -> list[Frames]:
        """Return the frames to be sent at `now`, as matrices of frames of one length."""
        due = self._base + np.flatnonzero(self._deadline[self._base : self._next] <= now)
        if len(due):
            due = self._slow_down(due, now)
        room = min(self._pacing.window - self._in_flight, self._base + self._member.window - self._next)
        fresh = np.arange(self._next, min(self._next + max(room, 0), self.transfer.packets))
        self._next += len(fresh)
        self._counters.sent += len(fresh)
        self._counters.retransmitted += len(due)
        index = np.concatenate((due, fresh)) if len(due) else fresh
        if not len(index):
            return []
        self._asked_again[due] = self._suspect[due]
        self._sent_at[index] = now
        back_off = self._pacing.rto * np.exp2(np.clip(self._attempts[index] - 1, 0, _MOST_DOUBLINGS))
        self._deadline[index] = now + np.minimum(back_off, self._timing.max_rto)
        self._attempts[index] += 1
        return self._build(index)

    def _slow_down(self, due: Indices, now: float) -> Indices:
        """Return what of the overdue packets goes out now, and put the rest off; new losses halve the window."""
        timed_out = due[~self._suspect[due]]
        if len(timed_out) and timed_out[-1] >= self._halved_until:
            self._pacing.lost()
            self._halved_until = self._next
        window = self._pacing.window
        self._deadline[due[window:]] = now + self._pacing.rto
        return due[:window]

    def _build(self, index: Indices) -> list[Frames]:
        filled = self._filled[index]
        kinds = ((index[filled], True), (index[~filled], False))
        return [self._build_kind(part, with_payload) for part, with_payload in kinds if len(part)]

    def _build_kind(self, index: Indices, with_payload: bool) -> Frames:
        transfer, member = self.transfer, self._member
        tags = self._own_tags[index]
        payload, valid_bytes = None, np.uint32(0)
        if with_payload:
            rows = self._row[index]
            payload, valid_bytes = transfer.payload[rows], transfer.valid_bytes[rows]
            if transfer.op.is_linear:
                tags = tags + tag.checksum(payload)
        return build_frames(
            op=transfer.op,
            group_id=member.group_id,
            rank=member.rank,
            layer_id=transfer.layer_id,
            total_chunks=transfer.packets,
            chunk_ids=transfer.chunk_ids[index],
            seq_nums=self._seq_nums[index],
            tags=tags,
            payload_len=valid_bytes,
            payload=payload,
        )

    # Receiving

    def receive(self, frames: Iterable[bytes], now: float) -> None:
        """Take in what arrived. Raises ResultRefused when the result of a packet was bad twice."""
        parsed = parse_frames(frames, self._member.lanes)
        self._counters.foreign += parsed.skipped
        index, headers, payload = self._sort_out(parsed.headers, parsed.payload)
        if not len(index):
            return
        good = self._is_good(index, headers, payload)
        if not good.all():
            # A good copy may have arrived beside a bad one: what is complete is not refused.
            self._complete(index[good], payload[good], now)
            bad = ~good & ~self._done[index]
            self._refuse(index[bad], headers[bad], payload[bad], now)
        else:
            self._complete(index, payload, now)

    def _sort_out(self, headers: Headers, payload: Rows) -> tuple[Indices, Headers, Rows]:
        """Return the results that complete packets of this operation, if they are right, with their packets."""
        counters = self._counters
        ours = headers["group_id"] == self._member.group_id
        # Serial-number arithmetic: what is older than this operation comes out beyond the last packet.
        index = (headers["seq_num"].astype(np.uint32) - self._first).astype(np.intp)
        current = ours & (index < self._next)
        counters.foreign += int(np.count_nonzero(~ours))
        counters.late += int(np.count_nonzero(ours & ~current))
        fresh = current.copy()
        fresh[current] = ~self._done[index[current]]
        counters.duplicates += int(np.count_nonzero(current & ~fresh))
        if fresh.all():
            return index, headers, payload
        return index[fresh], headers[fresh], payload[fresh]

    def _is_good(self, index: Indices, headers: Headers, payload: Rows) -> Flags:
        transfer = self.transfer
        good = (
            (headers["op_type"] == transfer.op)
            & (headers["layer_id"] == transfer.layer_id)
            & (headers["chunk_id"] == transfer.chunk_ids[index])
        )
        brought = headers["payload_len"] > 0
        good &= brought | ~self._wanted[index]
        checkable = self._fill_in(index, brought, payload)
        expected = self._all_tags[index]
        if transfer.op.is_linear:
            expected = expected + tag.checksum(payload)
        good &= ~checkable | (headers["reserved"] == expected)
        if transfer.accept is not None:
            good &= ~brought | transfer.accept(transfer.payload[index], payload)
        return good

    def _fill_in(self, index: Indices, brought: Flags, payload: Rows) -> Flags:
        """Put the payload that an acknowledgement leaves out back in where we know it; return whose tag can be checked.

        The tag of a sum covers a payload. Where this rank alone fills the packet, the result is its own payload.
        """
        if not self.transfer.op.is_linear:
            return np.ones_like(brought)
        if self.transfer.filled is None:
            return brought
        known = ~brought & self._filled[index]
        payload[known] = self.transfer.payload[self._row[index[known]]]
        return brought | known

    def _complete(self, index: Indices, payload: Rows, now: float) -> None:
        self.results[index] = payload
        in_order = bool(np.all(index[1:] > index[:-1]))  # as a rule, and quicker found out than put right
        unique = index if in_order else np.unique(index)
        self._counters.duplicates += len(index) - len(unique)
        self._counters.results += len(unique)
        if not len(unique):
            return
        self._measure(int(unique[-1]), now)
        self._pacing.completed(len(unique), self._in_flight)
        self._done[unique] = True
        self._deadline[unique] = np.inf
        self._completed += len(unique)
        self._last_result = now
        open_packets = np.flatnonzero(~self._done[self._base : self._next])
        self._base = self._base + int(open_packets[0]) if len(open_packets) else self._next

    def _measure(self, last: int, now: float) -> None:
        """Take the round trip of the last packet of a batch.

        Not when it was sent again (Karn's rule), nor when a later packet was answered before it: then it has waited
        for another rank's retransmission.
        """
        if last > self._highest and self._attempts[last] == 1:
            self._pacing.measured(now - float(self._sent_at[last]))
        self._highest = max(self._highest, last)

    def _refuse(self, index: Indices, headers: Headers, payload: Rows, now: float) -> None:
        """Ask for bad results once more, for the copy on the way may be what is damaged."""
        self._counters.refused += len(index)
        twice = np.flatnonzero(self._asked_again[index])
        if len(twice):
            raise self._refused(int(index[twice[0]]), headers[int(twice[0])], payload[twice[0]])
        self._suspect[index] = True
        self._deadline[index] = now

    def _refused(self, index: int, header: np.void, payload: NDArray[np.int32]) -> ResultRefused:
        transfer, seq_num = self.transfer, int(self._seq_nums[index])
        return ResultRefused(
            self._member,
            op=transfer.op,
            layer_id=transfer.layer_id,
            chunk_id=int(transfer.chunk_ids[index]),
            seq_num=seq_num,
            packet=self._before + index,
            payload=payload.copy() if header["payload_len"] else None,
            cause=explain(RefusedResult(transfer, self._member, self._epoch, index, seq_num, header, payload)),
        )
