"""The same work on several switches at once, each in a thread and a session of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TypeVar

from cais_tools.config import Device, TlsFiles, check_tls, parse_target
from cais_tools.errors import CaisError
from cais_tools.fleet.outcome import Outcome
from cais_tools.session import SessionOptions, SwitchSession, Tls

__all__ = ["Stop", "options_for", "run_on_each"]

T = TypeVar("T")
Work = Callable[[SwitchSession, Device], T]

_AT_ONCE = 32


class Stop:
    """Asks work that is under way to come to an end: it looks at `requested` where it can stop cleanly.

    `cause` is what arrived in the main thread (KeyboardInterrupt, or whatever SIGTERM raises there).
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self.cause: BaseException | None = None

    @property
    def requested(self) -> bool:
        return self._event.is_set()

    def request(self, cause: BaseException) -> None:
        self.cause = cause
        self._event.set()

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until a stop is asked for; whether it was."""
        return self._event.wait(seconds)


class _Sessions:
    """The open sessions, so that they can be closed from outside: that ends every call under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[SwitchSession] = set()
        self._closed = False

    def add(self, session: SwitchSession) -> None:
        with self._lock:
            self._open.add(session)
            closed = self._closed
        if closed:
            session.close()

    def remove(self, session: SwitchSession) -> None:
        with self._lock:
            self._open.discard(session)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            sessions = list(self._open)
        for session in sessions:
            session.close()


def options_for(device: Device, options: SessionOptions) -> SessionOptions:
    """`options` for this device: what they leave open, its own entry in the file says.

    Raises UsageError for TLS files that are none.
    """
    device_id = device.device_id if options.device_id is None else options.device_id
    tls = options.tls
    if tls is None and device.tls is not None:
        files = device.tls
        tls = Tls(files.ca, files.cert, files.key, files.server_name)
    if tls is not None:
        check_tls(TlsFiles(tls.ca, tls.cert, tls.key))
    return replace(options, device_id=device_id, tls=tls)


def run_on_each(
    devices: Sequence[Device],
    work: Work[T],
    *,
    options: SessionOptions,
    stop: Stop | None = None,
    done: Callable[[Outcome[T]], None] | None = None,
) -> list[Outcome[T]]:
    """Call `work(session, device)` for every device, in parallel, and return the outcomes in the order of `devices`.

    What goes wrong on one device is its outcome's error and stops no other. `done` hears of each outcome as it comes,
    in the caller's thread. Ctrl-C, or another exception in the caller's thread, closes all sessions and goes on to the
    caller; with `stop` it first only asks for a stop, and the outcomes are returned as usual: the caller looks at
    `stop.requested`. A second one then does not wait.
    """
    sessions = _Sessions()
    pool = ThreadPoolExecutor(max(1, min(len(devices), _AT_ONCE)), thread_name_prefix="device")
    try:
        tasks = [pool.submit(_one, device, work, options, sessions, stop) for device in devices]
        _wait_for(tasks, stop, done)
        return [task.result() for task in tasks]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        sessions.close()
        raise
    finally:
        pool.shutdown()


def _wait_for(
    tasks: Sequence[Future[Outcome[T]]], stop: Stop | None, done: Callable[[Outcome[T]], None] | None
) -> None:
    pending = set(tasks)
    while pending:
        try:
            ended, pending = wait(pending, return_when=FIRST_COMPLETED)
            if done is not None:
                for task in ended:
                    done(task.result())
        except BaseException as cause:
            if stop is None or stop.requested or isinstance(cause, Exception):
                raise
            stop.request(cause)


@contextlib.contextmanager
def _opened(device: Device, options: SessionOptions, sessions: _Sessions) -> Generator[SwitchSession]:
    """An open session, which `sessions` can close from the moment when it begins to connect."""
    with SwitchSession(parse_target(device.address), options_for(device, options)) as session:
        sessions.add(session)
        try:
            session.open()
            yield session
        finally:
            sessions.remove(session)


def _one(device: Device, work: Work[T], options: SessionOptions, sessions: _Sessions, stop: Stop | None) -> Outcome[T]:
    if stop is not None and stop.requested:
        return Outcome(device, error=CaisError(f"{device.name}: not begun, for it was interrupted"))
    try:
        with _opened(device, options, sessions) as session:
            return Outcome(device, work(session, device))
    except CaisError as error:
        return Outcome(device, error=error)
    except OSError as error:
        return Outcome(device, error=CaisError(f"{error.filename}: {error.strerror}" if error.filename else str(error)))
    except Exception as error:
        fault = CaisError(
            f"unexpected {type(error).__name__}: {error}",
            hint="CAIS_DEBUG=1 shows where; this is a fault of cais-tools",
        )
        fault.__cause__ = error
        return Outcome(device, error=fault)
