"""The verdict on every update of a batch (P4Runtime 1.4, section 12.3). Sans I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cais_tools.p4rt import p4runtime_pb2
from cais_tools.p4rt.status import code_name

__all__ = ["Verdict", "verdicts_of"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one update.

    `index` is its place in the batch, `update` the update or its text, `code` a canonical name. `certain` is False
    where the switch reported a failure of the whole batch without saying which update it was.
    """

    index: int
    update: object
    code: str = "OK"
    message: str = ""
    certain: bool = True

    @property
    def ok(self) -> bool:
        return self.code == "OK"

    @property
    def hint(self) -> str | None:
        if not self.certain:
            return "the switch does not say which update of the batch failed; the reason is in its log"
        if self.code == "RESOURCE_EXHAUSTED":
            return "the table is full"
        if self.code == "UNKNOWN" and "to target" in self.message:
            return "bmv2 says this when a table is full, among others"
        if self.code == "ALREADY_EXISTS":
            return "it is there already; modify it, or apply instead of insert"
        return None

    def __str__(self) -> str:
        text = f"update {self.index} ({self.update}): {self.code}"
        return text + (f", {self.message}" if self.message else "")


def verdicts_of(
    updates: Sequence[object], errors: Sequence[p4runtime_pb2.Error], code: str, message: str, first: int = 0
) -> list[Verdict]:
    """Verdicts on `updates`, numbered from `first` on, from a failed Write: the per-update `errors`, or, without them,
    the call's own `code`.

    A single update's verdict is certain either way. A server that sends some other number of errors than there
    were updates is treated as one that sent none.
    """
    if len(errors) == len(updates):
        return [
            Verdict(first + place, update, code_name(error.canonical_code), error.message)
            for place, (update, error) in enumerate(zip(updates, errors, strict=True))
        ]
    certain = len(updates) == 1
    return [Verdict(place, update, code, message, certain) for place, update in enumerate(updates, first)]
