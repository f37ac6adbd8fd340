"""Live captures: one or more interfaces as a source, until somebody stops it."""

from __future__ import annotations

import errno
import select
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import NotPermitted, Refused, UsageError
from cais_tools.sniff.batch import Batch, CaptureInterface, Direction, LinkType
from cais_tools.sniff.interfaces import look, no_such_interface
from cais_tools.sniff.merge import joined
from cais_tools.sniff.ring import RETIRE_MS, Ring, Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["DEFAULT_BUFFER", "LiveSource"]

DEFAULT_BUFFER = 32 << 20
"""Bytes of ring for each interface: a quarter of a second of CAIS packets at 10 Gb/s."""

_WAIT_MS = 100
_LOOK_EVERY = 0.25  # seconds between two looks at an interface that is down
_HELD_NS = (RETIRE_MS + 20) * 1_000_000  # frames of this age are in no ring any more


class LiveSource:
    """Everything that passes the interfaces, both directions, in the order of time.

    `tell` gets a line when an interface goes down, comes back, is deleted or made anew. `stopped` is asked ten times a
    second. `program` is a BPF program for the kernel. Raises UsageError for an interface that is not there or carries
    no Ethernet frames, NotPermitted without CAP_NET_RAW, Refused when the kernel says no.
    """

    def __init__(
        self,
        names: Sequence[str],
        tell: Callable[[str], None],
        stopped: Callable[[], bool],
        *,
        buffer: int = DEFAULT_BUFFER,
        program: bytes | None = None,
    ) -> None:
        self.interfaces = [CaptureInterface(name, LinkType.ETHERNET) for name in names]
        self.damaged = False
        self._stopped = stopped
        self._ports: list[_Port] = []
        try:
            for number, name in enumerate(names):
                self._ports.append(_Port(name, number, tell, buffer, program))
        except BaseException:
            self.close()
            raise

    def statistics(self) -> list[tuple[str, Statistics]]:
        """For each interface what the kernel says, since the beginning; also after the end."""
        return [(port.name, port.statistics()) for port in self._ports]

    def close(self) -> None:
        for port in self._ports:
            port.close()

    def batches(self) -> Iterator[Batch]:
        """Yield what comes; ends when `stopped` says so, with all that the rings still hold."""
        count = 0
        pending: list[Batch] = []
        ordered = self._in_order if len(self._ports) > 1 else _at_once
        try:
            while not self._stopped():
                now = time.time_ns()
                pending += self._read()
                ready, pending = ordered(pending, now - _HELD_NS)
                for batch in ready:
                    yield _numbered(batch, count)
                    count += len(batch)
            for batch in joined(rest) if (rest := pending + self._last()) else ():
                yield _numbered(batch, count)
                count += len(batch)
        finally:
            self.close()

    def _read(self) -> list[Batch]:
        """What the rings hold, or what comes in a tenth of a second."""
        poller = select.poll()
        by_fd = {port.ring.fileno(): port for port in self._ports if port.ring is not None}
        for fd in by_fd:
            poller.register(fd, select.POLLIN)
        # One that is down has nothing to wait for but POLLERR, which stands until SO_ERROR is read.
        for fd, events in poller.poll(_WAIT_MS):
            if events & ~select.POLLIN:
                by_fd[fd].went_down()
        for port in self._ports:
            port.look_again()
        return [batch for port in self._ports for batch in port.read()]

    def _last(self) -> list[Batch]:
        for port in self._ports:
            port.deafen()
        time.sleep((RETIRE_MS + 10) / 1000)
        return [batch for port in self._ports for batch in port.read(most=1 << 30)]

    @staticmethod
    def _in_order(pending: list[Batch], until: int) -> tuple[list[Batch], list[Batch]]:
        """Sort by time what is old enough that nothing older can come from another interface."""
        if not pending:
            return [], []
        [batch] = joined(pending)
        ready = int(np.searchsorted(batch.time_ns, until, side="right"))
        return [batch.select(slice(0, ready))] if ready else [], _kept(batch, ready)


def _kept(batch: Batch, ready: int) -> list[Batch]:
    """What has to wait, without the bytes of what has not: else they would be copied time and again."""
    rest = batch.select(slice(ready, None))
    if not len(rest):
        return []
    low, high = int(rest.offset.min()), int((rest.offset + rest.captured).max())
    return [replace(rest, data=rest.data[low:high], offset=rest.offset - low)]


def _at_once(pending: list[Batch], _until: int) -> tuple[list[Batch], list[Batch]]:
    return pending, []


def _numbered(batch: Batch, count: int) -> Batch:
    return replace(batch, number=np.arange(count + 1, count + len(batch) + 1, dtype=np.int64))


class _Port:
    """One interface: its ring, which may be that of an interface that is down or that no longer exists."""

    def __init__(self, name: str, number: int, tell: Callable[[str], None], buffer: int, program: bytes | None) -> None:
        self.name = name
        self.ring: Ring | None = None
        self._number = number
        self._tell = tell
        self._buffer = buffer
        self._program = program
        self._down = False
        self._gone = False
        self._look_at = 0.0
        self._total = Statistics(0, 0)
        state = look(name)
        if state is None:
            raise no_such_interface(name)
        if not state.ethernet:
            raise UsageError(f"{name} carries no Ethernet frames", hint="cais sniff -D lists the interfaces that do")
        self._loopback = state.loopback
        self._index = state.index
        self.ring = self._open(state.index)

    def _open(self, index: int) -> Ring:
        try:
            return Ring(index, self.name, self._buffer, self._program)
        except PermissionError as err:
            raise NotPermitted(f"not permitted to capture on {self.name}: raw sockets need CAP_NET_RAW") from err
        except OSError as err:
            if err.errno == errno.ENOMEM:
                size = f"{self._buffer >> 10} KiB"
                raise Refused(f"no memory for {size} of buffer for {self.name}", hint="a smaller -B") from err
            raise Refused(f"cannot capture on {self.name}: {err.strerror}") from err

    def read(self, most: int = 16) -> list[Batch]:
        """The blocks that were handed over, `most` of them."""
        batches: list[Batch] = []
        while self.ring is not None and len(batches) < most and (batch := self.ring.read(self._number)) is not None:
            # Loopback shows every frame twice, on its way out and in (as pcap-linux.c has it, once is enough).
            batches.append(batch.select(batch.direction != Direction.OUT) if self._loopback else batch)
        return batches

    def went_down(self) -> None:
        """The kernel has news about the interface, which are never good."""
        number = self.ring.error() if self.ring is not None else 0
        if number and not self._down:
            self._down = True
            state = look(self.name)
            self._gone = state is None or state.index != self._index
            self._tell(f"{self.name} {'is gone' if self._gone else 'is down'}; waiting for it")

    def look_again(self) -> None:
        """See, now and then, whether an interface that was down is back, perhaps as another one of the same name."""
        if not self._down or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK_EVERY
        state = look(self.name)
        if state is None:
            if not self._gone:
                self._gone = True
                self._tell(f"{self.name} is gone; waiting for it")
            return
        if state.index != self._index and not self._replace(state.index):
            return
        if state.up and self.ring is not None:
            self.ring.error()  # what it said about the time before
            self._down = self._gone = False
            self._tell(f"{self.name} is up again")

    def _replace(self, index: int) -> bool:
        """Listen to the interface that has this name now; what came from the old one was read."""
        try:
            ring = self._open(index)
        except (NotPermitted, Refused):
            return False
        self.close()
        self.ring, self._index = ring, index
        return True

    def statistics(self) -> Statistics:
        if self.ring is not None:
            new = self.ring.statistics()
            self._total = Statistics(self._total.received + new.received, self._total.dropped + new.dropped)
        return self._total

    def deafen(self) -> None:
        if self.ring is not None:
            self.ring.deafen()

    def close(self) -> None:
        self.statistics()
        if self.ring is not None:
            self.ring.close()
            self.ring = None
