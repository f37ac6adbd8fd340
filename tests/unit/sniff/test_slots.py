"""`--slots`: who contributed when, who is missing, who holds up the others."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cais_tools.sniff.batch import batch_of
from cais_tools.sniff.decode import decode
from cais_tools.sniff.slots import Slot, Slots
from tests.unit.sniff.traffic import GROUP, INTERFACES, aggregate, captured, contribution, result

MS = 10**6


def slots_of(frames: Sequence[bytes]) -> tuple[list[Slot], Slots]:
    slots = Slots(INTERFACES)
    found = [*slots.feed(captured(frames)), *slots.finish()]
    return found, slots


def test_times_of_an_aggregate() -> None:
    """Frames are a millisecond apart: ranks 2, 0, 1, then the result."""
    frames = [contribution(7, 2), contribution(7, 0), contribution(7, 1), result(7)]
    (slot,), slots = slots_of(frames)
    assert (slot.group_id, slot.seq_num, slot.layer_id, slot.chunk_id) == (GROUP, 7, 5, 7)
    assert list(slot.contributed.values()) == [0, MS, 2 * MS]
    assert (slot.spread_ns, slot.result_ns, slot.results) == (2 * MS, MS, 1)
    assert (slot.missing, slot.duplicates) == ((), {})
    assert (slots.report().aggregates, slots.report().with_result) == (1, 1)


def test_a_rank_that_is_missing() -> None:
    found, slots = slots_of([*aggregate(1), contribution(2, 0), contribution(2, 2)])
    assert [len(slot.missing) for slot in found] == [0, 1]
    report = slots.report()
    assert (report.aggregates, report.with_result, report.incomplete) == (2, 1, 1)
    assert sorted(each.missing for each in report.stragglers) == [0, 0, 1]


def test_duplicates_and_copies_of_the_result() -> None:
    frames = [contribution(1, 0), contribution(1, 0), *aggregate(1)[1:], result(1), contribution(1, 2)]
    (slot,), _ = slots_of(frames)
    assert sorted(slot.duplicates.values()) == [1, 1]
    assert slot.results == 2


def test_the_straggler_comes_first() -> None:
    frames: list[bytes] = []
    for seq in range(5):
        frames += [contribution(seq, 0), contribution(seq, 2), *aggregate(90), contribution(seq, 1), result(seq)]
    _, slots = slots_of(frames)
    first = slots.report().stragglers[0]
    assert first.last == 5
    assert first.held_up_ns == max(each.held_up_ns for each in slots.report().stragglers)


def test_diverged_ranks_are_marked() -> None:
    other = bytearray(contribution(1, 1))
    other[17] = 9  # layer_id
    found, _ = slots_of([contribution(1, 0), bytes(other), contribution(1, 2)])
    assert any(slot.diverged for slot in found)


def test_a_stream_in_any_batches() -> None:
    frames = [each for seq in range(40) for each in aggregate(seq)]
    whole, _ = slots_of(frames)
    slots, parts = Slots(INTERFACES), []
    for start in range(0, len(frames), 7):
        times = [MS * (start + i) for i in range(len(frames[start : start + 7]))]
        parts += slots.feed(decode(batch_of(frames[start : start + 7], time_ns=times, first=start + 1)))
    parts += slots.finish()
    assert sorted((each.seq_num, each.first_ns, each.spread_ns) for each in parts) == sorted(
        (each.seq_num, each.first_ns, each.spread_ns) for each in whole
    )


@given(st.lists(st.sampled_from([each for seq in range(3) for each in aggregate(seq)]), max_size=20))
def test_no_aggregate_that_is_not_there(frames: list[bytes]) -> None:
    found, slots = slots_of(frames)
    assert {slot.seq_num for slot in found} == {int.from_bytes(each[22:26], "big") for each in frames}
    assert slots.report().aggregates == len(found)
