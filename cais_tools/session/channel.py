"""A gRPC channel to a switch."""

from __future__ import annotations

from pathlib import Path

import grpc

from cais_tools.errors import UsageError
from cais_tools.session.target import Target, Tls

__all__ = ["open_channel"]

# Hundreds of failing updates come back as hundreds of errors in one trailer; gRPC's limit is 8 kB.
_TRAILER_BYTES = 16 * 1024 * 1024

_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", _TRAILER_BYTES),
    ("grpc.absolute_max_metadata_size", _TRAILER_BYTES),
    # A switch that restarts is to be noticed within a second.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Two sessions to one switch are two connections, each with its own fate.
    ("grpc.use_local_subchannel_pool", 1),
]


def open_channel(target: Target, tls: Tls | None, timeout: float) -> grpc.Channel:
    """A channel that connects with the first call, `timeout` seconds for each attempt.

    Raises UsageError for a TLS file that cannot be read.
    """
    # In spite of its name the time that an attempt may take; 20 s by default.
    options = [*_OPTIONS, ("grpc.min_reconnect_backoff_ms", int(1000 * timeout))]
    if tls is None:
        return grpc.insecure_channel(str(target), options=options)
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    credentials = grpc.ssl_channel_credentials(_read(tls.ca), _read(tls.key), _read(tls.cert))
    return grpc.secure_channel(str(target), credentials, options=options)


def _read(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
