"""The leader's decisions: what goes in, and what all ranks hear."""

from __future__ import annotations

import pytest

from cais_tools.training import directives as d
from cais_tools.training import messages as m
from cais_tools.training.coordinator import KINDS, Coordinator, Limits
from cais_tools.training.schedule import Decision, OperationClass

RANKS = 3
SUM = OperationClass("ALL_REDUCE", "float32", 4096)
ALL = Decision(True, "", break_even=tuple((kind, 0) for kind in KINDS))
NONE = Decision(False, "the operator said so")


class Bench:
    """A coordinator, and a clock in the test's hand."""

    def __init__(self, *, controller: bool = True) -> None:
        self.now = 100.0
        self.it = Coordinator(RANKS, 5, ALL, self.now, Limits(block=8))
        self.it.controller(attached=controller)

    def say(self, rank: int, message: m.FromRank) -> None:
        self.it.message(rank, message, self.now)

    def all_say(self, message: m.FromRank) -> None:
        for rank in range(RANKS):
            self.say(rank, message)

    def begin(self, number: int, ranks: range = range(RANKS)) -> None:
        for rank in ranks:
            self.say(rank, m.Began(number, SUM, 7))

    def tell(self, directive: d.Directive) -> None:
        self.it.directive(directive, self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.it.tick(self.now)

    def heard(self) -> list[m.Message]:
        """What all ranks have been told since the last look."""
        messages = [message for rank, message in self.it.to_ranks if rank is None]
        self.it.to_ranks.clear()
        return messages

    def reported(self) -> list[d.Report]:
        reports = list(self.it.to_controller)
        self.it.to_controller.clear()
        return reports

    def stand(self, *states: tuple[int, int]) -> None:
        """Answer the round that is under way: (completed, begun) of each rank."""
        holds = [message for message in self.heard() if isinstance(message, m.Hold)]
        for rank, (completed, begun) in enumerate(states):
            self.say(rank, m.State(holds[-1].round, completed, begun))

    def go(self) -> m.Go:
        return next(message for message in self.heard() if isinstance(message, m.Go))


def test_a_block_is_asked_for_once_and_handed_to_all() -> None:
    bench = Bench()
    bench.begin(0)
    bench.all_say(m.Need(8))
    assert bench.reported() == [d.NeedBlock(8, 8, (SUM,))]
    bench.tell(d.Block(8, 8, NONE))
    (plan,) = bench.heard()
    assert isinstance(plan, m.Plan)
    assert (plan.segment.first, plan.segment.end, plan.segment.decision) == (8, 16, NONE)
    bench.say(1, m.Need(8))
    assert not bench.heard()
    assert not bench.reported()


@pytest.mark.parametrize("controller", [True, False], ids=["silent", "gone"])
def test_without_an_answer_the_last_decision_holds_on(controller: bool) -> None:
    bench = Bench(controller=controller)
    bench.say(0, m.Need(8))
    bench.wait(0.3)
    (plan,) = bench.heard()
    assert isinstance(plan, m.Plan)
    assert (plan.segment.decision, plan.segment.epoch) == (ALL, 5)


def test_a_forced_path_holds_from_the_first_operation_that_nobody_has_begun() -> None:
    bench = Bench()
    bench.tell(d.Force(9, d.Path.ENDPOINT, "maintenance"))
    bench.stand((3, 4), (3, 3), (3, 4))
    go = bench.go()
    assert (go.segment.first, go.segment.decision) == (4, Decision(False, "maintenance"))
    assert go.giver is None
    assert bench.reported() == [d.Changed(9, 4)]
    # Nobody is asked while a path is forced.
    bench.say(0, m.Need(go.segment.end))
    assert not bench.reported()
    bench.heard()
    bench.tell(d.Force(10, d.Path.AUTO, ""))
    bench.stand((12, 12), (12, 12), (12, 12))
    assert bench.go().segment.decision == ALL


def test_two_changes_come_one_after_the_other() -> None:
    bench = Bench()
    bench.tell(d.Force(1, d.Path.ENDPOINT, "first"))
    bench.tell(d.Force(2, d.Path.SWITCH, "second"))
    bench.stand((0, 0), (0, 0), (0, 0))
    messages = bench.heard()
    assert [type(message) for message in messages] == [m.Go, m.Hold]
    hold = messages[1]
    assert isinstance(hold, m.Hold)
    bench.all_say(m.State(hold.round, 1, 1))
    go = bench.go()
    assert (go.segment.first, go.segment.epoch, go.segment.decision.offload) == (1, 5, True)


def stall(bench: Bench, number: int, *states: tuple[int, int], where: m.Where = m.Where.WAITING) -> None:
    bench.begin(number)
    bench.heard()
    bench.say(1, m.Stalled(number, "nothing came"))
    bench.all_say(m.Answer(number, where))
    if where is m.Where.WAITING:
        bench.stand(*states)


def test_an_operation_that_brings_nothing_is_done_on_the_endpoints() -> None:
    bench = Bench()
    stall(bench, 3, (3, 4), (3, 4), (3, 4))
    go = bench.go()
    assert (go.segment.first, go.segment.epoch, go.giver) == (3, 0, None)
    assert not go.segment.decision.offload
    assert bench.reported() == [d.Trouble(d.What.TIMED_OUT, 3, (), "nothing came", on_endpoints=True)]
    # What the controller decides for later does not count before the switch has proved itself.
    bench.tell(d.Block(0, 0, ALL))
    bench.say(0, m.Need(go.segment.end))
    bench.tell(d.Block(go.segment.end, 8, ALL))
    (plan,) = bench.heard()
    assert isinstance(plan, m.Plan)
    assert not plan.segment.decision.offload


def test_who_has_the_result_hands_it_out() -> None:
    bench = Bench()
    stall(bench, 3, (3, 4), (4, 5), (3, 4))
    go = bench.go()
    assert (go.number, go.giver, go.segment.first) == (3, 1, 3)


@pytest.mark.parametrize("where", [m.Where.NOT_BEGUN, m.Where.BUSY])
def test_a_rank_that_still_has_work_is_waited_for(where: m.Where) -> None:
    bench = Bench()
    bench.begin(3)
    bench.heard()
    bench.say(1, m.Stalled(3, "nothing came"))
    assert bench.heard() == [m.Query(3)]
    for rank in range(RANKS):
        bench.say(rank, m.Answer(3, where if rank == 2 else m.Where.WAITING))
    assert not bench.heard()
    bench.say(1, m.Stalled(3, "still nothing"))
    assert bench.heard() == [m.Query(3)]


def test_a_damaged_result_is_asked_for_again_under_a_new_epoch() -> None:
    bench = Bench()
    bench.begin(2)
    bench.heard()
    bench.say(0, m.Stalled(2, "a bit was flipped", refused=True))
    bench.stand((2, 3), (2, 3), (2, 3))
    trouble, request = bench.reported()
    assert trouble == d.Trouble(d.What.REFUSED, 2, (), "a bit was flipped")
    assert isinstance(request, d.NeedEpoch)
    assert not bench.heard()
    bench.tell(d.NewEpoch(request.request, 6))
    go = bench.go()
    assert (go.segment.first, go.segment.epoch, go.segment.decision) == (2, 6, ALL)


def test_an_operation_is_not_repeated_for_ever() -> None:
    bench = Bench()
    bench.begin(2)
    epochs = 0
    for _ in range(10):
        bench.heard()
        bench.say(0, m.Stalled(2, "a bit was flipped", refused=True))
        bench.stand((2, 3), (2, 3), (2, 3))
        requests = [report for report in bench.reported() if isinstance(report, d.NeedEpoch)]
        if not requests:
            break
        epochs += 1
        bench.tell(d.NewEpoch(requests[0].request, 6 + epochs))
        bench.heard()
        bench.it.to_ranks.clear()
    assert epochs == Limits().repeats
    assert not bench.go().segment.decision.offload


def test_without_a_new_epoch_in_time_the_endpoints_do_it() -> None:
    bench = Bench()
    bench.begin(2)
    bench.heard()
    bench.say(0, m.Stalled(2, "a bit was flipped", refused=True))
    bench.stand((2, 3), (2, 3), (2, 3))
    bench.wait(1.0)
    assert not bench.go().segment.decision.offload


def test_the_switch_is_used_again_when_every_rank_has_seen_the_right_sum() -> None:
    bench = Bench()
    stall(bench, 3, (3, 4), (3, 4), (3, 4))
    bench.heard()
    bench.tell(d.Prove(1, 9))
    bench.stand((5, 5), (5, 5), (5, 6))
    go = bench.go()
    assert (go.segment.first, go.segment.prove, go.segment.prove_epoch, go.segment.epoch) == (6, 1, 9, 0)
    bench.reported()
    bench.say(0, m.Proof(1, True))
    bench.say(1, m.Proof(1, True))
    assert not bench.reported()
    bench.say(2, m.Proof(1, True))
    assert bench.reported() == [d.Proved(1, True, "")]
    bench.tell(d.Force(2, d.Path.AUTO, ""))
    bench.stand((7, 7), (7, 7), (7, 7))
    assert bench.go().segment.epoch == 9


def test_one_wrong_sum_is_enough_against_the_switch() -> None:
    bench = Bench()
    stall(bench, 3, (3, 4), (3, 4), (3, 4))
    bench.heard()
    bench.tell(d.Prove(1, 9))
    bench.stand((5, 5), (5, 5), (5, 5))
    bench.reported()
    bench.say(0, m.Proof(1, True))
    bench.say(1, m.Proof(1, False, "3 elements are wrong"))
    bench.say(2, m.Proof(1, True))
    assert bench.reported() == [d.Proved(1, False, "rank 1: 3 elements are wrong")]
    bench.heard()
    bench.tell(d.Force(2, d.Path.AUTO, ""))
    bench.stand((7, 7), (7, 7), (7, 7))
    assert not bench.go().segment.decision.offload


def test_ranks_that_diverge_are_told_apart() -> None:
    bench = Bench()
    bench.say(0, m.Began(4, SUM, 7))
    bench.say(2, m.Began(4, SUM, 7))
    bench.say(1, m.Began(4, OperationClass("BROADCAST", "float32", 4096), 8))
    (error,) = bench.heard()
    assert isinstance(error, m.Raise)
    assert (error.kind, error.ranks) == ("Diverged", (1,))
    assert "ranks 0, 2 call all_reduce" in error.text
    assert "rank 1 calls broadcast" in error.text
    assert bench.reported()[0] == d.Trouble(d.What.DIVERGED, 5, (1,), error.text)


def test_a_rank_that_ends_takes_the_group_along() -> None:
    bench = Bench()
    bench.it.lost(2)
    assert bench.heard() == [m.Raise("RankLost", "rank 2 has ended", (2,))]


def test_a_rank_that_has_left_in_order_is_not_lost() -> None:
    bench = Bench()
    bench.begin(0)
    bench.all_say(m.Bye())
    assert bench.heard()[-1] == m.Bye()
    bench.it.lost(1)
    assert bench.it.failure is None


def test_who_goes_on_after_another_has_left_hears_of_it() -> None:
    bench = Bench()
    bench.say(1, m.Bye())
    bench.say(0, m.Began(0, SUM, 7))
    assert bench.it.failure == m.Raise("RankLost", "rank 1 left before operation 0", (1,))


def test_a_rank_that_does_not_answer_in_a_round_is_lost() -> None:
    bench = Bench()
    bench.tell(d.Force(1, d.Path.ENDPOINT, ""))
    bench.stand((0, 0), (0, 0))
    bench.wait(2.5)
    assert bench.it.failure == m.Raise("RankLost", "rank 2 did not answer for 2 s", (2,))


def test_silence_is_not_endless() -> None:
    bench = Bench()
    bench.now += 9.0
    bench.say(0, m.Ping())
    bench.say(2, m.Ping())
    bench.wait(2.0)
    assert bench.it.failure == m.Raise("RankLost", "rank 1 has given no sign of life for 10 s", (1,))


def test_parts_of_a_sum_are_committed_when_all_have_theirs() -> None:
    bench = Bench()
    bench.say(0, m.Finished(3))
    bench.say(2, m.Finished(3))
    assert not bench.heard()
    bench.say(1, m.Finished(3))
    assert bench.heard() == [m.Commit(3)]


def test_a_group_without_a_way_to_the_switch_stays_on_its_endpoints() -> None:
    bench = Bench()
    bench.it.forbid("rank 1 has no link")
    bench.tell(d.Force(1, d.Path.SWITCH, "please"))
    bench.stand((0, 0), (0, 0), (0, 0))
    assert bench.go().segment.decision == Decision(False, "rank 1 has no link")


def test_an_operation_that_can_be_done_neither_way_fails_on_every_rank() -> None:
    bench = Bench()
    bench.begin(5)
    bench.say(1, m.Failed(5, "gloo: connection closed"))
    text = "rank 1 could not do operation 5 at all: gloo: connection closed"
    assert bench.heard()[-1] == m.Raise("FallbackFailed", text, (1,))
