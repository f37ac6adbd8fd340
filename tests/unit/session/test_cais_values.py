"""Spans, slots, priorities: the pure part of groups and rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.errors import Refused, UsageError
from cais_tools.session.cais import RuleSpec, Span, op_label
from cais_tools.session.cais.slots import allocate_slots

SPANS = st.tuples(st.integers(0, 65535), st.integers(0, 65535)).map(lambda ends: Span(min(ends), max(ends)))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("any", Span()),
        ("*", Span()),
        ("5", Span(5, 5)),
        ("3-9", Span(3, 9)),
        ("3..9", Span(3, 9)),
        ("0x10", Span(16, 16)),
    ],
)
def test_spans(text: str, span: Span) -> None:
    assert Span.parse(text) == span


@pytest.mark.parametrize("text", ["", "x", "9-3", "70000", "-1", "1-2-3", "1,2"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(UsageError):
        Span.parse(text)


@given(SPANS)
def test_a_span_prints_as_it_is_read(span: Span) -> None:
    assert Span.parse(str(span)) == span


@given(SPANS, SPANS)
def test_overlapping_is_having_a_number_in_common(one: Span, other: Span) -> None:
    assert one.overlaps(other) == (max(one.low, other.low) <= min(one.high, other.high))


def _priority(layer: str, chunk: str) -> int:
    return RuleSpec(0, 0, Span.parse(layer), Span.parse(chunk), (1,), (1,)).effective_priority


def test_the_more_specific_rule_wins() -> None:
    ordered = [("5", "5"), ("5", "4-7"), ("5", "0-255"), ("5", "any"), ("0-255", "any"), ("any", "any")]
    priorities = [_priority(*spans) for spans in ordered]
    assert priorities == sorted(priorities, reverse=True)
    assert len(set(priorities)) == len(priorities)
    assert min(priorities) >= 1


def test_a_tie_between_layer_and_chunk_is_decided() -> None:
    assert _priority("any", "5") > _priority("5", "any")


def test_the_first_gap_that_is_big_enough() -> None:
    assert allocate_slots(4096, [], 256) == 0
    assert allocate_slots(4096, [(0, 256), (512, 256)], 256) == 256
    assert allocate_slots(4096, [(0, 256), (512, 256)], 512) == 1024
    assert allocate_slots(4096, [(0, 64)], 256) == 256


@pytest.mark.parametrize("slots", [0, 1, 3, 100, -4])
def test_slots_come_in_powers_of_two(slots: int) -> None:
    with pytest.raises(UsageError, match="power of two"):
        allocate_slots(4096, [], slots)


def test_slots_used_up_says_the_numbers() -> None:
    with pytest.raises(Refused, match="slots used up: 4096 wanted, 256 of 4096 are taken by 1 groups"):
        allocate_slots(4096, [(0, 256)], 4096)


@given(st.lists(st.integers(1, 10), max_size=30))
def test_blocks_never_overlap_and_never_leave_the_pool(sizes: list[int]) -> None:
    taken: list[tuple[int, int]] = []
    for exponent in sizes:
        slots = 1 << exponent
        try:
            base = allocate_slots(4096, taken, slots)
        except Refused:
            # Aligned blocks of powers of two fit as long as there is an aligned hole.
            starts = range(0, 4096, slots)
            assert all(any(b < s + slots and s < b + n for b, n in taken) for s in starts)
            continue
        assert 0 <= base <= 4096 - slots
        assert all(base + slots <= other or other + size <= base for other, size in taken)
        taken.append((base, slots))


def test_labels_of_operations() -> None:
    assert op_label(3) == "allreduce-max"
    assert op_label(77) == "77"
