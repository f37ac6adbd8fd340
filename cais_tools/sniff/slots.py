"""What a slot of the switch saw of each aggregate: who contributed when, who is missing, who kept others waiting."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cais_tools.sniff.window import Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cais_tools.sniff.batch import CaptureInterface
    from cais_tools.sniff.decode import Decoded
    from cais_tools.sniff.window import Aggregates, Rows

__all__ = ["Slot", "Slots", "SlotsReport", "Straggler"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One aggregate. Contributors are numbers of `Slots.contributors`; times are nanoseconds."""

    group_id: int
    seq_num: int
    op_type: int
    layer_id: int
    chunk_id: int
    first_ns: int
    """Of the first packet, since 1970."""
    contributed: Mapping[int, int]
    """When each contribution came, counted from the first one, in the order of arrival."""
    missing: tuple[int, ...]
    """Who contributes to the group, and has not to this."""
    duplicates: Mapping[int, int]
    """How many more than one each has sent."""
    results: int
    spread_ns: int | None
    """From the first contribution to the last; None without a contribution."""
    result_ns: int | None
    """From the last contribution to the first result; None where one of the two is not there."""
    diverged: bool
    """Other packets have this number, but another operation, layer or chunk."""
    two_interfaces: tuple[int, ...]
    """Whose contribution was seen on more than one interface."""


@dataclass(frozen=True)
class Straggler:
    contributor: int
    contributions: int
    missing: int
    duplicates: int
    last: int
    """How often it was the last of several."""
    lag_mean_ns: float
    """Behind the first contribution."""
    lag_max_ns: int
    held_up_ns: int
    """How long the others together waited for it alone: from the last but one contribution to its own."""


@dataclass(frozen=True)
class SlotsReport:
    aggregates: int
    with_result: int
    incomplete: int
    """Without a result, and somebody missing."""
    diverged: int
    bad: int
    """Packets that the switch drops."""
    stragglers: Sequence[Straggler]
    """Worst first: who is missing most, then who held the others up most."""


_RARELY = 10


class _Tally:
    """Sums for each contributor."""

    def __init__(self) -> None:
        self.columns = np.zeros((0, 6), np.int64)

    def grow(self, count: int) -> None:
        if count > len(self.columns):
            more = np.zeros((count - len(self.columns), 6), np.int64)
            self.columns = np.concatenate((self.columns, more))


_COUNT, _DUPLICATES, _LAST, _LAG, _LAG_MAX, _HELD_UP = range(6)


class Slots:
    """Feed it decoded batches; what comes back has settled."""

    def __init__(self, interfaces: Sequence[CaptureInterface], *, live: bool = False) -> None:
        self._window = Window(interfaces, payload=False, live=live)
        self.contributors = self._window.contributors
        self._members: dict[int, Counter[int]] = {}
        self._missing: dict[int, int] = {}
        self._tally = _Tally()
        self._aggregates = self._with_result = self._incomplete = self._diverged = 0

    def feed(self, decoded: Decoded) -> list[Slot]:
        return self._look(self._window.add(decoded))

    def tick(self, now_ns: int) -> list[Slot]:
        """Return what has been quiet for long; for live captures."""
        return self._look(self._window.tick(now_ns))

    def finish(self) -> list[Slot]:
        return self._look(self._window.finish())

    def report(self) -> SlotsReport:
        self._tally.grow(len(self.contributors))
        rows = self._tally.columns.tolist()
        stragglers = [
            Straggler(
                contributor=who,
                contributions=row[_COUNT],
                missing=self._missing.get(who, 0),
                duplicates=row[_DUPLICATES],
                last=row[_LAST],
                lag_mean_ns=row[_LAG] / max(1, row[_COUNT]),
                lag_max_ns=row[_LAG_MAX],
                held_up_ns=row[_HELD_UP],
            )
            for who, row in enumerate(rows)
            if row[_COUNT]
        ]
        stragglers.sort(key=lambda each: (-each.missing, -each.held_up_ns, each.contributor))
        return SlotsReport(
            self._aggregates, self._with_result, self._incomplete, self._diverged, self._window.bad, stragglers
        )

    def _look(self, found: Aggregates | None) -> list[Slot]:
        if found is None:
            return []
        self._tally.grow(len(self.contributors))
        given = _Given(found)
        self._count(given)
        for (group, sender), times in Counter(zip(given.group.tolist(), given.sender.tolist(), strict=True)).items():
            self._members.setdefault(group, Counter())[sender] += times
        slots = [self._slot(found, given, at) for at in np.argsort(_first_numbers(found), kind="stable").tolist()]
        for slot in slots:
            self._aggregates += 1
            self._with_result += slot.results > 0
            self._diverged += slot.diverged
            if not slot.results and slot.missing:
                self._incomplete += 1
                for who in slot.missing:
                    self._missing[who] = self._missing.get(who, 0) + 1
        return slots

    def _count(self, given: _Given) -> None:
        columns = self._tally.columns
        np.add.at(columns[:, _COUNT], given.sender, 1)
        np.add.at(columns[:, _DUPLICATES], given.sender, given.repeated)
        np.add.at(columns[:, _LAG], given.sender, given.lag)
        np.maximum.at(columns[:, _LAG_MAX], given.sender, given.lag)
        several = given.last[given.last > given.begin]
        np.add.at(columns[:, _LAST], given.sender[several], 1)
        np.add.at(columns[:, _HELD_UP], given.sender[several], given.lag[several] - given.lag[several - 1])

    def _absent(self, group: int, senders: Sequence[int], *, answered: bool) -> tuple[int, ...]:
        """Who contributes to the group, and not here; an address that rarely does may be spoiled, or an outsider's."""
        counts = self._members.get(group, Counter[int]())
        often = max(counts.values(), default=0) / _RARELY
        return tuple(
            who
            for who in sorted(counts.keys() - set(senders))
            if counts[who] >= often or (not answered and self.contributors.rank(who) is not None)
        )

    def _slot(self, found: Aggregates, given: _Given, at: int) -> Slot:
        packet = found.rows[found.start[at]]
        begin, end = given.bounds[at]
        senders = given.sender_list[begin:end]
        lags = given.lag_list[begin:end]
        repeated = given.repeated_list[begin:end]
        group = int(packet["group_id"])
        result_at = given.result_ns[at]
        first = given.first_ns[at] if senders else result_at
        return Slot(
            group_id=group,
            seq_num=int(packet["seq_num"]),
            op_type=int(packet["op_type"]),
            layer_id=int(packet["layer_id"]),
            chunk_id=int(packet["chunk_id"]),
            first_ns=first,
            contributed=dict(zip(senders, lags, strict=True)),
            missing=self._absent(group, senders, answered=given.results[at] > 0),
            duplicates={who: times for who, times in zip(senders, repeated, strict=True) if times},
            results=given.results[at],
            spread_ns=lags[-1] if senders else None,
            result_ns=result_at - first - lags[-1] if senders and given.results[at] else None,
            diverged=given.diverged[at],
            two_interfaces=tuple(who for k, who in enumerate(senders, begin) if given.elsewhere[k]),
        )


class _Given:
    """The first contribution of each contributor to each aggregate, in the order of arrival: c of them."""

    def __init__(self, found: Aggregates) -> None:
        rows, owner = found.rows, found.owner
        given = np.flatnonzero(~rows["result"])
        by_sender = given[np.lexsort((rows["sender"][given], owner[given]))]  # stable: the earliest first
        new = _changes(owner[by_sender], rows["sender"][by_sender])
        first = by_sender[new]
        times = np.diff(np.append(np.flatnonzero(new), len(by_sender)))
        interface = rows["interface"][by_sender]
        starts = np.flatnonzero(new)
        other = np.zeros(len(first), np.bool_)
        if len(first):
            other = np.minimum.reduceat(interface, starts) != np.maximum.reduceat(interface, starts)
        # By time: several interfaces may be merged a little out of order.
        order = np.lexsort((rows["number"][first], rows["time_ns"][first], owner[first]))
        first = first[order]
        whose = owner[first]
        self.sender: NDArray[np.int32] = rows["sender"][first]
        self.group: NDArray[np.uint8] = rows["group_id"][first]
        self.repeated: NDArray[np.int64] = (times - 1)[order]
        self.elsewhere: list[bool] = other[order].tolist()
        edges = np.searchsorted(whose, np.arange(len(found) + 1))
        self.begin = edges[:-1][whose][np.flatnonzero(_ends(whose))]
        self.last = np.flatnonzero(_ends(whose))
        time = rows["time_ns"][first]
        self.lag: NDArray[np.int64] = time - time[edges[:-1][whose]]
        self.bounds: list[tuple[int, int]] = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        self.first_ns: list[int] = time[np.minimum(edges[:-1], max(0, len(time) - 1))].tolist() if len(time) else []
        self.sender_list, self.lag_list, self.repeated_list = (
            column.tolist() for column in (self.sender, self.lag, self.repeated)
        )
        self._results(found)

    def _results(self, found: Aggregates) -> None:
        rows = found.rows
        self.results: list[int] = np.add.reduceat(rows["result"].astype(np.int64), found.start).tolist()
        times = np.where(rows["result"], rows["time_ns"], np.iinfo(np.int64).max)
        self.result_ns: list[int] = np.minimum.reduceat(times, found.start).tolist()
        keys = rows[found.start][["group_id", "seq_num"]]
        same = keys[1:] == keys[:-1]
        diverged = np.zeros(len(found), np.bool_)
        diverged[1:] |= same
        diverged[:-1] |= same
        self.diverged: list[bool] = diverged.tolist()


def _changes(*columns: NDArray[np.integer]) -> NDArray[np.bool_]:
    """(n,) where one of the sorted columns differs from the row before."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def _ends(column: NDArray[np.integer]) -> NDArray[np.bool_]:
    """(n,) the last row of each run of equal values."""
    last = np.ones(len(column), np.bool_)
    last[:-1] = column[1:] != column[:-1]
    return last


def _first_numbers(found: Aggregates) -> Rows:
    return np.minimum.reduceat(found.rows["number"], found.start)
