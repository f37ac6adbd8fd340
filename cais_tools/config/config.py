"""What `cais.toml` says, over the defaults and under the environment and flags."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cais_tools.config.address import parse_target
from cais_tools.config.devices import ALL, DEFAULT_ADDRESS, HIGHEST_PORT, Device, TlsFiles, select
from cais_tools.config.document import parse_document, read_text
from cais_tools.config.section import Finding, Section, root_section
from cais_tools.config.settings import SETTINGS, Setting, Value, resolve
from cais_tools.errors import UsageError

__all__ = ["FILE_NAME", "Config", "check_config", "find_config", "read_config"]

FILE_NAME = "cais.toml"
_TABLES = ("devices", "groups", "rules", "controller", "defaults")
_SCHEMA = "schema"
"""What `cais rules dump` says about its own form."""
_LINK_KEYS = ("link_gbps", "rtt_us", "hold_us")
_DEVICE_KEYS = ("address", "device_id", "tls", "ports", "links", *_LINK_KEYS)
_TLS_KEYS = ("ca", "cert", "key", "server_name")


@dataclass(frozen=True)
class Config:
    """`file` as it is called in messages, None where there is none. `groups` and `rules` are as the file has them:
    what they mean is the business of `session.cais`. `written` are the settings that the file has.
    """

    file: str | None = None
    devices: Mapping[str, Device] = field(default_factory=dict[str, Device])
    groups: Sequence[Section] = ()
    rules: Sequence[Section] = ()
    written: Mapping[str, Setting] = field(default_factory=dict[str, Setting])

    def settings(
        self, environ: Mapping[str, str] = os.environ, flags: Mapping[str, Value] | None = None
    ) -> dict[str, Setting]:
        """Every setting and where it came from; `flags` are those given on a command line, by name.

        Raises UsageError for a variable that makes no sense.
        """
        return resolve(self.written, environ, flags)

    def select(self, names: Sequence[str]) -> list[Device]:
        """The devices that names, addresses, lists with commas, or `all` mean. Raises UsageError."""
        return select(self.devices, names, self.file)

    def default_devices(self) -> list[Device]:
        """Where nobody says which: those of the file, or the one at the usual address."""
        return list(self.devices.values()) or [Device(DEFAULT_ADDRESS, DEFAULT_ADDRESS)]


def find_config(path: Path | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """`path` where it is given, else ./cais.toml, else cais/cais.toml in the XDG directory; None: there is none.

    Raises UsageError where `path` is no file.
    """
    if path is not None:
        if path.is_dir():
            raise UsageError(f"{path} is a directory, no configuration file", hint=f"perhaps {path / FILE_NAME}")
        if not path.exists():
            raise UsageError(f"there is no file {path}", hint=f"cais config init {path} writes an example")
        return path
    home = environ.get("XDG_CONFIG_HOME") or (Path(environ["HOME"]) / ".config" if environ.get("HOME") else None)
    places = [Path(FILE_NAME), *([Path(home) / "cais" / FILE_NAME] if home else [])]
    return next((place for place in places if place.is_file()), None)


def read_config(path: Path | None) -> Config:
    """Read a file; None gives what holds without one. Raises UsageError with file, line and key."""
    if path is None:
        return Config()
    config, findings = check_config(path)
    if findings:
        error = findings[0].error()
        if len(findings) > 1:
            error.hint = f"there is more: cais config check {path}"
        raise error
    return config


def check_config(path: Path) -> tuple[Config, list[Finding]]:
    """Read a file, and tell everything that is wrong with it in the order of the lines.

    Groups and rules are checked here only for being tables. Raises UsageError for what is no TOML or JSON at all.
    """
    values, lines = parse_document(read_text(path), str(path))
    findings: list[Finding] = []
    root = root_section(values, lines, findings)
    root.allow((*_TABLES, _SCHEMA))
    devices = _read_devices(root.table("devices"), path.parent)
    config = Config(str(path), devices, root.tables("groups"), root.tables("rules"), _read_settings(root))
    return config, sorted(findings, key=lambda each: each.location.line or 0)


def _read_settings(root: Section) -> dict[str, Setting]:
    written: dict[str, Setting] = {}
    for table in ("controller", "defaults"):
        section = root.table(table)
        if section is None:
            continue
        kinds = [kind for kind in SETTINGS if kind.table == table]
        section.allow([kind.key for kind in kinds])
        for kind in kinds:
            value = kind.read(section)
            if value is not None:
                written[kind.name] = Setting(value, str(section.location(kind.key)))
    return written


def _read_devices(section: Section | None, folder: Path) -> dict[str, Device]:
    devices: dict[str, Device] = {}
    for name, each in section.named_tables() if section else ():
        device = _read_device(name, each, folder)
        if device is None:
            continue
        where = parse_target(device.address)
        for other in devices.values():
            if parse_target(other.address) == where and other.device_id == device.device_id:
                each.wrong(f"{other.name} has the same address", "address")
        devices[name] = device
    return devices


def _read_device(name: str, section: Section, folder: Path) -> Device | None:
    if name == ALL or not name or set(name) & set(", :/[]") or name.startswith("-"):
        section.wrong(f"{name!r} cannot be the name of a device", hint="letters, digits, - and _; but not all")
    section.allow(_DEVICE_KEYS)
    section.require("address")
    address = section.address("address")
    device_id = section.integer("device_id", 0, 2**64 - 1)
    tls = section.table("tls")
    ports = section.table("ports")
    files = None if tls is None else _read_tls(tls, folder)
    numbers = {} if ports is None else _read_ports(ports)
    link = {key: section.number(key, 0.0, 1e6) for key in _LINK_KEYS}
    ends = section.table("links")
    links = {} if ends is None else _read_links(ends, numbers)
    if address is None:
        return None
    return Device(name, address, device_id, files, numbers, section.location(), **link, links=links)


def _read_tls(section: Section, folder: Path) -> TlsFiles:
    section.allow(_TLS_KEYS)
    if ("cert" in section) != ("key" in section):
        section.wrong("cert and key belong together")
    ca, cert, key = (_file(section, name, folder) for name in ("ca", "cert", "key"))
    return TlsFiles(ca, cert, key, section.text("server_name"))


def _file(section: Section, key: str, folder: Path) -> Path | None:
    """A path is relative to the folder of the file that has it."""
    text = section.text(key)
    if text is None:
        return None
    path = folder / Path(text).expanduser()
    if not path.is_file():
        section.wrong(f"there is no file {path}", key)
    return path


def _read_links(section: Section, ports: Mapping[str, int]) -> dict[int, str]:
    """The host's end of each link, by a port's number or its name in the file."""
    links: dict[int, str] = {}
    for name in section.values:
        link = section.text(name)
        port = ports.get(name) or (int(name) if name.isascii() and name.isdigit() else 0)
        if not 1 <= port <= HIGHEST_PORT:
            section.wrong(f"{name!r} is no port", name, hint=f"ports are names of `ports`, or 1 to {HIGHEST_PORT}")
        elif link is not None:
            links[port] = link
    return links


def _read_ports(section: Section) -> dict[str, int]:
    ports: dict[str, int] = {}
    for name in section.values:
        number = section.integer(name, 1, HIGHEST_PORT)
        if not name or set(name) & set(", "):
            section.wrong("a port's name has no blank and no comma", name)
        if number is None:
            continue
        for other, port in ports.items():
            if port == number and other.isdigit() == name.isdigit():
                section.wrong(f"{other} is port {number}, too", name)
        ports[name] = number
    return ports
