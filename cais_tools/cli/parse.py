"""What users write on a command line, as values. Each function raises UsageError with an example."""

from __future__ import annotations

import re

from cais_tools.config import Device
from cais_tools.errors import UsageError

__all__ = [
    "parse_bytes",
    "parse_define",
    "parse_port_list",
    "parse_probability",
    "parse_seconds",
]

_BYTE_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "KIB": 2**10, "MIB": 2**20, "K": 2**10, "M": 2**20}
_SECOND_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_LONGEST = 86_400.0
_MOST_BYTES = 2**30
_LANES = ("32", "64", "256")


def parse_port_list(text: str, *, option: str, device: Device | None = None) -> tuple[int, ...]:
    """Parse `1,2,3,4`, `1-4`, or names that the file has for ports of `device`, into ports in the order given."""
    try:
        return (device or Device("the switch", "")).port_list(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint) from None


def parse_bytes(text: str, *, option: str) -> int:
    """Parse `16KiB`, `1MiB`, `4096` into bytes."""
    match = re.fullmatch(r"\s*(\d{1,12})\s*([A-Za-z]*)\s*", text, re.ASCII)
    unit = _BYTE_UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or int(match[1]) == 0:
        raise UsageError(f"{option}: {text!r} is no size", hint="for example 16KiB, 1MiB or 4096")
    size = int(match[1]) * unit
    if size > _MOST_BYTES:
        raise UsageError(f"{option}: {text.strip()} is more than 1024MiB")
    return size


def parse_probability(text: str, *, option: str) -> float:
    """Parse `5%` or `0.05` into 0.05."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{option}: {text!r} is no share of the frames", hint="for example 5% or 0.05")
    return value


def parse_seconds(text: str, *, option: str) -> float:
    """Parse `1s`, `500ms` or `2` into seconds, more than 0."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]*)\s*", text, re.ASCII)
    unit = _SECOND_UNITS.get(match[2]) if match else None
    if match is None or unit is None or float(match[1]) == 0:
        raise UsageError(f"{option}: {text!r} is no time", hint="for example 1s or 500ms")
    seconds = float(match[1]) * unit
    if seconds > _LONGEST:
        raise UsageError(f"{option}: {text.strip()} is more than a day")
    return seconds


def parse_define(text: str) -> tuple[str, str]:
    """Parse `LANES=32` or `SLOTS=8192`, the build parameters of the P4 program."""
    name, separator, value = (part.strip() for part in text.partition("="))
    if not separator or not name or not value:
        raise UsageError(f"-D: {text!r} is no NAME=VALUE", hint="for example -D LANES=32")
    if name == "LANES":
        if value not in _LANES:
            raise UsageError(f"-D: LANES={value} does not build", hint=f"one of {', '.join(_LANES)}")
    elif name == "SLOTS":
        if not re.fullmatch(r"[1-9]\d{0,6}", value, re.ASCII):
            raise UsageError(f"-D: SLOTS={value} is no number of slots", hint="for example -D SLOTS=4096")
    else:
        raise UsageError(f"-D: the program has no parameter {name}", hint="LANES and SLOTS")
    return name, value
