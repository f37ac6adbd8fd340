"""What is offloaded: the decisions for all groups, remembered from one tick to the next (design, section 7).

Without I/O and without a clock: `tick` is told what time it is and what was measured. Each 100 ms, or at once when
somebody has asked for a path or a switch has gone:

    policy.tick(now, {group: GroupInputs(...), ...})
    policy.hand_out(group, first_operation)    # -> the Decision for a block of operations; the history notes it

Three things keep decisions from flapping (`hysteresis`): a class enters the switch over the threshold and leaves
below threshold - 0.05; the threshold rises by 0.2 while more than 80 % of the slots are in use, until it is 70 %; over
`sram_usage_limit` nothing enters, until the usage is at 7/8 of it. What is on the switch then may stay.

Classes that nobody has seen go by their size: the score grows with it and depends on nothing else of the operation
(`scoring`), so all that a decision must say of them is the least number of bytes whose score is over the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cais_tools.controller.history import KEPT_TICKS, ClassHistory, GroupHistory
from cais_tools.controller.hysteresis import RAISE, RAISE_ABOVE, Latch
from cais_tools.controller.scoring import Kind, OperationClass, Path, break_even
from cais_tools.controller.verdict import GroupInputs, Reason, in_words, judge, of_whole_group

__all__ = ["MAX_CLASSES", "Decision", "GroupState", "Policy"]

MAX_CLASSES: Final = 64
"""Classes of a group that are remembered; beyond these the one that was not used for longest goes."""

_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.UNSPECIFIED)


@dataclass(frozen=True, slots=True)
class Decision:
    """Where the operations of a group go.

    A class in `overrides` has its path there. Any other goes to the switch where its tensor has at least as many bytes
    as `break_even` wants of its kind; a kind that is missing there stays on endpoints. With `offload` false everything
    does, for `reason`. `threshold` is the one in force, `admitted`: whether classes may enter the switch.
    """

    offload: bool
    reason: str
    overrides: Mapping[OperationClass, Path]
    break_even: Mapping[Kind, int]
    threshold: float
    admitted: bool

    def path(self, operation: OperationClass) -> Path:
        """As the ranks of the group read this decision."""
        if not self.offload:
            return Path.ENDPOINT
        if operation in self.overrides:
            return self.overrides[operation]
        least = self.break_even.get(operation.kind)
        return Path.SWITCH if least is not None and operation.bytes >= least else Path.ENDPOINT


class GroupState:
    """One group between ticks. `dropped_classes`: how many made room for others."""

    def __init__(self, max_classes: int, kept: int) -> None:
        self._max_classes, self._kept = max_classes, kept
        self._crowded, self._full = Latch(), Latch()
        self.history = GroupHistory(kept)
        self.classes: dict[OperationClass, ClassHistory] = {}
        """In the order of use, the latest last."""
        self.dropped_classes = 0
        self.inputs: GroupInputs | None = None
        self.decision = Decision(False, in_words(Reason.UNDECIDED, 0, 0, 0), {}, {}, 0, False)

    def tick(self, now: float, inputs: GroupInputs) -> None:
        self.inputs = inputs
        self._use(inputs.seen)
        raised = self._crowded.update(inputs.sram_usage, RAISE_ABOVE)
        threshold = inputs.offload_threshold + (RAISE if raised else 0)
        admitted = not self._full.update(inputs.sram_usage, inputs.sram_usage_limit)
        self.history.append(now, inputs, threshold=threshold, raised=raised, admitted=admitted)
        for operation, record in self.classes.items():
            was_on = record.path is Path.SWITCH
            record.append(judge(operation, inputs, threshold=threshold, admitted=admitted, was_on=was_on))
        self.decision = self._decide(inputs, threshold, admitted)

    def hold(self, operation: int) -> None:
        for record in self.classes.values():
            record.hold(operation)

    def _use(self, seen: Sequence[OperationClass]) -> None:
        for operation in seen:
            record = self.classes.pop(operation, None)
            self.classes[operation] = record or ClassHistory(self.history.end, self._kept)
        while len(self.classes) > self._max_classes:
            del self.classes[next(iter(self.classes))]
            self.dropped_classes += 1

    def _decide(self, inputs: GroupInputs, threshold: float, admitted: bool) -> Decision:
        whole = of_whole_group(inputs)
        if whole is not None:
            path, reason = whole
            words = in_words(reason, 0, threshold, inputs.sram_usage)
            sizes = dict.fromkeys(_KINDS, 1) if path is Path.SWITCH else {}
            return Decision(path is Path.SWITCH, words, {}, sizes, threshold, admitted)
        least = break_even(inputs.link, threshold)
        sizes = dict.fromkeys(_KINDS, least) if least is not None and admitted else {}
        by_size = Decision(True, "", {}, sizes, threshold, admitted)
        overrides = {
            operation: record.path
            for operation, record in self.classes.items()
            if record.path is not None and record.path is not by_size.path(operation)
        }
        words = _in_words(least, threshold, admitted, inputs.sram_usage)
        return Decision(bool(sizes or overrides), words, overrides, sizes, threshold, admitted)


def _in_words(least: int | None, threshold: float, admitted: bool, sram_usage: float) -> str:
    if not admitted:
        return in_words(Reason.FULL, 0, threshold, sram_usage)
    if least is None:
        return f"no size has a score over the threshold {threshold:.3f}"
    return f"scores are over the threshold {threshold:.3f} from {least} bytes on"


class Policy:
    """Not thread-safe: whoever ticks also asks, or holds a lock."""

    def __init__(self, *, max_classes: int = MAX_CLASSES, kept_ticks: int = KEPT_TICKS) -> None:
        self._max_classes, self._kept = max_classes, kept_ticks
        self._groups: dict[int, GroupState] = {}

    def tick(self, now: float, inputs: Mapping[int, GroupInputs]) -> None:
        """Decide for the groups that are there, by their ids; forget those that are not."""
        for group in self._groups.keys() - inputs.keys():
            del self._groups[group]
        for group, of_group in inputs.items():
            if group not in self._groups:
                self._groups[group] = GroupState(self._max_classes, self._kept)
            self._groups[group].tick(now, of_group)

    def state(self, group: int) -> GroupState:
        """What is remembered of a group; one that no tick has named yet stays on endpoints."""
        return self._groups.get(group) or GroupState(self._max_classes, self._kept)

    def decision(self, group: int) -> Decision:
        """The latest; only to look at."""
        return self.state(group).decision

    def hand_out(self, group: int, first_operation: int) -> Decision:
        """The latest, for the operations of the group from this one on: a block, or a forced change."""
        state = self.state(group)
        state.hold(first_operation)
        return state.decision
