from __future__ import annotations

import pytest

from cais_tools.links.faults import FaultModel
from cais_tools.smoke.pace import patience_of, timing_of
from cais_tools.smoke.plan import OPERATIONS, Plan
from cais_tools.smoke.settings import Settings
from cais_tools.worker import Timing

PLAN = Plan(tuple(OPERATIONS.values()), steps=1, ranks=2, size=64, seed=1)


@pytest.mark.parametrize(
    ("timeout", "corrupt", "wanted"), [(None, 0.0, 5.0), (None, 0.1, 0.5), (2.0, 0.1, 2.0), (9.0, 0.0, 9.0)]
)
def test_a_time_that_is_given_counts_whatever_the_faults(timeout: float | None, corrupt: float, wanted: float) -> None:
    settings = Settings(PLAN, timeout=timeout, faults=FaultModel(corrupt=corrupt))
    assert timing_of(settings).timeout == wanted


def test_flipped_bits_need_more_repetitions() -> None:
    usual, more = (patience_of(Settings(PLAN, faults=FaultModel(corrupt=share))) for share in (0.0, 0.1))
    assert more.repeats > usual.repeats
    assert more.time_outs > usual.time_outs


def test_only_over_bad_cables_are_ranks_quick_to_send_again() -> None:
    """On good ones a short time-out would see losses in every pause of the scheduler."""
    assert timing_of(Settings(PLAN)) == Timing()
    assert timing_of(Settings(PLAN, faults=FaultModel(loss=0.05))).min_rto < Timing().min_rto
