"""The settings of the original's `cais_config`, their ranges and defaults, and where each value came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cais_tools.config.address import parse_target
from cais_tools.config.section import Section
from cais_tools.errors import UsageError

__all__ = ["SETTINGS", "Setting", "SettingKind", "Value", "kind_of", "resolve"]

Value: TypeAlias = int | float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from: `flag`, `CAIS_CHUNK_SIZE`, `cais.toml:12` or `default`."""

    value: Value
    source: str


@dataclass(frozen=True, slots=True)
class SettingKind:
    """What a setting may be. Its type is that of `default`; `low` and `high` are both allowed."""

    name: str
    table: str
    key: str
    default: Value
    low: float
    high: float
    meaning: str

    @property
    def variable(self) -> str:
        return f"CAIS_{self.name.upper()}"

    def read(self, section: Section) -> Value | None:
        if isinstance(self.default, str):
            return section.address(self.key)
        if isinstance(self.default, int):
            return section.integer(self.key, int(self.low), int(self.high))
        return section.number(self.key, self.low, self.high)

    def parse(self, text: str, source: str) -> Value:
        """The value of an option or of an environment variable. Raises UsageError that names `source`."""
        try:
            if isinstance(self.default, str):
                parse_target(text)
                return text.strip()
            value = int(text) if isinstance(self.default, int) else float(text)
        except ValueError:
            kind = "whole number" if isinstance(self.default, int) else "number"
            raise UsageError(f"{source}: {text!r} is no {kind}", hint=f"for example {self.default}") from None
        except UsageError as error:
            raise UsageError(f"{source}: {error.message}", hint=error.hint) from None
        if not self.low <= value <= self.high:
            raise UsageError(f"{source}: {text} is not between {self.low:g} and {self.high:g}")
        return value


SETTINGS = (
    SettingKind("controller", "controller", "address", "127.0.0.1", 0, 0, "host of the controller, or HOST:PORT"),
    SettingKind("controller_port", "defaults", "controller_port", 50051, 1, 65535, "TCP port of the controller"),
    SettingKind("chunk_size", "defaults", "chunk_size", 65536, 4, 2**30, "bytes of a chunk"),
    SettingKind(
        "offload_threshold", "defaults", "offload_threshold", 0.2, 0.0, 1.0, "offload where the score is above"
    ),
    SettingKind("timeout_ms", "defaults", "timeout_ms", 50, 1, 600_000, "wait this long for a result, then fall back"),
    SettingKind(
        "max_pending_chunks", "defaults", "max_pending_chunks", 128, 1, 65_535, "chunks of a rank under way at a time"
    ),
    SettingKind(
        "sram_usage_limit", "defaults", "sram_usage_limit", 0.75, 0.01, 1.0, "share of the slots that may be given out"
    ),
)
"""In the order in which they are shown."""


def kind_of(name: str) -> SettingKind:
    return next(kind for kind in SETTINGS if kind.name == name)


def resolve(
    written: Mapping[str, Setting], environ: Mapping[str, str], flags: Mapping[str, Value] | None = None
) -> dict[str, Setting]:
    """All settings: flag before environment before what is `written` in the file before default."""
    flags = flags or {}
    return {kind.name: _resolve(kind, written, environ, flags) for kind in SETTINGS}


def _resolve(
    kind: SettingKind, written: Mapping[str, Setting], environ: Mapping[str, str], flags: Mapping[str, Value]
) -> Setting:
    if kind.name in flags:
        return Setting(flags[kind.name], "flag")
    if environ.get(kind.variable):
        return Setting(kind.parse(environ[kind.variable], kind.variable), kind.variable)
    return written.get(kind.name) or Setting(kind.default, "default")
