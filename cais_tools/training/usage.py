"""What a leader tells the controller about the operations that its group has done."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TypeAlias

from cais_tools.controller.proto import controller_pb2 as pb
from cais_tools.training.convert import operation_to
from cais_tools.training.schedule import OperationClass

__all__ = ["Usage"]

_Key: TypeAlias = tuple[OperationClass, bool, str]


class Usage:
    """Operations done since the last look, by class, way and reason. Any thread may call these."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: Counter[_Key] = Counter()
        self._seconds: dict[_Key, float] = {}

    def add(self, operation: OperationClass, on_switch: bool, reason: str, seconds: float) -> None:
        key = (operation, on_switch, reason)
        with self._lock:
            self._done[key] += 1
            self._seconds[key] = self._seconds.get(key, 0.0) + seconds

    def take(self, next_operation: int) -> pb.Usage:
        """All of it as a message; the next one begins at zero."""
        with self._lock:
            done, seconds = self._done, self._seconds
            self._done, self._seconds = Counter(), {}
        return pb.Usage(
            done=[
                pb.Usage.Done(
                    operation=operation_to(operation),
                    path=pb.PATH_SWITCH if on_switch else pb.PATH_ENDPOINT,
                    operations=number,
                    seconds=seconds[(operation, on_switch, reason)],
                    reason=reason,
                )
                for (operation, on_switch, reason), number in done.items()
            ],
            next_operation=next_operation,
        )
