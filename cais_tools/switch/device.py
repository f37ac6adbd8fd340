"""The running switch: links and queues around an engine, moved by one packet thread.

    link -> ingress (engine) -> queue of the egress port -> egress (engine) -> link
                                queue of the CPU port    -> egress          -> P4Runtime client

The control plane takes `lock` around whatever it does with the engine; the packet thread takes it for a batch.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cais_tools.switch.carrier import CarrierWatch
from cais_tools.switch.locks import TurnLock
from cais_tools.switch.ports import Port, PortStats
from cais_tools.switch.queues import PortQueue

if TYPE_CHECKING:
    from cais_tools.links import Link
    from cais_tools.switch.engine import Digest, Engine, Queued
    from cais_tools.switch.tracing import PassTrace

__all__ = ["Device"]

_LOG = logging.getLogger(__name__)

# Packets for one turn of the lock: enough to be worth it, few enough that the control plane need not wait long.
_BATCH = 64
_MAX_PACKET_OUTS = 4096
# A failure in every batch must not fill the disk.
_LOGGED_FAILURES = 20


def _ignore(_: object) -> None:
    """What comes for a client when nobody listens."""


class Device:
    """A switch without a control plane. Without an engine every packet is dropped.

    `on_packet_in` gets what leaves by the CPU port, `on_digest` what the program reports; both are called by the packet
    thread and must not block. `on_trace` gets every pass of every packet, without the lock: it may take its time, and
    the packets with it. `clock()` is microseconds since the start.
    """

    def __init__(
        self,
        links: Mapping[int, Link],
        *,
        cpu_port: int = 510,
        queue_depth: int = 1024,
        log_packets: bool = False,
        on_trace: Callable[[PassTrace], None] | None = None,
    ) -> None:
        self.cpu_port = cpu_port
        self.lock = TurnLock()
        self.on_packet_in: Callable[[bytes], None] = _ignore
        self.on_digest: Callable[[Digest], None] = _ignore
        self.failures = 0
        self.no_port = 0
        self.flushed = 0
        self._log_packets = log_packets
        self._on_trace = on_trace
        self._traces: list[PassTrace] = []
        self._ports = {number: Port(number, link, queue_depth) for number, link in links.items()}
        self._by_descriptor = {port.link.fileno(): port for port in self._ports.values()}
        self._cpu_queue: PortQueue[Queued] = PortQueue(queue_depth)
        self._packet_outs: deque[bytes] = deque()
        self._engine: Engine | None = None
        self._started = time.monotonic_ns()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="packets", daemon=True)
        self._down: frozenset[int] = frozenset()
        self._carrier = CarrierWatch({number: link.name for number, link in links.items()}, self.set_down_ports)

    def clock(self) -> int:
        return (time.monotonic_ns() - self._started) // 1000

    @property
    def port_numbers(self) -> frozenset[int]:
        return frozenset(self._ports)

    def stats(self) -> dict[int, PortStats]:
        return {number: port.stats() for number, port in self._ports.items()}

    def start(self) -> None:
        self._carrier.start()
        self._thread.start()

    def set_down_ports(self, down: frozenset[int]) -> None:
        """These ports have no carrier now, all others have."""
        with self.lock:
            self._down = down
            if self._engine is not None:
                self._engine.set_down_ports(down)

    def stop(self) -> None:
        """Let the packet thread finish its batch and end. Links stay open: they belong to whoever opened them."""
        self._carrier.stop()
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        os.close(self._wake)

    def install(self, engine: Engine) -> None:
        """Run another program from the next batch on; the caller holds `lock`. What waits in queues is lost."""
        for queue in self._queues():
            self.flushed += queue.clear()
        if self._on_trace is not None:
            engine.trace(self._traces.append)
        engine.set_down_ports(self._down)
        self._engine = engine

    def packet_out(self, frame: bytes) -> bool:
        """Let a frame come in through the CPU port; False where too many wait already."""
        if len(self._packet_outs) >= _MAX_PACKET_OUTS:
            return False
        self._packet_outs.append(frame)
        os.eventfd_write(self._wake, 1)
        return True

    def _queues(self) -> list[PortQueue[Queued]]:
        return [self._cpu_queue, *(port.queue for port in self._ports.values())]

    # --- the packet thread ---

    def _run(self) -> None:
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        for port in self._ports.values():
            poller.register(port.link.fileno(), select.POLLIN)
        while not self._stopping:
            events = poller.poll(0 if self._has_work() else None)
            for descriptor, event in events:
                if descriptor == self._wake:
                    self._guard(self._take_packet_outs)
                else:
                    self._guard(self._serve, self._by_descriptor[descriptor], event, poller)
            self._guard(self._take_pending)
            self._guard(self._drain, poller)

    def _guard(self, step: Callable[..., None], *arguments: object) -> None:
        """Whatever a packet does to us, the next one is served."""
        try:
            step(*arguments)
        except Exception:
            self.failures += 1
            if self.failures <= _LOGGED_FAILURES:
                _LOG.exception("a batch of packets was lost")

    def _has_work(self) -> bool:
        engine = self._engine
        if engine is not None and engine.pending:
            return True
        return len(self._cpu_queue) > 0 or any(
            len(port.queue) > 0 and not port.blocked for port in self._ports.values()
        )

    def _serve(self, port: Port, event: int, poller: select.poll) -> None:
        if event & select.POLLNVAL:
            poller.unregister(port.link.fileno())
            raise OSError(f"the link of port {port.number} is closed")
        if event & select.POLLOUT:
            port.flush()
            poller.modify(port.link.fileno(), port.events)
        # Also on an error condition: receiving is what clears it.
        frames = port.receive()
        for start in range(0, len(frames), _BATCH):
            self._ingress(port.number, frames[start : start + _BATCH])
        if len(frames) > 0:
            self._drain(poller)

    def _take_packet_outs(self) -> None:
        os.eventfd_read(self._wake)
        frames = [self._packet_outs.popleft() for _ in range(len(self._packet_outs))]
        if frames:
            self._ingress(self.cpu_port, frames)

    def _take_pending(self) -> None:
        """One more pass for what the program sent around (resubmit, recirculate): others come in between."""
        engine = self._engine
        if engine is None or not engine.pending:
            return
        with self.lock:
            if engine is self._engine:
                self._enqueue(engine.process_pending())
            digests = _take_digests(engine)
        self._report(digests)

    def _ingress(self, number: int, frames: Sequence[bytes]) -> None:
        with self.lock:
            engine = self._engine
            if engine is None:
                self._drop_unprogrammed(number, frames)
            elif self._log_packets:
                self._ingress_logged(engine, number, frames)
            else:
                self._enqueue(engine.process_ingress(number, frames))
            digests = [] if engine is None else _take_digests(engine)
        self._report(digests)

    def _drop_unprogrammed(self, number: int, frames: Sequence[bytes]) -> None:
        self._log_frames("drop", number, frames, " (no program is loaded)")
        if self._on_trace is not None:
            from cais_tools.switch.tracing import unprogrammed

            self._traces += [unprogrammed(number, frame) for frame in frames]

    def _ingress_logged(self, engine: Engine, number: int, frames: Sequence[bytes]) -> None:
        for frame in frames:
            self._log_frames("in", number, [frame])
            queued = engine.process_ingress(number, [frame])
            if not queued and not engine.pending:
                self._log_frames("drop", number, [frame], " (by ingress)")
            self._enqueue(queued)

    def _enqueue(self, packets: Sequence[Queued]) -> None:
        by_port: dict[int, list[Queued]] = {}
        for packet in packets:
            by_port.setdefault(packet.egress_port, []).append(packet)
        now = self.clock()
        for number, group in by_port.items():
            queue = self._queue(number)
            if queue is None:
                self.no_port += len(group)
                self._lost(number, group, "there is no such port")
                continue
            taken = queue.offer(group, now)
            if taken < len(group):
                self._lost(number, group[taken:], "the queue is full")

    def _lost(self, number: int, packets: Sequence[Queued], why: str) -> None:
        self._log_count("drop", number, len(packets), why)
        if self._engine is not None:
            self._engine.lost(packets, why)

    def _queue(self, number: int) -> PortQueue[Queued] | None:
        if number == self.cpu_port:
            return self._cpu_queue
        port = self._ports.get(number)
        return port.queue if port is not None else None

    def _drain(self, poller: select.poll) -> None:
        """Egress, until the queues are empty or their links are full."""
        while len(self._cpu_queue) > 0:
            for frame in self._egress(self.cpu_port, self._cpu_queue):
                self.on_packet_in(frame)
        for port in self._ports.values():
            while len(port.queue) > 0 and not port.blocked:
                port.send(self._egress(port.number, port.queue))
                if port.blocked:
                    poller.modify(port.link.fileno(), port.events)

    def _egress(self, number: int, queue: PortQueue[Queued]) -> list[bytes]:
        with self.lock:
            engine = self._engine
            if engine is None:
                return []
            batch = queue.take(_BATCH)
            results = engine.process_egress_batch(batch, self.clock(), len(queue))
            digests = _take_digests(engine)
        frames = [frame for frame in results if frame is not None]
        if len(frames) < len(results):
            self._log_count("drop", number, len(results) - len(frames), "by egress")
        self._report(digests)
        self._log_frames("out", number, frames)
        return frames

    def _report(self, digests: Sequence[Digest]) -> None:
        for digest in digests:
            self.on_digest(digest)
        if self._traces and self._on_trace is not None:
            traces, self._traces[:] = list(self._traces), []
            for trace in traces:
                self._on_trace(trace)

    def _log_frames(self, what: str, number: int, frames: Sequence[bytes], why: str = "") -> None:
        if self._log_packets:
            for frame in frames:
                _LOG.info("%-4s port %d, %d bytes%s", what, number, len(frame), why)

    def _log_count(self, what: str, number: int, count: int, why: str) -> None:
        if self._log_packets:
            _LOG.info("%-4s port %d, %d packets (%s)", what, number, count, why)


def _take_digests(engine: Engine) -> list[Digest]:
    if not engine.digests:
        return []
    taken = list(engine.digests)
    engine.digests.clear()
    return taken
