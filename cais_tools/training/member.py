"""A rank's side of a group's agreement: where it is, which way its next operation goes, and what the leader wants."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from cais_tools.errors import CaisError, DeadlineExceeded, Unreachable
from cais_tools.training import forks
from cais_tools.training import messages as m
from cais_tools.training.errors import GroupFailed, RankLost, failure
from cais_tools.training.schedule import OperationClass, Route, Schedule

__all__ = ["Given", "Member", "Transit", "Way"]

_READ = 1 << 16
_TICK = 0.05
_PING = 1.0
_SILENCE = 10.0
_ASK_AHEAD = 16
_ASK_AGAIN = 0.5


class Transit(Protocol):
    """An operation under way on the switch, as the watch over it sees it; any thread may call these."""

    def interrupt(self) -> None:
        """Make it end with an error, soon."""
        ...

    def waits_for(self) -> tuple[int, int] | None:
        """How far it is, while nothing is left to do but to wait for the switch; else None."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """The result of an operation, as another rank has it."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Way:
    """The route of an operation, known when `goes` rounds had ended: no longer true after one more."""

    route: Route | Given
    goes: int


class Member:
    """Connects on `join`. `begin`, `again` and the rest are for the one thread that does the group's operations.

    Every call raises GroupFailed once the group cannot go on. `stall` is for how many seconds a transit may bring
    nothing before the leader hears of it, `timeout` for how many an operation may wait for other ranks.
    """

    def __init__(self, rank: int, stall: float, timeout: float) -> None:
        self.rank = rank
        self._stall, self._timeout = stall, timeout
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._socket: socket.socket | None = None
        self._schedule = Schedule()
        self._needed = -1
        self._failure: GroupFailed | None = None
        self._failed: list[Callable[[GroupFailed], None]] = []
        self._hold: m.Hold | None = None
        self._goes = 0
        self._begun = self._completed = 0
        self._transit: Transit | None = None
        self._kept: Callable[[], bytes] | None = None
        self._expected = -1
        self._given: bytes | None = None
        self._committed = -1
        self._farewell = False
        self._still_since: float | None = None
        self._heard = 0.0

    # Coming and going

    def join(self, address: str, secret: str, refusal: str = "", given_up: Callable[[], str] = lambda: "") -> int:
        """Connect to the leader and wait until all ranks are there; the port where tensors are reduced by it.

        `given_up` says why another rank will never come, as soon as somebody knows.
        """
        host, _, port = address.rpartition(":")
        try:
            self._socket = socket.create_connection((host, int(port)), self._timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            forks.keep(self._socket.fileno())
            self._socket.sendall(m.encode(m.Join(self.rank, secret, refusal)))
            self._socket.settimeout(_ASK_AGAIN)
            stream, data_port, end = m.Stream(), None, time.monotonic() + self._timeout
            while data_port is None:
                try:
                    data = self._socket.recv(_READ)
                except TimeoutError:
                    if why := given_up():
                        raise Unreachable(why) from None
                    if time.monotonic() >= end:
                        raise
                    continue
                if not data:
                    raise Unreachable(f"the group's leader at {address} does not let rank {self.rank} in")
                for message, payload in stream.feed(data):
                    if isinstance(message, m.Welcome):
                        data_port = message.data_port
                        self._schedule = Schedule(message.segments)
                    else:
                        self._take(message, payload)
            self._socket.settimeout(None)
        except TimeoutError:
            raise DeadlineExceeded(
                f"not all ranks of the group have come within {self._timeout:g} s",
                hint="every rank has to call new_group, with the same ranks",
            ) from None
        except OSError as error:
            raise Unreachable(f"the group's leader at {address} cannot be reached: {error.strerror or error}") from None
        self._heard = time.monotonic()
        for name, target in (("listen", lambda: self._listen(stream)), ("watch", self._watch)):
            threading.Thread(target=target, name=f"cais-{name}", daemon=True).start()
        return data_port

    def leave(self, patience: float) -> None:
        """Say good-bye, stay at the others' service until all have said so, and close."""
        with self._changed:
            if self._failure is None:
                self._send(m.Bye())
                self._changed.wait_for(lambda: self._farewell or self._failure is not None, patience)
        self.close()

    def close(self) -> None:
        with self._changed:
            if self._failure is None:
                self._failure = GroupFailed("the group has been closed")
            self._changed.notify_all()
        if self._socket is not None:
            forks.let_go(self._socket.fileno())
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def on_failure(self, call: Callable[[GroupFailed], None]) -> None:
        """Have `call` called, in another thread, when the group cannot go on."""
        with self._changed:
            self._failed.append(call)

    @property
    def failure(self) -> GroupFailed | None:
        return self._failure

    # Operations

    def begin(self, number: int, operation: OperationClass, fingerprint: int) -> Way:
        """Begin an operation: which way it goes."""
        with self._changed:
            self._wait(lambda: self._hold is None)
            self._begun = number + 1
            self._send(m.Began(number, operation, fingerprint))
            return self._route(number, operation)

    def again(self, number: int, operation: OperationClass, way: Way) -> Way:
        """Which way an operation goes that has led to nothing on `way`."""
        with self._changed:
            self._wait(lambda: self._hold is None and self._goes > way.goes)
            return self._route(number, operation)

    def _route(self, number: int, operation: OperationClass) -> Way:
        found: list[Route | Given] = []

        def look() -> bool:
            if self._hold is not None:
                return False
            if self._expected == number:
                if self._given is not None:
                    found.append(Given(self._given))
                return bool(found)
            self._ask_ahead(number)
            route = self._schedule.route(number, operation)
            if route is not None:
                found.append(route)
            return bool(found)

        self._wait(look)
        return Way(found[0], self._goes)

    def _ask_ahead(self, number: int) -> None:
        horizon = self._schedule.horizon
        if number >= horizon - _ASK_AHEAD and self._needed != horizon:
            self._needed = horizon
            self._send(m.Need(horizon))

    @contextlib.contextmanager
    def on_switch(self, transit: Transit, way: Way) -> Generator[bool]:
        """Whether the operation may go on the switch now; while it does, the leader may want it to stop."""
        with self._changed:
            allowed = self._hold is None and self._failure is None and self._goes == way.goes
            if allowed:
                self._transit = transit
        try:
            yield allowed
        finally:
            with self._changed:
                self._transit = None
                if allowed and self._hold is not None and self._hold.interrupt:
                    self._say_state(self._hold)

    def completed(self, number: int, kept: Callable[[], bytes] | None) -> None:
        """An operation is done; `kept` gives its result's bytes, should another rank lack it."""
        with self._changed:
            self._completed, self._kept = number + 1, kept

    def refused(self, number: int, text: str) -> None:
        """The switch has brought something damaged."""
        with self._changed:
            if self._hold is None:
                self._send(m.Stalled(number, text, refused=True))

    def commit(self, number: int, way: Way) -> bool:
        """Wait until all ranks have their part of the result; False where all have to do it again."""
        with self._changed:
            self._send(m.Finished(number))
            self._wait(lambda: self._committed >= number or self._goes > way.goes)
            return self._committed >= number

    def proof(self, request: int, *, right: bool, text: str = "") -> None:
        """Tell the leader how the test vector came back."""
        with self._changed:
            self._send(m.Proof(request, right, text))

    def failed(self, number: int, text: str) -> GroupFailed:
        """The operation could be done neither way: the error that all ranks raise."""
        with self._changed:
            self._send(m.Failed(number, text))
            self._changed.wait_for(lambda: self._failure is not None, 2.0)
            return self._failure or GroupFailed(text)

    def check(self) -> None:
        """Raise GroupFailed when the group cannot go on."""
        if self._failure is not None:
            raise self._failure

    def _wait(self, ready: Callable[[], bool]) -> None:
        done = self._changed.wait_for(lambda: self._failure is not None or ready(), self._timeout)
        self.check()
        if not done:
            error = RankLost(f"nothing has been heard from the other ranks for {self._timeout:g} s")
            self._fail(error)
            raise error

    # In threads of their own

    def _listen(self, stream: m.Stream) -> None:
        assert self._socket is not None
        try:
            while data := self._socket.recv(_READ):
                self._heard = time.monotonic()
                for message, payload in stream.feed(data):
                    self._take(message, payload)
        except (OSError, CaisError):
            pass
        self._fail(RankLost("rank 0, the leader of the group, has ended", ranks=(0,)))

    def _take(self, message: m.Message, payload: bytes) -> None:
        with self._changed:
            match message:
                case m.Plan(segment):
                    self._schedule.append(segment)
                case m.Query(number):
                    self._send(m.Answer(number, self._where(number)))
                case m.Commit(number):
                    self._committed, self._completed = number, max(self._completed, number + 1)
                case m.Hold():
                    self._stop(message)
                case m.Go():
                    self._go_on(message)
                case m.Result(number) if number == self._expected:
                    self._given = payload
                case m.Bye():
                    self._farewell = True
                case m.Raise(kind, text, ranks):
                    self._fail(failure(kind, text, ranks))
                case _:
                    return
            self._changed.notify_all()

    def _stop(self, hold: m.Hold) -> None:
        self._hold = hold
        if hold.interrupt and self._transit is not None:
            self._transit.interrupt()  # and then it says how far it got
        else:
            self._say_state(hold)

    def _say_state(self, hold: m.Hold) -> None:
        self._send(m.State(hold.round, self._completed, self._begun))

    def _go_on(self, go: m.Go) -> None:
        self._schedule.append(go.segment)
        self._hold = None
        self._goes += 1
        self._needed = -1
        self._expected, self._given = -1, None
        if go.giver is None:
            return
        if self._completed <= go.number:
            self._expected = go.number
        elif go.giver == self.rank and self._kept is not None:
            self._send(m.Result(go.number), self._kept())

    def _where(self, number: int) -> m.Where:
        if self._completed > number:
            return m.Where.DONE
        if self._begun <= number:
            return m.Where.NOT_BEGUN
        still = self._transit is not None and self._still_since is not None
        waits = still and time.monotonic() - (self._still_since or 0.0) >= self._stall / 2
        return m.Where.WAITING if waits else m.Where.BUSY

    def _watch(self) -> None:
        """Tell the leader of a transit that brings nothing; and take a leader that is silent for lost."""
        seen: tuple[Transit, tuple[int, int]] | None = None
        told = pinged = 0.0
        while self._failure is None:
            time.sleep(_TICK)
            now = time.monotonic()
            with self._changed:
                if now - pinged >= _PING:
                    pinged = now
                    self._send(m.Ping())
                transit = self._transit
                at = None if transit is None or self._hold is not None else transit.waits_for()
                current = None if transit is None or at is None else (transit, at)
                if current != seen or current is None:
                    seen, told = current, 0.0
                    self._still_since = None if current is None else now
                still = 0.0 if self._still_since is None else now - self._still_since
                if still >= self._stall and now - told >= self._stall / 3:
                    told = now
                    self._send(m.Stalled(self._begun - 1, f"nothing came back from the switch for {still:.2g} s"))
            if now - self._heard > _SILENCE:
                self._fail(RankLost(f"the group's leader has given no sign of life for {_SILENCE:g} s", ranks=(0,)))

    def _send(self, message: m.Message, payload: bytes = b"") -> None:
        if self._socket is None:
            return
        with self._sending, contextlib.suppress(OSError):  # the listener hears of it, too
            self._socket.sendall(m.encode(message, payload))

    def _fail(self, error: GroupFailed) -> None:
        with self._changed:
            if self._failure is not None:
                return
            self._failure = error
            if self._transit is not None:
                self._transit.interrupt()
            calls, self._failed = self._failed, []
            self._changed.notify_all()
        for call in calls:
            call(error)
