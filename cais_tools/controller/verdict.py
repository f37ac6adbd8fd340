"""The decision for one class of operations of one group, and why. Pure: inputs and the path so far in, verdict out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from cais_tools.controller.hysteresis import BAND, stays_on
from cais_tools.controller.scoring import Kind, Link, OperationClass, Path, Terms, terms

__all__ = ["GroupInputs", "Reason", "Verdict", "in_words", "judge", "of_whole_group"]


@dataclass(frozen=True, slots=True)
class GroupInputs:
    """What is known of a group and its switch at one moment.

    `link` as `scoring.Link` has it; NaN where telemetry has no number yet. `sram_usage` is the share of the slots in
    use, 0 to 1. `reachable`, `drained`, `proved`: whether the switch answers, whether people have closed it, whether
    it has added up a test vector for this group. `wanted` is what people asked for. `seen` are the classes that the
    group used since the last tick. `offload_threshold` and `sram_usage_limit` are the settings.
    """

    link: Link
    sram_usage: float
    reachable: bool = True
    drained: bool = False
    proved: bool = True
    wanted: Path = Path.AUTO
    seen: tuple[OperationClass, ...] = ()
    offload_threshold: float = 0.2
    sram_usage_limit: float = 0.75


class Reason(IntEnum):
    """Why operations go where they go."""

    UNDECIDED = 0
    ONE_RANK = 1
    ASKED_ENDPOINT = 2
    GONE = 3
    DRAINED = 4
    UNPROVED = 5
    UNKNOWN_KIND = 6
    EMPTY = 7
    ASKED_SWITCH = 8
    NO_BANDWIDTH = 9
    NO_RATE = 10
    NO_DELAY = 11
    NO_THRESHOLD = 12
    FULL = 13
    GAINS = 14
    KEPT = 15
    GAINS_TOO_LITTLE = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    path: Path
    reason: Reason
    terms: Terms


def of_whole_group(inputs: GroupInputs) -> tuple[Path, Reason] | None:
    """Where all operations of the group go, whatever their class; None: their scores decide."""
    if inputs.link.ranks <= 1:
        return Path.ENDPOINT, Reason.ONE_RANK
    if inputs.wanted is Path.ENDPOINT:
        return Path.ENDPOINT, Reason.ASKED_ENDPOINT
    if not inputs.reachable:
        return Path.ENDPOINT, Reason.GONE
    if inputs.drained:
        return Path.ENDPOINT, Reason.DRAINED
    if not inputs.proved:
        return Path.ENDPOINT, Reason.UNPROVED
    if inputs.wanted is Path.SWITCH:
        return Path.SWITCH, Reason.ASKED_SWITCH
    missing = _missing(inputs)
    return (Path.ENDPOINT, missing) if missing is not None else None


def _missing(inputs: GroupInputs) -> Reason | None:
    """Which number is not there, or makes no sense."""
    link = inputs.link
    if not (math.isfinite(link.bandwidth) and link.bandwidth > 0):
        return Reason.NO_BANDWIDTH
    if not link.processing_rate > 0:
        return Reason.NO_RATE
    if not link.queue_delay >= 0:
        return Reason.NO_DELAY
    return Reason.NO_THRESHOLD if math.isnan(inputs.offload_threshold) else None


def judge(operation: OperationClass, inputs: GroupInputs, *, threshold: float, admitted: bool, was_on: bool) -> Verdict:
    """`threshold` is the one in force; where `admitted` is false, only what `was_on` the switch may be there."""
    found = terms(operation.bytes, inputs.link)
    whole = of_whole_group(inputs)
    if whole is not None and whole[0] is Path.ENDPOINT:
        return Verdict(*whole, found)
    if operation.kind is Kind.UNSPECIFIED:
        return Verdict(Path.ENDPOINT, Reason.UNKNOWN_KIND, found)
    if operation.bytes <= 0:
        return Verdict(Path.ENDPOINT, Reason.EMPTY, found)
    if whole is not None:
        return Verdict(*whole, found)
    if not stays_on(was_on, found.score, threshold):
        return Verdict(Path.ENDPOINT, Reason.GAINS_TOO_LITTLE, found)
    if not was_on and not admitted:
        return Verdict(Path.ENDPOINT, Reason.FULL, found)
    return Verdict(Path.SWITCH, Reason.GAINS if found.score > threshold else Reason.KEPT, found)


_WORDS = {
    Reason.UNDECIDED: "not decided yet",
    Reason.ONE_RANK: "a group of one rank has nothing to add up",
    Reason.ASKED_ENDPOINT: "endpoints were asked for",
    Reason.GONE: "the switch does not answer",
    Reason.DRAINED: "the switch is drained",
    Reason.UNPROVED: "the switch has not yet added up a test vector",
    Reason.UNKNOWN_KIND: "the switch does not know this kind of operation",
    Reason.EMPTY: "there is nothing to send",
    Reason.ASKED_SWITCH: "the switch was asked for",
    Reason.NO_BANDWIDTH: "the links' bandwidth is not known",
    Reason.NO_RATE: "the switch's processing rate is not known",
    Reason.NO_DELAY: "the switch's queue delay is not known",
    Reason.NO_THRESHOLD: "offload_threshold is no number",
}


def in_words(reason: Reason, score: float, threshold: float, sram_usage: float) -> str:
    """One line for people."""
    match reason:
        case Reason.GAINS:
            return f"score {score:.3f} is over the threshold {threshold:.3f}"
        case Reason.KEPT:
            return f"score {score:.3f} is not yet below {threshold - BAND:.3f}, where it leaves the switch"
        case Reason.GAINS_TOO_LITTLE:
            return f"score {score:.3f} is not over the threshold {threshold:.3f}"
        case Reason.FULL:
            return f"no new work: {sram_usage:.0%} of the slots are in use"
        case _:
            return _WORDS[reason]
