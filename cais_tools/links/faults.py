"""Bad cables on purpose: loss, duplicates, reordering and flipped bits, the same ones for the same seed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cais_tools.links.link import Link

__all__ = ["FaultCounts", "FaultModel", "FaultyLink", "parse_faults"]

_FURTHEST = 16  # how many later frames may overtake a reordered one


@dataclass(frozen=True)
class FaultModel:
    """How often a frame meets each fault, as probabilities from 0 to 1, in each direction."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder", "corrupt"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name} {getattr(self, name)} is no probability", hint="0 to 1, or 0% to 100%")

    @property
    def any(self) -> bool:
        return max(self.loss, self.duplicate, self.reorder, self.corrupt) > 0


def parse_faults(text: str) -> FaultModel:
    """Read `loss=2%&corrupt=0.001&seed=7`. Raises UsageError."""
    known = [each.name for each in fields(FaultModel)]
    values: dict[str, float] = {}
    for item in text.split("&"):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or name not in known:
            raise UsageError(f"{item!r} is no fault of a link", hint=f"NAME=SHARE, of {', '.join(known)}")
        try:
            values[name] = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
        except ValueError:
            raise UsageError(f"{name}: {value!r} is no number", hint="for example loss=2%") from None
    seed = int(values.pop("seed", 0))
    return FaultModel(**values, seed=seed)


@dataclass
class FaultCounts:
    """How many frames met each fault."""

    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0

    def __add__(self, other: FaultCounts) -> FaultCounts:
        return FaultCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass
class _Direction:
    """One direction of a bad cable. What happens to the k-th frame depends on the seed and k alone."""

    model: FaultModel
    random: np.random.Generator
    counts: FaultCounts = field(default_factory=FaultCounts)
    _held: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])  # (frames still to pass, frame)

    def spoil(self, frames: Sequence[bytes]) -> list[bytes]:
        model, counts = self.model, self.counts
        passed: list[bytes] = []
        # Five draws a frame whatever happens to it, so that faults do not depend on how frames come in batches.
        for frame, draws in zip(frames, self.random.random((len(frames), 5)).tolist(), strict=True):
            loss, duplicate, reorder, corrupt, where = draws
            self._release(passed)
            if loss < model.loss:
                counts.lost += 1
                continue
            if corrupt < model.corrupt and frame:
                counts.corrupted += 1
                frame = _flip_bit(frame, int(where * len(frame) * 8))
            if duplicate < model.duplicate:
                counts.duplicated += 1
                passed.append(frame)
            if reorder < model.reorder:
                counts.reordered += 1
                self._held.append((1 + int(where * _FURTHEST), frame))
            else:
                passed.append(frame)
        return passed

    def _release(self, passed: list[bytes]) -> None:
        """Let the frames go on that enough others have overtaken."""
        if self._held:
            passed += [frame for left, frame in self._held if left <= 1]
            self._held = [(left - 1, frame) for left, frame in self._held if left > 1]


class FaultyLink:
    """A host's link that spoils frames in both directions.

    A reordered frame goes on after 1 to 16 later frames; when none follow, it waits for the next retransmission.
    """

    def __init__(self, link: Link, model: FaultModel) -> None:
        self._link = link
        outward, inward = np.random.SeedSequence(model.seed).spawn(2)
        self._outward = _Direction(model, np.random.default_rng(outward))
        self._inward = _Direction(model, np.random.default_rng(inward))

    @property
    def name(self) -> str:
        return self._link.name

    @property
    def counts(self) -> FaultCounts:
        """Both directions together."""
        return self._outward.counts + self._inward.counts

    def fileno(self) -> int:
        return self._link.fileno()

    def send(self, frames: Sequence[bytes]) -> int:
        # A full link takes part of a batch: what it does not take is one more lost frame.
        self._link.send(self._outward.spoil(frames))
        return len(frames)

    def send_matrix(self, frames: NDArray[np.uint8]) -> int:
        return self.send([row.tobytes() for row in frames])

    def recv(self) -> list[bytes]:
        return self._inward.spoil(self._link.recv())

    def close(self) -> None:
        self._link.close()


def _flip_bit(frame: bytes, bit: int) -> bytes:
    spoiled = bytearray(frame)
    spoiled[bit // 8] ^= 0x80 >> bit % 8
    return bytes(spoiled)
