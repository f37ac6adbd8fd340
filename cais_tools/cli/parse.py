"""What users write on a command line, as values. Each function raises UsageError with an example."""

from __future__ import annotations

import re

from cais_tools.errors import UsageError
from cais_tools.links import HIGHEST_PORT

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


def parse_port_list(text: str, *, option: str) -> tuple[int, ...]:
    """Parse `1,2,3,4` or `1-4` into the ports, in the order given."""
    ports: list[int] = []
    for item in text.split(","):
        first, last = _numbers(item, option, "1,2,3,4 or 1-4")
        if first == 0:
            raise UsageError(f"{option}: port 0 does not exist", hint="ports are the switch's own numbers, from 1 on")
        if last > HIGHEST_PORT:
            raise UsageError(f"{option}: port {last} does not exist", hint=f"ports are 1 to {HIGHEST_PORT}")
        ports.extend(range(first, last + 1))
    twice = sorted({port for port in ports if ports.count(port) > 1})
    if twice:
        raise UsageError(f"{option}: port {twice[0]} is given twice")
    return tuple(ports)


def _numbers(text: str, option: str, example: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:(?:-|\.\.)\s*(\d{1,9}))?\s*", text, re.ASCII)
    if not match:
        raise UsageError(f"{option}: {text!r} is no number and no range", hint=f"for example {example}")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"{option}: the range {text.strip()} is empty", hint=f"perhaps {last}-{first}")
    return first, last


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
