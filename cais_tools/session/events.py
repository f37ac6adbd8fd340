"""What a session reports beside the answers to its calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "DigestList",
    "Event",
    "IdleTimeout",
    "PacketIn",
    "PrimaryChanged",
    "Reconnected",
    "Restarted",
    "StreamError",
    "StreamLost",
]


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A packet for the controller; the metadata by the names of the `packet_in` header."""

    payload: bytes
    metadata: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DigestList:
    """Digests of one kind (acknowledged already); `data` holds p4.v1.P4Data messages."""

    digest: str
    list_id: int
    data: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class IdleTimeout:
    """Entries (p4.v1.TableEntry messages) that nothing hit for as long as they said."""

    entries: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StreamError:
    """The switch could not do what a message on the stream asked for."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class PrimaryChanged:
    primary: bool
    reason: str


@dataclass(frozen=True, slots=True)
class StreamLost:
    """The connection broke. The session tries to get it back."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The connection is back, and the switch still has the pipeline that it had."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The connection is back, but the pipeline is gone or another one: all that was written is lost."""

    message: str


Event = PacketIn | DigestList | IdleTimeout | StreamError | PrimaryChanged | StreamLost | Reconnected | Restarted
