"""Digests on their way to the client: buffered, without duplicates, resent when not acknowledged in time.

Sans I/O; times in nanoseconds from the caller's clock. P4Runtime 1.4, section 9.8 "DigestEntry".
"""

from __future__ import annotations

import itertools
import threading
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
    """The messages of one digest instance that are not sent or not acknowledged yet."""

    config: DigestConfig
    _waiting: dict[Values, None] = field(default_factory=dict[Values, None])
    _first: int = 0
    _sent: dict[int, tuple[int, tuple[Values, ...]]] = field(default_factory=dict[int, tuple[int, tuple[Values, ...]]])
    _unacknowledged: set[Values] = field(default_factory=set[Values])
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

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
        result = DigestList(next(self._ids), tuple(self._waiting))
        self._waiting.clear()
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

    def configs(self) -> dict[int, DigestConfig]:
        with self._lock:
            return {digest_id: buffer.config for digest_id, buffer in self._buffers.items()}

    def configure(self, digest_id: int, config: DigestConfig | None) -> None:
        """Begin, change or (None) end the messages of a digest; what was buffered is forgotten."""
        with self._lock:
            if config is None:
                self._buffers.pop(digest_id, None)
            else:
                self._buffers[digest_id] = DigestBuffer(config)

    def add(self, digest_id: int, values: Values, now: int) -> DigestList | None:
        with self._lock:
            buffer = self._buffers.get(digest_id)
            return buffer.add(values, now) if buffer is not None else None

    def due(self, now: int) -> list[tuple[int, DigestList]]:
        with self._lock:
            lists = [(digest_id, buffer.due(now)) for digest_id, buffer in self._buffers.items()]
        return [(digest_id, due) for digest_id, due in lists if due is not None]

    def acknowledge(self, digest_id: int, list_id: int) -> None:
        with self._lock:
            buffer = self._buffers.get(digest_id)
            if buffer is not None:
                buffer.acknowledge(list_id)

    def deadline(self) -> int | None:
        with self._lock:
            deadlines = [buffer.deadline() for buffer in self._buffers.values()]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)
