"""The switches that a file names, and how to find one by what users write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cais_tools.config.address import DEFAULT_PORT, parse_target
from cais_tools.config.document import Location
from cais_tools.config.nearest import did_you_mean
from cais_tools.errors import UsageError

__all__ = ["ALL", "DEFAULT_ADDRESS", "HIGHEST_PORT", "Device", "TlsFiles", "select"]

ALL = "all"
DEFAULT_ADDRESS = f"127.0.0.1:{DEFAULT_PORT}"
HIGHEST_PORT = 510
"""Ports have 9 bits in v1model; 511 means drop."""

_RANGE = re.compile(r"(?P<stem>.*?)(?P<first>\d{1,9})\s*(?:-|\.\.)\s*(?P<again>.*?)(?P<last>\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files for TLS to a switch: `ca` verifies it (None: the system's), `cert` and `key` identify the client."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    server_name: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A switch. `name` is what users call it: its name in the file, or the address as it was given.

    `ports` maps front-panel names and numbers to the switch's own port numbers; empty where they are the same.
    `link_gbps` is the speed of the ranks' links in Gb/s, `rtt_us` their round-trip time, `hold_us` how long a sum waits
    for the slowest rank: groups need slots for all that is under way in that time. `links` has the host's end of the
    link at each port, as `open_link` takes it, in the order of ranks.
    """

    name: str
    address: str
    device_id: int | None = None
    tls: TlsFiles | None = None
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    location: Location | None = None
    link_gbps: float | None = None
    rtt_us: float | None = None
    hold_us: float | None = None
    links: Mapping[int, str] = field(default_factory=dict[int, str])

    def port(self, text: str) -> int:
        """The switch's number for a port as users call it. Raises UsageError."""
        text = text.strip()
        if text in self.ports:
            return self.ports[text]
        if text.isascii() and text.isdigit() and len(text) < 10:
            return self._checked(int(text))
        raise UsageError(
            f"{self.name} has no port {text!r}",
            hint=did_you_mean(text, self.ports) or f"ports are numbers from 1 to {HIGHEST_PORT}",
        )

    def _checked(self, number: int) -> int:
        if number == 0:
            raise UsageError("port 0 does not exist", hint="ports are the switch's own numbers, from 1 on")
        if number > HIGHEST_PORT:
            raise UsageError(f"port {number} does not exist", hint=f"ports are 1 to {HIGHEST_PORT}")
        return number

    def port_name(self, number: int) -> str:
        """What users call a port: the first name that the file has for it, else its number."""
        return next((name for name, port in self.ports.items() if port == number), str(number))

    def port_list(self, text: str) -> tuple[int, ...]:
        """The switch's numbers for `1,2,3,4`, `1-4`, `swp1,swp2` or `swp1-4`, in the order given. Raises UsageError."""
        ports = [port for item in text.split(",") for port in self._port_range(item.strip())]
        twice = next((port for port in ports if ports.count(port) > 1), None)
        if twice is not None:
            raise UsageError(f"port {self.port_name(twice)} is given twice")
        return tuple(ports)

    def _port_range(self, text: str) -> list[int]:
        found = None if text in self.ports else _RANGE.fullmatch(text)
        if found is None or found["again"] not in ("", found["stem"]):
            if not self.ports and not (text.isascii() and text.isdigit()):
                raise UsageError(f"{text!r} is no number and no range", hint="for example 1,2,3,4 or 1-4")
            return [self.port(text)]
        if found["stem"] and not self.ports:
            raise UsageError(f"{text!r} is no number and no range", hint="for example 1,2,3,4 or 1-4")
        first, last = int(found["first"]), int(found["last"])
        if last < first:
            raise UsageError(
                f"the range {text} is empty", hint=f"perhaps {found['stem']}{last}-{found['again']}{first}"
            )
        if last - first >= HIGHEST_PORT + 1:
            self._checked(last)
        return [self.port(f"{found['stem']}{number}") for number in range(first, last + 1)]


def select(devices: Mapping[str, Device], names: Sequence[str], file: str | None) -> list[Device]:
    """The devices that `names` mean, each once: names, addresses, several with commas between, or `all`.

    Raises UsageError for a name that looks like one of the file's, and is none.
    """
    chosen: dict[str, Device] = {}
    for text in (part for name in names for part in name.split(",")):
        for device in _all(devices, file) if text.strip() == ALL else [_one(devices, text.strip(), file)]:
            chosen.setdefault(device.name, device)
    return list(chosen.values())


def _all(devices: Mapping[str, Device], file: str | None) -> list[Device]:
    if not devices:
        where = f"{file} names no devices" if file else "there is no cais.toml that names devices"
        raise UsageError(f"--device all: {where}", hint="cais config init writes an example")
    return list(devices.values())


def _one(devices: Mapping[str, Device], text: str, file: str | None) -> Device:
    if text in devices:
        return devices[text]
    if devices and text and text != "localhost" and not set(text) & set(".:["):
        hint = did_you_mean(text, devices) or f"all of them: {', '.join(devices)}"
        raise UsageError(f"{file} has no device {text!r}", hint=f"{hint} (a host is HOST:PORT)")
    target = parse_target(text)
    same = (device for device in devices.values() if parse_target(device.address) == target)
    return next(same, Device(text, text))
