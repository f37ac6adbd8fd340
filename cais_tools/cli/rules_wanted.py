"""The file with the wanted state: found, read for every device, its errors told together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cais_tools.config import Config, Device, did_you_mean, parse_document, read_text
from cais_tools.errors import CaisError, UsageError
from cais_tools.session.cais.checks import SwitchFacts
from cais_tools.session.cais.findings import Document, Finding, Place, Severity, errors_in
from cais_tools.session.cais.reading import DeviceFacts, read_wanted
from cais_tools.session.cais.wanted import Link, Wanted

if TYPE_CHECKING:
    from cais_tools.session.cais.applying import Examined

__all__ = ["Source", "read_source"]

_OURS = ("groups", "rules")
_OF_CONFIG = ("devices", "controller", "defaults")


@dataclass(frozen=True)
class Source:
    """`wanted`, `facts` for the checks and `findings` of reading, by device; `file` None: nothing is wanted at all."""

    file: str | None
    wanted: Mapping[str, Wanted]
    facts: Mapping[str, SwitchFacts | None]
    findings: Mapping[str, list[Finding]] = field(default_factory=dict[str, "list[Finding]"])

    @classmethod
    def empty(cls, devices: Sequence[Device]) -> Source:
        names = [device.name for device in devices]
        return cls(None, dict.fromkeys(names, Wanted()), dict.fromkeys(names))

    @property
    def errors(self) -> list[Finding]:
        """What reading found, each once."""
        return list({str(each): each for some in self.findings.values() for each in errors_in(some)}.values())

    def failure(self, errors: Sequence[Finding]) -> CaisError:
        """The error that ends a command after its findings were shown."""
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        hint = str(errors[0]) if len(errors) == 1 else f"the first: {errors[0]}"
        return UsageError(f"{count} in {self.file}; nothing was changed", hint=hint)

    def of(self, examined: Mapping[str, Examined]) -> dict[Finding, list[str]]:
        """Every finding once, with the devices that it is about."""
        found: dict[Finding, list[str]] = {}
        for name, some in (*self.findings.items(), *((name, each.findings) for name, each in examined.items())):
            for finding in some:
                names = found.setdefault(finding, [])
                if name not in names:
                    names.append(name)
        return found


def read_source(config: Config, file: Path | None, devices: Sequence[Device]) -> Source:
    """Read `file`, or else the configuration itself. Raises UsageError for no file, and no TOML or JSON."""
    name = str(file) if file is not None else config.file
    if name is None:
        raise UsageError("which file? There is no cais.toml here", hint="cais rules apply FILE")
    data, lines = parse_document(read_text(Path(name)), name)
    document = Document(name, data, lines)
    if not any(key in data for key in _OURS):
        raise UsageError(f"{name} has no groups and no rules", hint="cais rules clear removes all from a switch")
    common = _top_level(document, config)
    known = frozenset(text for device in (*config.devices.values(), *devices) for text in (device.name, device.address))
    limit = float(config.settings()["sram_usage_limit"].value)
    wanted: dict[str, Wanted] = {}
    findings: dict[str, list[Finding]] = {}
    for device in devices:
        facts = DeviceFacts((device.name, device.address), device.ports, _link(device), known)
        wanted[device.name], found = read_wanted(document, facts)
        findings[device.name] = [*common, *found]
    return Source(name, wanted, {device.name: _facts(device, limit) for device in devices}, findings)


def _top_level(document: Document, config: Config) -> list[Finding]:
    findings: list[Finding] = []
    place = Place(document)
    known = (*_OURS, *_OF_CONFIG)
    for key in document.data:
        if key not in (*known, "schema"):
            message = f"unknown key {key!r}"
            findings.append(Finding.at(place, [key], Severity.ERROR, message, did_you_mean(key, known)))
    if "devices" in document.data and document.file != config.file and not _is_same(document.file, config.file):
        message = f"the devices of {document.file} are not used: they come from {config.file or 'a cais.toml'}"
        hint = f"--config {document.file} takes them from there"
        findings.append(Finding.at(place, ["devices"], Severity.WARNING, message, hint))
    return findings


def _is_same(file: str, other: str | None) -> bool:
    return other is not None and Path(file).resolve() == Path(other).resolve()


def _link(device: Device) -> Link | None:
    if not device.link_gbps or not device.rtt_us:
        return None
    return Link(device.link_gbps, device.rtt_us, device.hold_us or 0.0)


def _facts(device: Device, limit: Any) -> SwitchFacts:
    ports = frozenset(device.ports.values()) or None
    return SwitchFacts(name=device.name, ports=ports, sram_usage_limit=limit)
