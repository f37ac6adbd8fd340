"""Where the gRPC server may listen."""

from __future__ import annotations

import ipaddress

from cais_tools.errors import UsageError

__all__ = ["check_address", "is_loopback"]

_FORM = "an address is HOST:PORT, for example 127.0.0.1:9559 or [::1]:9559; port 0 means any free port"


def check_address(address: str, *, allowed: bool) -> tuple[str, int]:
    """Host and port of an address.

    Raises UsageError where it makes no sense, or would be open to the network and that is not `allowed`.
    """
    host, separator, port = address.rpartition(":")
    if not separator or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise UsageError(f"cannot listen at {address!r}", hint=_FORM)
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"cannot listen at {address!r}: brackets are missing", hint=f"[{host}]:{port}")
    if not allowed and not is_loopback(host):
        raise UsageError(
            f"{address} is open to the network, without TLS: anybody could program the switch",
            hint="give it --tls-cert and --tls-key, listen at 127.0.0.1, or allow it with --insecure",
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
