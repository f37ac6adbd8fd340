"""What the leader of a group decides, without any I/O: all ranks take the same way for the same operation.

Routes are handed out ahead of time, in blocks. Everything else is a *round*: the ranks are held, each says how far it
is, and all go on from there with new routes.

    change   somebody forces a path, or the switch is to prove itself: from the first operation that nobody has begun
    trouble  an operation brings something damaged, or nothing although no rank has work left to do for it: whoever
             has its result hands it out; if nobody has, all do it again, under a new epoch or on the endpoints

A rank may be one operation ahead of another at most, because an operation needs every rank. A controller that has gone
changes nothing: the last decision holds on, and after a fault the endpoints.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cais_tools.training import directives as d
from cais_tools.training import divergence
from cais_tools.training import messages as m
from cais_tools.training.divergence import named
from cais_tools.training.schedule import Decision, OperationClass, Schedule, Segment

__all__ = ["KINDS", "Coordinator", "Limits"]

KINDS = (
    "ALL_REDUCE",
    "ALL_REDUCE_MAX",
    "ALL_REDUCE_MIN",
    "ALL_REDUCE_PRODUCT",
    "REDUCE_SCATTER",
    "ALL_GATHER",
    "BROADCAST",
)
_CLASSES = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """`block` in operations; seconds that are waited for the controller's answer, for a rank's answer in a round, and
    for any sign of life of a rank; how often an operation is repeated on the switch.
    """

    block: int = 32
    controller: float = 0.25
    answer: float = 2.0
    silence: float = 10.0
    repeats: int = 3


@dataclass(slots=True)
class _Round:
    cause: d.Force | d.Prove | m.Stalled
    deadline: float
    states: dict[int, m.State] = field(default_factory=dict[int, m.State])
    epoch_request: int = 0
    """Not 0 while all have answered and the controller is to give an epoch."""


class Coordinator:
    """Feed it messages, directives and the time; send what `to_ranks` and `to_controller` hold.

    `to_ranks` has pairs of a rank (None: all) and a message. `epoch` is the group's first job on the switch, 0 where
    there is none, for the `reason` of `decision`. Times are seconds of any steady clock.
    """

    def __init__(self, ranks: int, epoch: int, decision: Decision, now: float, limits: Limits | None = None) -> None:
        self.to_ranks: list[tuple[int | None, m.Message]] = []
        self.to_controller: list[d.Report] = []
        self.failure: m.Raise | None = None
        self._limits = limits or Limits()
        self._ranks = ranks
        self._epoch = epoch
        self._decision = decision
        self._forced: Decision | None = None
        self._forbidden: Decision | None = None
        self._unproved = ""
        """Why the switch is not to be trusted; until it has proved itself."""
        self._controller = False
        self._schedule = Schedule()
        self._asked: float | None = None
        self._requests = 0
        self._epoch_asked = False
        self._rounds = 0
        self._round: _Round | None = None
        self._waiting: list[d.Force | d.Prove] = []
        self._proof: tuple[d.Prove, dict[int, m.Proof]] | None = None
        self._repeated = (-1, 0)
        self._asking: tuple[m.Stalled, dict[int, m.Where]] | None = None
        self._finished: dict[int, set[int]] = {}
        self._began: dict[int, dict[int, m.Began]] = {}
        self._next = [0] * ranks
        self._heard = [now] * ranks
        self._left: set[int] = set()
        self._seen: dict[OperationClass, None] = {}
        self._extend(decision)
        self.to_ranks.clear()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What a rank that joins has to know."""
        return self._schedule.segments

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def next_operation(self) -> int:
        """The first operation that no rank has begun."""
        return max(self._next)

    @property
    def decision(self) -> Decision:
        """What holds now."""
        return self._effective(self._decision)

    # What comes in

    def message(self, rank: int, message: m.Message, now: float) -> None:
        """Take in what a rank says."""
        self._heard[rank] = now
        if self.failure is not None:
            return
        match message:
            case m.Began():
                self._take_began(rank, message)
            case m.Need(horizon) if horizon >= self._schedule.horizon and self._asked is None:
                self._ask(now)
            case m.Stalled():
                self._take_stalled(message, now)
            case m.Answer():
                self._take_answer(rank, message, now)
            case m.Finished(number):
                self._take_finished(rank, number)
            case m.State(number) if self._round is not None and number == self._rounds:
                self._round.states[rank] = message
                if len(self._round.states) == self._ranks and not self._round.epoch_request:
                    self._all_stand_still(self._round, now)
            case m.Proof():
                self._take_proof(rank, message)
            case m.Failed(number, text):
                self.fail("FallbackFailed", f"rank {rank} could not do operation {number} at all: {text}", (rank,))
            case m.Bye():
                self._take_bye(rank)
            case _:
                pass

    def directive(self, directive: d.Directive, now: float) -> None:
        """Take in what the controller says."""
        if self.failure is not None:
            return
        match directive:
            case d.Block(first, _, decision):
                self._decision = decision
                if self._asked is not None and first == self._schedule.horizon:
                    self._asked = None
                    self._extend(self._effective(decision))
            case d.NewEpoch(request, epoch):
                self._take_epoch(request, epoch)
                self._next_round(now)
            case d.Force() | d.Prove():
                self._waiting.append(directive)
                self._next_round(now)

    def controller(self, *, attached: bool) -> None:
        """Take in that the controller is there, or has gone."""
        self._controller = attached
        self._epoch_asked = False

    def forbid(self, reason: str) -> None:
        """Leave everything on the endpoints for good."""
        self._forbidden = Decision(False, reason)

    def lost(self, rank: int) -> None:
        """Take in that the connection to a rank has ended."""
        if self.failure is None and rank not in self._left:
            self.fail("RankLost", f"rank {rank} has ended", (rank,))

    def tick(self, now: float) -> None:
        """Take in that time passes; to be called every few hundredths of a second."""
        if self.failure is not None:
            return
        if self._asked is not None and now >= self._asked:
            self._asked = None
            self._extend(self.decision)
        round_ = self._round
        if round_ is not None and now >= round_.deadline:
            if round_.epoch_request:
                self._to_endpoints(round_, "the controller has given no new epoch")
                self._next_round(now)
            else:
                silent = tuple(rank for rank in range(self._ranks) if rank not in round_.states)
                self.fail("RankLost", f"{named(silent)} did not answer for {self._limits.answer:g} s", silent)
        for rank, heard in enumerate(self._heard):
            if self.failure is None and rank not in self._left and now - heard > self._limits.silence:
                self.fail("RankLost", f"rank {rank} has given no sign of life for {self._limits.silence:g} s", (rank,))

    def fail(self, kind: str, text: str, ranks: tuple[int, ...] = ()) -> None:
        """End the group with an error on every rank."""
        self.failure = m.Raise(kind, text, ranks)
        self.to_ranks.append((None, self.failure))
        if kind in ("RankLost", "Diverged"):
            what = d.What.RANK_LOST if kind == "RankLost" else d.What.DIVERGED
            self.to_controller.append(d.Trouble(what, self.next_operation, ranks, text))

    # Operations

    def _take_began(self, rank: int, began: m.Began) -> None:
        self._next[rank] = began.number + 1
        self._remember(began.operation)
        calls = self._began.setdefault(began.number, {})
        calls[rank] = began
        if len({each.fingerprint for each in calls.values()}) > 1:
            self.fail("Diverged", divergence.describe(began.number, calls), divergence.minority(calls))
        elif len(calls) == self._ranks:
            del self._began[began.number]
        elif self._left - calls.keys():
            gone = tuple(sorted(self._left - calls.keys()))
            self.fail("RankLost", f"{named(gone)} left before operation {began.number}", gone)

    def _remember(self, operation: OperationClass) -> None:
        self._seen.pop(operation, None)
        self._seen[operation] = None
        if len(self._seen) > _CLASSES:
            del self._seen[next(iter(self._seen))]

    def _take_bye(self, rank: int) -> None:
        self._left.add(rank)
        waiting = {number: calls for number, calls in self._began.items() if rank not in calls}
        if waiting:
            number = min(waiting)
            self.fail("RankLost", f"rank {rank} left before operation {number}", (rank,))
        elif len(self._left) == self._ranks:
            self.to_ranks.append((None, m.Bye()))

    # Routes

    def _ask(self, now: float) -> None:
        if self._forced is not None or not self._controller:
            self._extend(self.decision)
            return
        self._asked = now + self._limits.controller
        self.to_controller.append(d.NeedBlock(self._schedule.horizon, self._limits.block, tuple(self._seen)))

    def _effective(self, decision: Decision) -> Decision:
        if self._forbidden is not None:
            return self._forbidden
        if self._forced is not None:
            decision = self._forced
        if decision.offload and self._unproved:
            return Decision(False, self._unproved)
        return decision

    def _segment(self, first: int, decision: Decision) -> Segment:
        if decision.offload and not self._epoch and self._controller and not self._epoch_asked:
            self._ask_for_epoch()
        return Segment(first, self._limits.block, decision, self._epoch if decision.offload else 0)

    def _ask_for_epoch(self) -> int:
        self._requests += 1
        self._epoch_asked = True
        self.to_controller.append(d.NeedEpoch(self._requests))
        return self._requests

    def _extend(self, decision: Decision) -> None:
        segment = self._segment(self._schedule.horizon, decision)
        self._schedule.append(segment)
        self.to_ranks.append((None, m.Plan(segment)))

    # Rounds

    def _next_round(self, now: float) -> None:
        if self._round is None and self._waiting and self.failure is None:
            self._begin_round(self._waiting.pop(0), now)

    def _begin_round(self, cause: d.Force | d.Prove | m.Stalled, now: float) -> None:
        self._rounds += 1
        self._round = _Round(cause, now + self._limits.answer)
        self.to_ranks.append((None, m.Hold(self._rounds, interrupt=isinstance(cause, m.Stalled))))

    def _take_stalled(self, stalled: m.Stalled, now: float) -> None:
        if self._round is not None:
            return
        if stalled.refused:
            self._begin_round(stalled, now)
        elif self._asking is None or self._asking[0].number != stalled.number:
            self._asking = (stalled, {})
            self.to_ranks.append((None, m.Query(stalled.number)))

    def _take_answer(self, rank: int, answer: m.Answer, now: float) -> None:
        """Whoever waits for a rank that has not come yet, or still computes, has no trouble but patience."""
        if self._asking is None or self._asking[0].number != answer.number:
            return
        stalled, answers = self._asking
        answers[rank] = answer.where
        if len(answers) < self._ranks:
            return
        self._asking = None
        if self._round is None and set(answers.values()) <= {m.Where.WAITING, m.Where.DONE}:
            self._begin_round(stalled, now)

    def _take_finished(self, rank: int, number: int) -> None:
        finished = self._finished.setdefault(number, set())
        finished.add(rank)
        if len(finished) == self._ranks and self._round is None:
            del self._finished[number]
            self.to_ranks.append((None, m.Commit(number)))

    def _all_stand_still(self, round_: _Round, now: float) -> None:
        match round_.cause:
            case d.Force():
                self._change_path(round_, round_.cause)
            case d.Prove():
                self._let_prove(round_, round_.cause)
            case m.Stalled():
                self._repair(round_, round_.cause, now)
        self._next_round(now)

    def _change_path(self, round_: _Round, force: d.Force) -> None:
        if force.path is d.Path.AUTO:
            self._forced = None
        elif force.path is d.Path.SWITCH:
            self._forced = Decision(True, force.reason, break_even=tuple((kind, 0) for kind in KINDS))
        else:
            self._forced = Decision(False, force.reason)
        first = max(state.began for state in round_.states.values())
        self._go(self._segment(first, self.decision))
        self.to_controller.append(d.Changed(force.request, first))

    def _let_prove(self, round_: _Round, prove: d.Prove) -> None:
        first = max(state.began for state in round_.states.values())
        decision = Decision(False, self._unproved or "the switch proves itself first")
        self._proof = (prove, {})
        self._go(Segment(first, self._limits.block, decision, prove=prove.request, prove_epoch=prove.epoch))

    def _take_proof(self, rank: int, proof: m.Proof) -> None:
        if self._proof is None or self._proof[0].request != proof.request:
            return
        prove, answers = self._proof
        answers[rank] = proof
        if len(answers) < self._ranks:
            return
        self._proof = None
        wrong = "; ".join(f"rank {each}: {answers[each].text}" for each in sorted(answers) if not answers[each].right)
        if not wrong:
            self._epoch, self._unproved = prove.epoch, ""
        self.to_controller.append(d.Proved(prove.request, not wrong, wrong))

    def _repair(self, round_: _Round, stalled: m.Stalled, now: float) -> None:
        """All have left the switch, so none of their endpoints is in step any more: the epoch is used up."""
        self._epoch = 0
        self._proof = None
        number, _ = _standing(round_)
        times = self._repeated[1] + 1 if self._repeated[0] == number else 1
        self._repeated = (number, times)
        if stalled.refused and times <= self._limits.repeats and self._controller:
            self.to_controller.append(d.Trouble(d.What.REFUSED, number, (), stalled.text))
            round_.epoch_request = self._ask_for_epoch()
            round_.deadline = now + self._limits.controller
            return
        self._to_endpoints(round_, stalled.text)

    def _take_epoch(self, request: int, epoch: int) -> None:
        self._epoch_asked = False
        round_ = self._round
        if round_ is None or not round_.epoch_request:
            if not self._unproved and epoch:
                self._epoch = epoch
        elif request == round_.epoch_request:
            self._epoch = epoch
            if epoch:
                # A rank that is ahead has begun its next operation by the decision of then.
                number, _ = _standing(round_)
                self._go_on(round_, self._effective(self._schedule.decision_at(number + 1)))
            else:
                self._to_endpoints(round_, "the controller has no new epoch for the group")

    def _to_endpoints(self, round_: _Round, why: str) -> None:
        self._unproved = f"the switch has to prove itself first: {why}"
        refused = isinstance(round_.cause, m.Stalled) and round_.cause.refused
        what = d.What.REFUSED if refused else d.What.TIMED_OUT
        self.to_controller.append(d.Trouble(what, _standing(round_)[0], (), why, on_endpoints=True))
        self._go_on(round_, self._effective(self._decision))

    def _go_on(self, round_: _Round, decision: Decision) -> None:
        number, giver = _standing(round_)
        self._go(self._segment(number, decision), number, giver)

    def _go(self, segment: Segment, number: int = 0, giver: int | None = None) -> None:
        self._round = None
        self._asked = self._asking = None
        self._finished.clear()
        self._schedule.append(segment)
        self.to_ranks.append((None, m.Go(self._rounds, segment, number, giver)))


def _standing(round_: _Round) -> tuple[int, int | None]:
    """The first operation that a rank lacks, and who has its result."""
    number = min(state.completed for state in round_.states.values())
    givers = (rank for rank, state in sorted(round_.states.items()) if state.completed > number)
    return number, next(givers, None)
