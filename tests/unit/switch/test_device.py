"""The packet thread around an engine that does as the packets say: first byte = egress port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from cais_tools.switch.device import Device

PATIENCE = 20.0
CPU = 510


class FakeLink:
    """A link whose other end is `outside`; it takes `room` frames, then blocks."""

    def __init__(self) -> None:
        self._inside, self.outside = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inside.setblocking(False)
        self.outside.settimeout(PATIENCE)
        self.room = 1 << 30
        self.broken = False

    name = "fake"

    def fileno(self) -> int:
        return self._inside.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        taken = list(frames[: self.room])
        self.room -= len(taken)
        for frame in taken:
            self._inside.send(frame)
        return len(taken)

    def send_matrix(self, frames: Any) -> int:
        raise NotImplementedError

    def recv(self) -> list[bytes]:
        if self.broken:
            self.broken = False
            raise OSError("the link is broken")
        try:
            return [self._inside.recv(1 << 16)]
        except BlockingIOError:
            return []

    def close(self) -> None:
        self._inside.close()
        self.outside.close()


class FakeQueued:
    def __init__(self, frame: bytes) -> None:
        self.egress_port = CPU if frame[0] == 255 else frame[0]
        self.frame = frame


class FakeEngine:
    """`seen` collects (enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth) of each packet."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, int, int]] = []
        self.digests: list[str] = []
        self.returning: list[FakeQueued] = []

    def set_down_ports(self, down: frozenset[int]) -> None:
        self.down = down

    @property
    def pending(self) -> bool:
        return bool(self.returning)

    def process_ingress(self, port: int, frames: Sequence[bytes]) -> list[FakeQueued]:
        if b"\x01boom" in frames:
            raise ZeroDivisionError
        self.digests += [f"{port}:{frame[1:].decode()}" for frame in frames if frame[1:2] == b"d"]
        self.returning += [FakeQueued(frame) for frame in frames if frame[1:2] == b"r"]
        return [FakeQueued(frame) for frame in frames if frame[1:2] not in (b"x", b"r")]

    def process_pending(self) -> list[FakeQueued]:
        packets, self.returning = self.returning, []
        return packets

    def process_egress_batch(
        self, waiting: Sequence[tuple[FakeQueued, int, int]], now: int, left: int
    ) -> list[bytes | None]:
        for behind, (_, queued_at, depth) in zip(range(left + len(waiting) - 1, left - 1, -1), waiting, strict=True):
            self.seen.append((queued_at, depth, now - queued_at, behind))
        return [None if each.frame[1:2] == b"e" else each.frame for each, _, _ in waiting]


class Bench:
    def __init__(self, **options: Any) -> None:
        self.links = {1: FakeLink(), 2: FakeLink()}
        self.packet_ins: list[bytes] = []
        self.digests: list[object] = []
        self.engine = FakeEngine()
        self.device = Device(self.links, cpu_port=CPU, **options)
        self.device.on_packet_in = self.packet_ins.append
        self.device.on_digest = self.digests.append
        self.install(self.engine)
        self.device.start()

    def install(self, engine: Any) -> None:
        with self.device.lock:
            self.device.install(engine)

    def close(self) -> None:
        self.device.stop()
        for link in self.links.values():
            link.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(queue_depth=4)
    yield bench
    bench.close()


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_frames_go_where_the_engine_says(bench: Bench) -> None:
    bench.links[1].outside.send(b"\x02hello")
    assert bench.links[2].outside.recv(100) == b"\x02hello"
    eventually(lambda: bench.device.stats()[2].sent == 1)
    assert bench.device.stats()[1].received == 1
    [(enqueued, enq_depth, delta, deq_depth)] = bench.engine.seen
    assert (enq_depth, deq_depth) == (0, 0)
    assert 0 <= delta <= bench.device.clock() - enqueued


def test_the_cpu_port_and_digests(bench: Bench) -> None:
    bench.links[1].outside.send(b"\xffup")
    bench.device.packet_out(b"\x02out")
    assert bench.links[2].outside.recv(100) == b"\x02out"
    bench.links[1].outside.send(b"\x02digest")
    eventually(lambda: bench.digests == ["1:digest"])
    eventually(lambda: bench.packet_ins == [b"\xffup"])


def test_packets_that_come_back_and_packets_that_go_nowhere(bench: Bench) -> None:
    for frame in (b"\x02r-again", b"\x02x-ingress", b"\x02e-egress", b"\x09-no port", b"\x02last"):
        bench.links[1].outside.send(frame)
    assert bench.links[2].outside.recv(100) == b"\x02r-again"
    assert bench.links[2].outside.recv(100) == b"\x02last"
    assert bench.device.no_port == 1


def test_a_full_queue_behind_a_blocked_link_drops_the_tail_and_drains_in_order(bench: Bench) -> None:
    bench.links[2].room = 0
    for number in range(10):
        bench.links[1].outside.send(b"\x02%d" % number)
    # One packet has left the queue and waits at the link; four are queued; five are gone.
    eventually(lambda: bench.device.stats()[2].dropped == 5)
    assert bench.device.stats()[2].waiting == 4
    bench.links[2].room = 100
    assert [bench.links[2].outside.recv(100) for _ in range(5)] == [b"\x02%d" % number for number in range(5)]
    assert [depth for _, depth, _, _ in bench.engine.seen] == [0, 0, 1, 2, 3]
    assert [depth for _, _, _, depth in bench.engine.seen] == [0, 3, 2, 1, 0]


def test_a_batch_that_fails_is_counted_and_the_next_one_served(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.links[1].outside.send(b"\x01boom")
    eventually(lambda: bench.device.failures == 1)
    bench.links[1].broken = True
    bench.links[1].outside.send(b"\x02hello")
    assert bench.links[2].outside.recv(100) == b"\x02hello"
    assert bench.device.failures == 2
    assert "a batch of packets was lost" in caplog.text


def test_another_program_and_none(bench: Bench) -> None:
    bench.links[2].room = 0
    bench.links[1].outside.send(b"\x02first")
    bench.links[1].outside.send(b"\x02second")
    eventually(lambda: bench.device.stats()[2].waiting == 1)
    other = FakeEngine()
    bench.install(other)
    assert (bench.device.flushed, bench.device.stats()[2].waiting) == (1, 0)
    bench.links[2].room = 100
    bench.links[1].outside.send(b"\x02third")
    assert bench.links[2].outside.recv(100) == b"\x02first"
    assert bench.links[2].outside.recv(100) == b"\x02third"
    assert len(other.seen) == 1


def test_without_a_program_packets_are_dropped() -> None:
    link = FakeLink()
    device = Device({1: link})
    device.start()
    link.outside.send(b"\x01")
    eventually(lambda: device.stats()[1].received == 1)
    device.stop()
    link.close()
    assert device.failures == 0


def test_the_control_plane_gets_its_turn_while_packets_flow(bench: Bench) -> None:
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            bench.links[1].outside.send(b"\x02x")

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    for _ in range(20):
        with bench.device.lock:
            pass
    stop.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_too_many_packet_outs_are_refused() -> None:
    device = Device({})
    while device.packet_out(b"x"):
        pass
    device.start()
    device.stop()
