"""Calls whose client does not send its request, or does not take the answer: they end, so that others find a thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator

import grpc

__all__ = ["StallWatch"]


class StallWatch:
    """Ends the RPCs that have waited for their client for `seconds`, in one message."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._waiting: dict[grpc.ServicerContext, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="p4runtime-stalls", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    @contextlib.contextmanager
    def waiting(self, context: grpc.ServicerContext) -> Generator[None]:
        """Around a wait for the client."""
        with self._lock:
            self._waiting[context] = time.monotonic() + self._seconds
        try:
            yield
        finally:
            with self._lock:
                del self._waiting[context]

    def _run(self) -> None:
        while not self._ended.wait(self._seconds / 4):
            with self._lock:
                stalled = [each for each, end in self._waiting.items() if end < time.monotonic()]
            for context in stalled:
                context.cancel()
