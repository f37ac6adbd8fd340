"""A lock that is handed over in turn."""

from __future__ import annotations

import threading
from types import TracebackType

__all__ = ["TurnLock"]


class TurnLock:
    """A mutex that a busy thread cannot keep from the others by taking it again at once.

    Whoever waits holds the gate, and the gate is needed to come in: so between two turns of the packet thread
    a waiting control-plane call has its own. (A plain lock goes to whoever runs, which is the packet thread.)
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._gate:
            self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
