"""How much of the server clients may take."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """`connections` beyond this are closed at once; `streams` (each holds a thread as long as it lives) and `calls` at
    the same time beyond these are refused with RESOURCE_EXHAUSTED, as are gNMI's `subscriptions` (streams too, but
    counted by themselves); a packet-out of more than `packet_bytes` is too.

    `message_bytes`: the longest request, None for the profile's. `handshake_ms`: how long a connection may take to say
    what it wants. `stalled_ms`: how long a client may take to send the request of a call, and to accept one message of
    a Read's answer. `idle_ms`: how long a connection may be open without a call or stream (gRPC's clients connect again
    by themselves). `silent_ms`: how long a client may say nothing until it is asked whether it is still there, and how
    long it may take to answer that.
    """

    connections: int = 64
    streams: int = 32
    calls: int = 32
    subscriptions: int = 8
    packet_bytes: int = 16 << 10
    message_bytes: int | None = None
    handshake_ms: int = 10_000
    stalled_ms: int = 30_000
    idle_ms: int = 60_000
    silent_ms: int = 30_000
