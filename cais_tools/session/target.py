"""Where a switch is, and how to talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cais_tools.config.address import DEFAULT_PORT, Target, parse_target

__all__ = ["DEFAULT_PORT", "SessionOptions", "Target", "Tls", "parse_target"]


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS to the switch: `ca` verifies it (None: the system's), `cert` and `key` identify the client."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    server_name: str | None = None


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How to open a session.

    `device_id`: None takes the one that is there, of 0 (bmv2's default) and 1 (everybody else's).
    `election_id`: None asks the switch first and takes the primary role only when nobody has it; a number is used as
    it is. `take_over` becomes primary even though another client is. `read_only` opens no stream at all: reads need
    none. `timeout` is the deadline of every call in seconds; loading a pipeline gets six times that.
    """

    device_id: int | None = None
    election_id: int | None = None
    take_over: bool = False
    read_only: bool = False
    role: str = ""
    timeout: float = 5.0
    tls: Tls | None = None
