"""Filters by the fields of the CAIS header: numbers, ranges and lists of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import UsageError
from cais_tools.wire.header import HEADER_FIELDS, Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["FieldFilter", "Ranges", "parse_ops", "parse_ranges", "ports_of"]

_BITS = {named.name: named.bits for named in HEADER_FIELDS}
_RANGE = re.compile(r"\s*(\d{1,10}|0[xX][0-9a-fA-F]{1,8})\s*(?:-\s*(\d{1,10}|0[xX][0-9a-fA-F]{1,8})\s*)?")


@dataclass(frozen=True)
class Ranges:
    """Whole numbers: `parts` are pairs of a first and a last one."""

    parts: tuple[tuple[int, int], ...]

    def __contains__(self, value: int) -> bool:
        return any(first <= value <= last for first, last in self.parts)

    def mask(self, values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(n,) which of the values are in one of the ranges."""
        keep = np.zeros(len(values), np.bool_)
        for first, last in self.parts:
            keep |= (values >= first) & (values <= last)
        return keep


def parse_ranges(text: str, *, option: str, most: int, least: int = 0) -> Ranges:
    """Parse `0-3,7` (also 0x1f). Raises UsageError for what is no number, or none from `least` to `most`."""
    parts: list[tuple[int, int]] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            raise UsageError(f"{option}: {item.strip()!r} is no number and no range", hint="for example 0-3,7")
        first = int(match[1], 0) if match[1][:2] in ("0x", "0X") else int(match[1])
        last = first if match[2] is None else int(match[2], 0) if match[2][:2] in ("0x", "0X") else int(match[2])
        if last < first:
            raise UsageError(f"{option}: the range {item.strip()} is empty", hint=f"perhaps {last}-{first}")
        if first < least or last > most:
            raise UsageError(f"{option}: {item.strip()} is out of range", hint=f"{least} to {most}")
        parts.append((first, last))
    return Ranges(tuple(parts))


def parse_ops(text: str, *, option: str) -> Ranges:
    """Parse `allreduce,broadcast`, or numbers as `parse_ranges` does."""
    labels = {op.label: int(op) for op in Op}
    parts: list[tuple[int, int]] = []
    for item in text.split(","):
        name = item.strip().lower().replace("_", "-")
        if name in labels:
            parts.append((labels[name], labels[name]))
        elif name[:1].isdigit():
            parts += parse_ranges(name, option=option, most=255).parts
        else:
            raise UsageError(f"{option}: no operation {item.strip()!r}", hint=", ".join(labels))
    return Ranges(tuple(parts))


@dataclass(frozen=True)
class FieldFilter:
    """Which CAIS packets are wanted; a field that is not named may be anything."""

    fields: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """By the field's name in the header."""
    ports: Ranges | None = None

    @classmethod
    def parse(
        cls,
        *,
        group: str | None = None,
        layer: str | None = None,
        chunk: str | None = None,
        op: str | None = None,
        seq: str | None = None,
        port: str | None = None,
    ) -> FieldFilter:
        """From what users write behind `--group` and so on."""
        wanted = {"group_id": group, "layer_id": layer, "chunk_id": chunk, "seq_num": seq}
        ranges = {
            name: parse_ranges(text, option="--" + name.split("_")[0], most=2 ** _BITS[name] - 1)
            for name, text in wanted.items()
            if text is not None
        }
        if op is not None:
            ranges["op_type"] = parse_ops(op, option="--op")
        if port is not None and any(part.strip() == "0" for part in port.split(",")):
            raise UsageError("--port: port 0 does not exist", hint="ports are the switch's own numbers and start at 1")
        return cls(ranges, None if port is None else parse_ranges(port, option="--port", least=1, most=510))

    def __bool__(self) -> bool:
        return bool(self.fields) or self.ports is not None

    def mask(self, decoded: Decoded, interfaces: Sequence[CaptureInterface]) -> NDArray[np.bool_]:
        """(m,) which packets pass."""
        keep = np.ones(len(decoded), np.bool_)
        for name, ranges in self.fields.items():
            keep &= ranges.mask(decoded.header[name])
        if self.ports is not None:
            keep &= self.ports.mask(ports_of(decoded, interfaces))
        return keep


def ports_of(decoded: Decoded, interfaces: Sequence[CaptureInterface]) -> NDArray[np.int64]:
    """(m,) port of the switch that each packet passed; 0 where nobody said."""
    ports = np.array([interface.port or 0 for interface in interfaces], np.int64)
    return ports[decoded.batch.interface[decoded.index]]
