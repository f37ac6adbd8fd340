"""Is the switch adding right? Each result, bit by bit, against the contributions that were captured.

What is not there cannot be compared: an aggregate of which the capture lacks something counts as not verifiable, with
the reason, and never as right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.mismatch import Mismatch, describe, epochs_of, mismatch, participants
from cais_tools.sniff.sums import Sums, recompute
from cais_tools.sniff.window import Aggregates, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded

__all__ = ["Verify", "VerifyReport"]

MOST_MISMATCHES = 1000
"""That many are described; the others are counted."""
_MOST_EPOCHS = 64

NO_CONTRIBUTION = "no contribution was captured"
MISSING = "contributions are missing"
CUT = "packets are cut off by the capture"
CHANGED = "a contributor sent two contributions that differ"
TWO_INTERFACES = "one address contributed on two interfaces"
NO_PAYLOAD = "only headers of the result were captured"


@dataclass(frozen=True)
class VerifyReport:
    aggregates: int
    verified: int
    results: int
    """Copies of results that were compared and right."""
    lanes: int
    """Lanes of them."""
    mismatched: int
    without_result: int
    not_verifiable: Mapping[str, int]
    """Aggregates with a result, by reason."""
    missing: Mapping[str, int]
    """Aggregates with a result that lack a contribution, by contributor."""
    bad: int
    """Packets that the switch drops."""
    mismatches: Sequence[Mismatch]

    @property
    def passed(self) -> bool:
        """Something was compared, and nothing was wrong."""
        return self.verified > 0 and self.mismatched == 0


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """Wrong, unless a contribution is missing that is not known yet."""

    group_id: int
    senders: frozenset[int]
    mismatch: Mismatch | None


@dataclass
class _Group:
    """What the aggregates that were right have taught about a group."""

    members: set[frozenset[int]] = field(default_factory=set[frozenset[int]])
    epochs: set[int] = field(default_factory=set[int])


class Verify:
    """Feed it decoded batches; what comes back are results that are wrong."""

    def __init__(self, interfaces: Sequence[CaptureInterface], *, live: bool = False) -> None:
        self._window = Window(interfaces, payload=True, live=live)
        self._contributors = self._window.contributors
        self._groups: dict[int, _Group] = {}
        self._doubtful: list[_Doubtful] = []
        self._doubts: Counter[tuple[int, frozenset[int]]] = Counter()
        self._reasons: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._mismatches: list[Mismatch] = []
        self._aggregates = self._verified = self._results = self._lanes = self._mismatched = self._open = 0

    def feed(self, decoded: Decoded) -> list[Mismatch]:
        return self._look(self._window.add(decoded))

    def tick(self, now_ns: int) -> list[Mismatch]:
        """Look at what has been quiet for long; for live captures."""
        return self._look(self._window.tick(now_ns))

    def finish(self) -> list[Mismatch]:
        """Look at what is left, and decide what was open until now."""
        return [*self._look(self._window.finish()), *self._decide()]

    def report(self) -> VerifyReport:
        return VerifyReport(
            aggregates=self._aggregates,
            verified=self._verified,
            results=self._results,
            lanes=self._lanes,
            mismatched=self._mismatched,
            without_result=self._open,
            not_verifiable=dict(self._reasons),
            missing=dict(self._missing.most_common()),
            bad=self._window.bad,
            mismatches=tuple(self._mismatches),
        )

    def _look(self, found: Aggregates | None) -> list[Mismatch]:
        if found is None:
            return []
        sums = recompute(found)
        owner = found.owner[sums.results]
        answered = np.bincount(owner, minlength=len(found)) > 0
        right = sums.lanes_right & sums.tag_right & sums.length_right
        wrong = np.bincount(owner[~right], minlength=len(found)) > 0
        shows_payload = np.bincount(owner[found.rows["payload_len"][sums.results] > 0], minlength=len(found)) > 0
        self._aggregates += len(found)
        self._open += int(np.count_nonzero(~answered))
        left = self._set_aside(answered, sums.edges[1:] == sums.edges[:-1], NO_CONTRIBUTION)
        left = self._set_aside(left, sums.cut, CUT)
        left = self._set_aside(left, sums.two_interfaces, TWO_INTERFACES)
        left = self._set_aside(left, sums.changed, CHANGED)
        left = self._set_aside(left, ~wrong & sums.filled & ~shows_payload, NO_PAYLOAD)
        good = left & ~wrong
        spoiled = self._learn(found, sums, good)
        good &= ~spoiled
        self._count_right(found, sums, owner, good)
        news = [self._spoiled(found, sums, at) for at in np.flatnonzero(spoiled).tolist()]
        for at in np.flatnonzero(left & wrong).tolist():
            news += self._judge(found, sums, at)
        return self._keep([each for each in news if each is not None])

    def _set_aside(self, left: NDArray[np.bool_], flags: NDArray[np.bool_], reason: str) -> NDArray[np.bool_]:
        count = int(np.count_nonzero(left & flags))
        if count:
            self._reasons[reason] += count
        return left & ~flags

    def _count_right(self, found: Aggregates, sums: Sums, owner: NDArray[np.int64], good: NDArray[np.bool_]) -> None:
        copies = sums.results[good[owner]]
        self._verified += int(np.count_nonzero(good))
        self._results += len(copies)
        self._lanes += int(found.rows["lanes"][copies].sum())

    def _group(self, group_id: int) -> _Group:
        return self._groups.setdefault(group_id, _Group())

    def _senders(self, found: Aggregates, sums: Sums, at: int) -> frozenset[int]:
        members = sums.contributions[sums.edges[at] : sums.edges[at + 1]]
        return frozenset(found.rows["sender"][members].tolist())

    # What right aggregates teach

    def _learn(self, found: Aggregates, sums: Sums, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Learn members and epochs of groups; (a,) where a contribution's own tag does not fit its payload."""
        spoiled = np.zeros(len(found), np.bool_)
        if not good.any():
            return spoiled
        self._learn_members(found, sums, good)
        ranks = np.array(
            [-1 if (rank := self._contributors.rank(k)) is None else rank for k in range(len(self._contributors))]
        )
        owner = np.repeat(np.arange(len(found)), np.diff(sums.edges))
        whose = ranks[found.rows["sender"][sums.contributions]]
        nameless = np.bincount(owner[whose < 0], minlength=len(found)) > 0
        looked_at = (good & ~nameless)[owner]
        packets, owner, whose = sums.contributions[looked_at], owner[looked_at], whose[looked_at]
        if not len(packets):
            return spoiled
        epochs = epochs_of(found, packets, whose)
        starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
        agree = np.minimum.reduceat(epochs, starts) == np.maximum.reduceat(epochs, starts)
        several = np.diff(np.append(starts, len(owner))) > 1
        groups = found.rows["group_id"][packets]
        pairs = np.unique(np.stack((groups[starts], epochs[starts]), axis=1)[agree & several], axis=0)
        for group, epoch in pairs.tolist():
            known = self._group(group).epochs
            if len(known) < _MOST_EPOCHS:
                known.add(epoch)
        for k in np.flatnonzero(~agree).tolist():
            begin = int(starts[k])
            end = int(starts[k + 1]) if k + 1 < len(starts) else len(owner)
            # Where none is known, it is a sum of floats: their exponents are in the tags.
            known = [int(epoch) in self._group(int(groups[begin])).epochs for epoch in epochs[begin:end]]
            spoiled[owner[begin]] = any(known)
        return spoiled

    def _learn_members(self, found: Aggregates, sums: Sums, good: NDArray[np.bool_]) -> None:
        senders = found.rows["sender"][sums.contributions]
        count = np.diff(sums.edges)
        # Aggregates with the same contributors are many: a look at one of each kind is enough.
        kinds = np.zeros((len(found), 4), np.int64)
        group = found.rows["group_id"][found.start]
        kinds[:, 0], kinds[:, 1] = group, count
        some = np.flatnonzero(count)
        kinds[some, 2] = np.add.reduceat(senders.astype(np.int64) ** 2, sums.edges[some])
        kinds[some, 3] = np.add.reduceat(senders.astype(np.int64), sums.edges[some])
        which = np.flatnonzero(good)
        _, one_of_each = np.unique(kinds[which], axis=0, return_index=True)
        for at in which[one_of_each].tolist():
            members = self._group(int(group[at])).members
            if len(members) < _MOST_EPOCHS:
                members.add(self._senders(found, sums, at))

    # What is wrong

    def _judge(self, found: Aggregates, sums: Sums, at: int) -> list[Mismatch | None]:
        """A result that does not fit: wrong, not verifiable, or open until more of the capture is known."""
        results = np.flatnonzero(found.owner[sums.results] == at)
        group_id = int(found.rows["group_id"][found.start[at]])
        senders = self._senders(found, sums, at)
        for result in sums.results[results].tolist():
            ranks = participants(found, sums, at, result, self._contributors)
            if ranks is not None:
                seen = {self._contributors.rank(sender) for sender in senders}
                absent = [rank for rank in ranks if rank not in seen]
                if absent:
                    self._lacks([f"rank {rank}" for rank in absent])
                    return []
        # All terms are there: nobody is missing.
        complete = bool(sums.tag_right[results].all())
        if complete or self._holds_members(group_id, senders):
            return [self._describe(found, sums, at)]
        self._doubts[group_id, senders] += 1
        if len(self._doubtful) < MOST_MISMATCHES:
            wrong = self._describe(found, sums, at)
            self._mismatched -= 1
            self._doubtful.append(_Doubtful(group_id, senders, wrong))
        return []

    def _describe(self, found: Aggregates, sums: Sums, at: int) -> Mismatch | None:
        self._mismatched += 1
        if self._mismatched > MOST_MISMATCHES:
            return None
        return describe(found, sums, at, self._contributors)

    def _holds_members(self, group_id: int, senders: frozenset[int]) -> bool:
        return any(members <= senders for members in self._group(group_id).members)

    def _lacks(self, names: Sequence[str], times: int = 1) -> None:
        self._reasons[MISSING] += times
        for name in names:
            self._missing[name] += times

    def _decide(self) -> list[Mismatch]:
        """At the end: is somebody missing whom the rest of the capture knows, or is the sum wrong?"""
        news: list[Mismatch] = []
        for (group_id, senders), times in self._doubts.items():
            if self._holds_members(group_id, senders):
                self._mismatched += times
                news += [
                    each.mismatch
                    for each in self._doubtful
                    if (each.group_id, each.senders) == (group_id, senders) and each.mismatch is not None
                ]
                continue
            members = min(self._group(group_id).members, key=lambda known: len(known - senders), default=None)
            absent = sorted(members - senders) if members is not None else []
            self._lacks([self._contributors.name(sender) for sender in absent] or ["unknown"], times)
        self._doubts.clear()
        self._doubtful.clear()
        return self._keep(sorted(news, key=lambda each: each.number))

    def _spoiled(self, found: Aggregates, sums: Sums, at: int) -> Mismatch | None:
        """The switch has added right, but what it added was spoiled on the way, or is of another job."""
        self._mismatched += 1
        if self._mismatched > MOST_MISMATCHES:
            return None
        members = sums.contributions[sums.edges[at] : sums.edges[at + 1]]
        ranks = np.array([self._contributors.rank(int(sender)) for sender in found.rows["sender"][members]], np.int64)
        epochs = epochs_of(found, members, ranks)
        known = self._group(int(found.rows["group_id"][found.start[at]])).epochs
        bad = [k for k, epoch in enumerate(epochs.tolist()) if epoch not in known]
        names = ", ".join(self._contributors.name(int(found.rows["sender"][members[k]])) for k in bad)
        packet = int(members[bad[0]]) if bad else int(members[0])
        value = int(found.rows["reserved"][packet])
        cause = f"the switch has added right, but the tag of {names or 'one of them'} does not fit what it sent: "
        cause += "spoiled on the way, or of another job"
        return mismatch(
            found, at, packet, self._contributors, members, ("reserved", value, value), wrong_lanes=0, cause=cause
        )

    def _keep(self, news: list[Mismatch]) -> list[Mismatch]:
        self._mismatches += news[: max(0, MOST_MISMATCHES - len(self._mismatches))]
        return news
