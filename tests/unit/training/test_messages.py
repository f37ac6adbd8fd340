"""Messages survive the stream, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cais_tools.errors import CaisError
from cais_tools.training import messages as m
from cais_tools.training.schedule import Decision, OperationClass, Segment

SUM = OperationClass("ALL_REDUCE", "bfloat16", 4096)
SEGMENT = Segment(3, 32, Decision(True, "é", ((SUM, False),), (("ALL_REDUCE", 100),)), 7, 1, 8)
EVERY: list[m.Message] = [
    m.Join(1, "secret", "no link"),
    m.Welcome(4000, (SEGMENT, SEGMENT)),
    m.Began(5, SUM, 0xFFFFFFFF),
    m.Need(32),
    m.Stalled(5, "nothing", refused=True),
    m.Query(5),
    m.Answer(5, m.Where.BUSY),
    m.Finished(5),
    m.Commit(5),
    m.State(2, 5, 6),
    m.Proof(1, False, "wrong"),
    m.Failed(5, "both ways"),
    m.Bye(),
    m.Plan(SEGMENT),
    m.Hold(3, interrupt=True),
    m.Go(3, SEGMENT, 5, None),
    m.Go(3, SEGMENT, 5, 2),
    m.Result(5),
    m.Raise("Diverged", "rank 1 ...", (1, 2)),
    m.Ping(),
]


@given(st.integers(1, 400))
def test_every_message_comes_out_as_it_went_in(step: int) -> None:
    data = b"".join(m.encode(message, b"payload" * number) for number, message in enumerate(EVERY))
    stream = m.Stream()
    out = [each for at in range(0, len(data), step) for each in stream.feed(data[at : at + step])]
    assert [message for message, _ in out] == EVERY
    assert [payload for _, payload in out] == [b"payload" * number for number in range(len(EVERY))]


def test_a_stranger_cannot_make_us_keep_much() -> None:
    stream = m.Stream(trust=False)
    assert list(stream.feed(m.encode(m.Join(1, "x" * 1000)))) == [(m.Join(1, "x" * 1000), b"")]
    with pytest.raises(CaisError, match="no message of this group"):
        list(stream.feed(m.encode(m.Result(1), bytes(10_000))[:8]))


@pytest.mark.parametrize("data", [b"\xff" * 16, m.encode(m.Ping()).replace(b"Ping", b"Pong"), b"GET / HTTP/1.1\r\n"])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(CaisError, match="no message of this group"):
        list(m.Stream().feed(data))
