"""What the smoke test found: counts by operation, latencies, and the first mismatch in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cais_tools.errors import CaisError

__all__ = ["Comparison", "Failure", "Mismatch", "OperationRow", "Report", "percentile"]


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that `share` (0 to 1) of the values do not exceed; NaN of nothing."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True)
class Mismatch:
    """Where a result is wrong, as exactly as it is known."""

    step: int
    operation: str
    rank: int
    chunk: int
    lane: int
    expected: float
    got: float
    cause: str
    frame: Path | None
    """pcap file with the contributions to the chunk and the result."""

    def __str__(self) -> str:
        where = f"step {self.step}, {self.operation}, rank {self.rank}, chunk {self.chunk}, lane {self.lane}"
        return f"{where}: expected {self.expected}, got {self.got}"


@dataclass(frozen=True)
class Failure:
    """What ended the run before its plan was done, and in which operation."""

    step: int
    operation: str
    error: CaisError

    def as_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "operation": self.operation,
            "error": self.error.message,
            "hint": self.error.hint,
            "exit_code": self.error.exit_code,
        }


@dataclass
class OperationRow:
    """One line of the table: everything that one operation did in all steps, over all ranks."""

    operation: str
    steps: int = 0
    """Those that came to an end; the packets of one that did not are counted all the same."""
    packets: int = 0
    """Contributions sent for the first time."""
    retransmissions: int = 0
    duplicates: int = 0
    """Results that a rank had already."""
    mismatches: int = 0
    """Steps that delivered a wrong tensor to some rank."""
    repeated: int = 0
    """Times that all ranks did an operation again, because a result was refused or did not come."""
    undetected: int = 0
    """Steps of max, min or product that a flipped bit changed: their tag covers no values."""
    bytes: int = 0
    """Bytes of tensors, one rank's share a step."""
    latencies: list[float] = field(default_factory=list[float])
    """Seconds from the first rank's start to the last rank's end, repetitions included."""

    @property
    def seconds(self) -> float:
        return sum(self.latencies)

    @property
    def p50(self) -> float:
        return percentile(self.latencies, 0.50)

    @property
    def p99(self) -> float:
        return percentile(self.latencies, 0.99)

    @property
    def goodput(self) -> float:
        """Bytes of tensor a second that each rank got done; NaN before the first step."""
        return self.bytes / self.seconds if self.seconds else float("nan")

    def as_dict(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "steps": self.steps,
            "packets": self.packets,
            "retransmissions": self.retransmissions,
            "duplicates": self.duplicates,
            "mismatches": self.mismatches,
            "repeated": self.repeated,
            "undetected": self.undetected,
            "latency_p50_us": self.p50 * 1e6,
            "latency_p99_us": self.p99 * 1e6,
            "goodput_bytes_per_s": self.goodput,
        }


@dataclass
class Comparison:
    """The same tensors through another library, for one operation."""

    operation: str
    steps: int = 0
    differences: int = 0
    """Steps in which its result and ours differ by more than both allow."""
    latencies: list[float] = field(default_factory=list[float])

    @property
    def p50(self) -> float:
        return percentile(self.latencies, 0.50)

    @property
    def p99(self) -> float:
        return percentile(self.latencies, 0.99)

    def as_dict(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "steps": self.steps,
            "differences": self.differences,
            "latency_p50_us": self.p50 * 1e6,
            "latency_p99_us": self.p99 * 1e6,
        }


@dataclass
class Report:
    """Everything that a run of the smoke test says."""

    device: str
    seed: int
    ranks: int
    size: int
    rows: dict[str, OperationRow] = field(default_factory=dict[str, OperationRow])
    mismatch: Mismatch | None = None
    """The first one that was delivered, or the one that was refused until the run ended."""
    failure: Failure | None = None
    faults: dict[str, int] = field(default_factory=dict[str, int])
    against: dict[str, Comparison] = field(default_factory=dict[str, Comparison])
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        wrong = any(row.mismatches for row in self.rows.values())
        return not (self.failure or wrong or any(other.differences for other in self.against.values()))

    def total(self, name: str) -> int:
        """The sum of one column."""
        return sum(getattr(row, name) for row in self.rows.values())

    def verdict(self) -> str:
        """The last line."""
        steps = max((row.steps for row in self.rows.values()), default=0)
        work = f"{self.ranks} ranks, {steps} steps of {len(self.rows)} operations, {self.total('packets')} packets"
        found = f"{self.total('mismatches')} mismatches in {self.seconds:.1f} s"
        if self.total("undetected"):
            found += f", {self.total('undetected')} undetected in operations whose tag covers no values"
        differences = sum(other.differences for other in self.against.values())
        if differences:
            found += f", {differences} differences"
        if self.passed:
            return f"passed: {work}, {found}"
        ended = f"ended in step {self.failure.step}, {self.failure.operation}; " if self.failure else ""
        return f"failed: {ended}{work}, {found}, seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        mismatch = None
        if self.mismatch is not None:
            mismatch = asdict(self.mismatch) | {"frame": self.mismatch.frame and str(self.mismatch.frame)}
        return {
            "passed": self.passed,
            "device": self.device,
            "seed": self.seed,
            "ranks": self.ranks,
            "size_bytes": self.size,
            "duration_s": self.seconds,
            "operations": [row.as_dict() for row in self.rows.values()],
            "faults": self.faults,
            "against": [other.as_dict() for other in self.against.values()],
            "mismatch": mismatch,
            "failure": self.failure and self.failure.as_dict(),
        }
