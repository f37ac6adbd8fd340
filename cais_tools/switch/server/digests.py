"""Digests on their way to the client: buffered, without duplicates, resent when not acknowledged in time.

Sans I/O; times in nanoseconds from the caller's clock. P4Runtime 1.4, section 9.8 "DigestEntry".
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["DigestBuffer", "DigestBuffers", "DigestConfig", "DigestList"]

Values = tuple[int, ...]

# Messages of one digest that wait, or are not acknowledged yet: those beyond are dropped (section 9.8 allows that).
_MOST = 1 << 14


@dataclass(frozen=True)
class DigestConfig:
    """`max_list_size` 0: any size. `ack_timeout_ns` 0: what was sent is forgotten at once."""

    max_timeout_ns: int = 0
    max_list_size: int = 0
    ack_timeout_ns: int = 0


@dataclass(frozen=True)
class DigestList:
    list_id: int
    data: tuple[Values, ...]


@dataclass
class DigestBuffer:
    """The messages of one digest instance that are not sent or not acknowledged yet. `config` may change."""

    config: DigestConfig
    _waiting: dict[Values, None] = field(default_factory=dict[Values, None])
    _first: int = 0
    _sent: dict[int, tuple[int, tuple[Values, ...]]] = field(default_factory=dict[int, tuple[int, tuple[Values, ...]]])
    _unacknowledged: set[Values] = field(default_factory=set[Values])
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add(self, values: Values, now: int) -> DigestList | None:
        """A digest message from the data plane; the list to send, if this one filled it."""
        self._expire(now)
        if values in self._unacknowledged or values in self._waiting:
            return None
        if len(self._unacknowledged) + len(self._waiting) >= _MOST:
            return None
        if not self._waiting:
            self._first = now
        self._waiting[values] = None
        config = self.config
        full = 0 < config.max_list_size <= len(self._waiting)
        return self._list(now) if full or config.max_timeout_ns <= 0 else None

    def due(self, now: int) -> DigestList | None:
        """The list to send because its first message has waited long enough."""
        self._expire(now)
        if self._waiting and now - self._first >= self.config.max_timeout_ns:
            return self._list(now)
        return None

    def acknowledge(self, list_id: int) -> None:
        """The client has the list: the same data may be sent again."""
        sent = self._sent.pop(list_id, None)
        if sent is not None:
            self._unacknowledged.difference_update(sent[1])

    def deadline(self) -> int | None:
        """When `due` has something to say, if nothing else happens."""
        return self._first + self.config.max_timeout_ns if self._waiting else None

    def _list(self, now: int) -> DigestList:
        size = self.config.max_list_size or len(self._waiting)
        result = DigestList(next(self.ids), tuple(itertools.islice(self._waiting, size)))
        for values in result.data:
            del self._waiting[values]
        if self.config.ack_timeout_ns > 0:
            self._sent[result.list_id] = (now, result.data)
            self._unacknowledged.update(result.data)
        return result

    def _expire(self, now: int) -> None:
        while self._sent:
            list_id, (when, _) = next(iter(self._sent.items()))  # the oldest
            if now - when < self.config.ack_timeout_ns:
                return
            self.acknowledge(list_id)


class DigestBuffers:
    """The buffers of all digest instances that the client wants messages of, by id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffers: dict[int, DigestBuffer] = {}
        # One row of numbers for all: a late acknowledgement is never taken for that of another list.
        self._ids = itertools.count(1)

    def configs(self) -> dict[int, DigestConfig]:
        with self._lock:
            return {digest_id: buffer.config for digest_id, buffer in self._buffers.items()}

    def begin(self, digest_id: int, config: DigestConfig) -> None:
        with self._lock:
            self._buffers[digest_id] = DigestBuffer(config, ids=self._ids)

    def change(self, digest_id: int, config: DigestConfig) -> None:
        """What is buffered stays, and so does what is not acknowledged."""
        with self._lock:
            self._buffers[digest_id].config = config

    def end(self, digest_id: int) -> DigestBuffer:
        """No more messages. What `put_back` takes."""
        with self._lock:
            return self._buffers.pop(digest_id)

    def put_back(self, digest_id: int, buffer: DigestBuffer) -> None:
        with self._lock:
            self._buffers[digest_id] = buffer

    def add(self, digest_id: int, values: Values, now: int) -> DigestList | None:
        with self._lock:
            buffer = self._buffers.get(digest_id)
            return buffer.add(values, now) if buffer is not None else None

    def due(self, now: int) -> list[tuple[int, DigestList]]:
        lists: list[tuple[int, DigestList]] = []
        with self._lock:
            for digest_id, buffer in self._buffers.items():
                while (due := buffer.due(now)) is not None:
                    lists.append((digest_id, due))
        return lists

    def acknowledge(self, digest_id: int, list_id: int) -> None:
        with self._lock:
            buffer = self._buffers.get(digest_id)
            if buffer is not None:
                buffer.acknowledge(list_id)

    def deadline(self) -> int | None:
        with self._lock:
            deadlines = [buffer.deadline() for buffer in self._buffers.values()]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)
