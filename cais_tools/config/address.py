"""Where a switch is: host and TCP port. Sans I/O."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from cais_tools.errors import UsageError

__all__ = ["DEFAULT_PORT", "Target", "parse_target"]

DEFAULT_PORT = 9559
"""P4Runtime's port at IANA."""


@dataclass(frozen=True, slots=True)
class Target:
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_target(text: str) -> Target:
    """Read `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; the port is 9559 where none is given.

    Raises UsageError.
    """
    text = text.strip()
    if not text:
        raise UsageError("the device's address is empty", hint="give HOST:PORT, for example 127.0.0.1:9559")
    if "://" in text:
        raise UsageError(f"{text!r} is a URL, not a device's address", hint="give HOST:PORT")
    if text.startswith("["):
        return _parse_bracketed(text)
    if text.count(":") > 1:
        raise _ambiguous(text)
    host, colon, port = text.partition(":")
    if not host or any(character.isspace() for character in host):
        raise UsageError(f"{text!r} has no host", hint="give HOST:PORT, for example 127.0.0.1:9559")
    return Target(host, _parse_port(port, text) if colon else DEFAULT_PORT)


def _parse_bracketed(text: str) -> Target:
    inside, bracket, rest = text[1:].partition("]")
    try:
        host = str(ipaddress.IPv6Address(inside))
    except ValueError:
        raise UsageError(f"{inside!r} in {text!r} is no IPv6 address") from None
    if not bracket or (rest and not rest.startswith(":")):
        raise UsageError(f"{text!r} is no device's address", hint=f"did you mean [{host}]:{DEFAULT_PORT}?")
    return Target(host, _parse_port(rest[1:], text) if rest else DEFAULT_PORT)


def _ambiguous(text: str) -> UsageError:
    host, _, port = text.rpartition(":")
    meant = f"[{host}]:{port}" if port.isdigit() and len(port) > 2 else f"[{text}]:{DEFAULT_PORT}"
    return UsageError(
        f"{text!r} does not say where the address ends and the port begins",
        hint=f"IPv6 addresses stand in brackets; did you mean {meant}?",
    )


def _parse_port(port: str, text: str) -> int:
    if port.isascii() and port.isdigit() and 1 <= int(port) <= 65535:
        return int(port)
    raise UsageError(f"{port!r} in {text!r} is no TCP port", hint="ports are numbers from 1 to 65535")
