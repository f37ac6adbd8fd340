"""The leader's side of a group: a TCP server that all ranks join, in a thread of its own, around the `Coordinator`."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from cais_tools.errors import CaisError
from cais_tools.training import directives as d
from cais_tools.training import forks
from cais_tools.training import messages as m
from cais_tools.training.coordinator import Coordinator, Limits
from cais_tools.training.schedule import Decision

__all__ = ["Hub"]

_TICK = 0.05
_PING = 1.0
_READ = 1 << 16


class Hub:
    """Listens at `address` (HOST:PORT) from the beginning; `open` when the group is known.

    `report` gets what the controller should hear, in the hub's thread; `directive` and `controller` may be called from
    any thread.
    """

    def __init__(self, host: str, ranks: int, secret: str, report: Callable[[d.Report], None]) -> None:
        self._ranks, self._secret, self._report = ranks, secret, report
        self._listener = socket.create_server((host, 0))
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._refusals: dict[int, str] = {}
        self._coordinator: Coordinator | None = None
        self._loop = asyncio.new_event_loop()
        self._done = asyncio.Event()
        self._opening: Future[tuple[int, Decision, int, Limits | None]] = Future()
        self._thread = threading.Thread(target=self._run, name="cais-hub", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()[:2]
        return f"{host}:{port}"

    @property
    def coordinator(self) -> Coordinator | None:
        """None until all ranks have joined. For a look at it only."""
        return self._coordinator

    def open(self, epoch: int, decision: Decision, data_port: int, limits: Limits | None = None) -> None:
        """Welcome the ranks as soon as all have joined."""
        self._opening.set_result((epoch, decision, data_port, limits))

    def directive(self, directive: d.Directive) -> None:
        """Take in what the controller says."""
        self._call(lambda each: each.directive(directive, time.monotonic()))

    def controller(self, *, attached: bool) -> None:
        """Take in that the controller is there, or has gone."""
        self._call(lambda each: each.controller(attached=attached))

    def close(self) -> None:
        """End the thread and all connections."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(2.0)

    # In the hub's thread

    def _call(self, call: Callable[[Coordinator], None]) -> None:
        def run() -> None:
            if self._coordinator is not None:
                call(self._coordinator)
                self._flush()

        with contextlib.suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(run)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, sock=self._listener)
        ticker = asyncio.create_task(self._tick())
        await self._done.wait()
        ticker.cancel()
        server.close()
        for writer in self._writers.values():
            writer.close()

    async def _tick(self) -> None:
        pinged = 0.0
        while True:
            await asyncio.sleep(_TICK)
            now = time.monotonic()
            if now - pinged >= _PING:
                pinged = now
                self._send(None, m.Ping())
            if self._coordinator is not None:
                self._coordinator.tick(now)
                self._flush()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        descriptor: int = connection.fileno()
        forks.keep(descriptor)
        rank: int | None = None
        stream = m.Stream(trust=False)
        try:
            while data := await reader.read(_READ):
                for message, payload in stream.feed(data):
                    if rank is None:
                        rank = await self._join(message, writer)
                        if rank is None:
                            return
                        stream.trust = True
                    else:
                        self._take(rank, message, payload)
        except (CaisError, OSError):
            pass
        finally:
            if rank is not None:
                self._gone(rank)
            forks.let_go(descriptor)
            writer.close()

    async def _join(self, message: m.Message, writer: asyncio.StreamWriter) -> int | None:
        """The rank, if it is one of ours and not here yet."""
        if not isinstance(message, m.Join) or not hmac.compare_digest(message.secret, self._secret):
            return None
        if not 0 <= message.rank < self._ranks or message.rank in self._writers:
            return None
        self._writers[message.rank] = writer
        if message.refusal:
            self._refusals[message.rank] = message.refusal
        if len(self._writers) == self._ranks:
            await self._welcome()
        return message.rank

    async def _welcome(self) -> None:
        epoch, decision, data_port, limits = await asyncio.wrap_future(self._opening)
        for rank, why in sorted(self._refusals.items()):
            epoch, decision = 0, Decision(False, f"rank {rank} cannot reach the switch: {why}")
        self._coordinator = Coordinator(self._ranks, epoch, decision, time.monotonic(), limits)
        if self._refusals:
            self._coordinator.forbid(decision.reason)
        self._send(None, m.Welcome(data_port, self._coordinator.segments))
        for rank in range(self._ranks):
            if rank not in self._writers:
                self._coordinator.lost(rank)
        self._flush()

    def _take(self, rank: int, message: m.Message, payload: bytes) -> None:
        if isinstance(message, m.Result):
            self._send(None, message, payload)
        elif self._coordinator is not None:
            self._coordinator.message(rank, message, time.monotonic())
            self._flush()

    def _gone(self, rank: int) -> None:
        del self._writers[rank]
        if self._coordinator is not None:
            self._coordinator.lost(rank)
            self._flush()

    def _flush(self) -> None:
        coordinator = self._coordinator
        assert coordinator is not None
        for rank, message in coordinator.to_ranks:
            self._send(rank, message)
        coordinator.to_ranks.clear()
        for report in coordinator.to_controller:
            self._report(report)
        coordinator.to_controller.clear()

    def _send(self, rank: int | None, message: m.Message, payload: bytes = b"") -> None:
        data = m.encode(message, payload)
        for each, writer in list(self._writers.items()):
            if rank is None or rank == each:
                writer.write(data)
