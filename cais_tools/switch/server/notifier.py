"""What the data plane has for the client, turned into stream messages by a thread of its own.

The packet thread only leaves things here; it neither builds messages nor waits for streams.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.switch.server.digests import DigestBuffers, DigestList
from cais_tools.switch.server.p4data import data_of
from cais_tools.switch.server.packetio import packet_in_of
from cais_tools.switch.server.schema import ArraySchema, Schema

__all__ = ["Notifier"]

_LOG = logging.getLogger(__name__)
_MAX_WAITING = 8192
_SWEEP_NS = 250_000_000


@dataclass(frozen=True)
class _Source:
    """The pipeline that runs: what its packets and digests mean."""

    schema: Schema
    buffers: DigestBuffers
    digests: dict[str, ArraySchema]
    timeouts: bool


class Notifier:
    """`deliver` gets each message and hands it to the primary clients; `idle` finds table entries that timed out.

    `now` is a monotonic clock in nanoseconds. Without `start`, `work` does what the thread would do now.
    """

    def __init__(
        self,
        deliver: Callable[[p4runtime_pb2.StreamMessageResponse], None],
        idle: Callable[[], list[p4runtime_pb2.TableEntry]],
        now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.dropped = 0
        self._deliver = deliver
        self._idle = idle
        self._now = now
        self._next_sweep = 0
        self._changed = threading.Condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self._source: _Source | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="p4runtime-notifier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def use(self, schema: Schema, buffers: DigestBuffers) -> None:
        """A new pipeline runs: what comes from now on is its."""
        digests = {digest.name: digest for digest in schema.digests.values()}
        timeouts = any(table.idle_timeout for table in schema.tables.values())
        with self._changed:
            self._source = _Source(schema, buffers, digests, timeouts)
            self._changed.notify()

    def packet_in(self, frame: bytes) -> None:
        source = self._source
        if source is not None:
            self._leave(lambda: self._packet_in(source, frame))

    def digest(self, name: str, values: tuple[int, ...]) -> None:
        source = self._source
        if source is not None and name in source.digests:
            digest = source.digests[name]
            self._leave(lambda: self._add_digest(source, digest, values))

    def _leave(self, job: Callable[[], None]) -> None:
        with self._changed:
            if len(self._waiting) >= _MAX_WAITING:
                self.dropped += 1
                return
            self._waiting.append(job)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting and not self._stopping:
                    self._changed.wait(self._patience())
                if self._stopping:
                    return
            self.work()

    def work(self) -> None:
        """Turn into messages what was left here, and what time has made due."""
        with self._changed:
            jobs = list(self._waiting)
            self._waiting.clear()
        for job in [*jobs, self._send_due, self._sweep]:
            try:
                job()
            except Exception:
                _LOG.exception("a message for the P4Runtime client was lost")

    def _patience(self) -> float | None:
        """Seconds until a digest list is due or time-outs are looked at; None: there are neither."""
        source = self._source
        if source is None:
            return None
        deadlines = [source.buffers.deadline()]
        if source.timeouts:
            deadlines.append(self._next_sweep)
        first = min((deadline for deadline in deadlines if deadline is not None), default=None)
        return None if first is None else max(0.0, (first - self._now()) / 1e9)

    def _sweep(self) -> None:
        source, now = self._source, self._now()
        if source is None or not source.timeouts or now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_NS
        entries = self._idle()
        if entries:
            message = p4runtime_pb2.StreamMessageResponse()
            message.idle_timeout_notification.table_entry.extend(entries)
            message.idle_timeout_notification.timestamp = time.time_ns()
            self._deliver(message)

    def _packet_in(self, source: _Source, frame: bytes) -> None:
        message = p4runtime_pb2.StreamMessageResponse()
        message.packet.CopyFrom(packet_in_of(frame, source.schema.packet_in))
        self._deliver(message)

    def _add_digest(self, source: _Source, digest: ArraySchema, values: tuple[int, ...]) -> None:
        full = source.buffers.add(digest.id, values, self._now())
        if full is not None:
            self._send_list(source, digest, full)

    def _send_due(self) -> None:
        source = self._source
        if source is not None:
            for digest_id, due in source.buffers.due(self._now()):
                self._send_list(source, source.schema.digests[digest_id], due)

    def _send_list(self, source: _Source, digest: ArraySchema, sent: DigestList) -> None:
        if digest.type_spec is None:
            raise AssertionError(f"digest {digest.name} has no type")
        message = p4runtime_pb2.StreamMessageResponse()
        message.digest.digest_id = digest.id
        message.digest.list_id = sent.list_id
        message.digest.timestamp = time.time_ns()
        types = source.schema.p4info.type_info
        message.digest.data.extend(data_of(digest.type_spec, types, iter(values)) for values in sent.data)
        self._deliver(message)
