from __future__ import annotations

from dataclasses import replace

from cais_tools.session.cais import Group, Member
from cais_tools.session.cais.open_slots import SlotRegisters, find_open_slots

MEMBERS = (Member(0, 1), Member(1, 2), Member(2, 7))
GROUP = Group(3, MEMBERS, slot_base=8, slots=4, epoch=5, participants=0b111)


def _state(seq_num: int, epoch: int = 5) -> int:
    return epoch << 32 | seq_num


STATE = {8: _state(100), 9: _state(101), 10: _state(98), 11: _state(99), 12: _state(7), 0: _state(0)}
REGISTERS = SlotRegisters(
    state=STATE,
    aggregate={8: 3 << 32 | 5 << 16 | 700, 9: 0, 10: 0, 11: 0},
    contributors={8: 0b001, 9: 0b111, 10: 0b101, 11: 0b011, 12: 0b1, 0: 0b1},
    opened={8: 9_000, 9: 9_100, 10: 4_000, 11: 5_000, 12: 1, 0: 1},
    latest=10_000,
    state_after=STATE,
)


def test_the_oldest_first_with_those_who_are_missing() -> None:
    slots = find_open_slots([GROUP], REGISTERS)
    assert [(each.slot, each.seq_num, each.age_us) for each in slots] == [
        (10, 98, 6000),
        (11, 99, 5000),
        (8, 100, 1000),
    ]
    assert [[member.rank for member in each.missing] for each in slots] == [[1], [2], [1, 2]]
    assert slots[1].missing == (Member(2, 7),)
    assert slots[1].present == MEMBERS[:2]
    assert (slots[2].group_id, slots[2].op, slots[2].layer, slots[2].chunk) == (3, 3, 5, 700)


def test_slots_of_another_epoch_are_empty() -> None:
    assert find_open_slots([replace(GROUP, epoch=6)], REGISTERS) == []


def test_a_slot_that_was_taken_over_meanwhile_is_left_out() -> None:
    after = {**STATE, 10: _state(102)}
    assert [each.slot for each in find_open_slots([GROUP], replace(REGISTERS, state_after=after))] == [11, 8]


def test_who_counts_is_in_the_participants() -> None:
    """A member that is known already, but that nobody waits for yet."""
    slots = find_open_slots([replace(GROUP, participants=0b011)], REGISTERS)
    assert [each.slot for each in slots] == [10, 8]


def test_the_clock_may_wrap_and_a_slot_be_younger_than_the_last_packet_read() -> None:
    top = 1 << 48
    opened = {8: top - 500, 10: 101, 11: 100}
    slots = find_open_slots([GROUP], replace(REGISTERS, opened=opened, latest=100))
    assert {each.slot: each.age_us for each in slots} == {8: 600, 10: 0, 11: 0}


def test_a_program_without_times() -> None:
    slots = find_open_slots([GROUP], replace(REGISTERS, opened={}, latest=None))
    assert [(each.seq_num, each.age_us) for each in slots] == [(98, None), (99, None), (100, None)]
