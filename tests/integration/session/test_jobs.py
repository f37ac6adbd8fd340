"""Jobs on a group, with real sums: what an earlier life of the group left in its slots never comes back."""

from __future__ import annotations

import numpy as np
import pytest

from cais_tools.session.cais import CaisSwitch, RuleSpec, Span
from cais_tools.wire import DEFAULT_LANES, Op
from cais_tools.worker import Endpoint, LocalGroup, Membership
from tests.integration.session.targets import SwitchUnderTest

PORTS = (1, 2)


def _all_reduce(cais: CaisSwitch, target: SwitchUnderTest, value: int) -> int:
    """Create group 0, add `value` of both ranks up in it, and remove it."""
    group = cais.add_rule(RuleSpec(0, Op.ALLREDUCE, Span(), Span(), PORTS, PORTS)).group.group
    job = cais.start_job(0)
    by_rank = dict(enumerate(PORTS))
    endpoints = [
        Endpoint(target.hosts[port], Membership(0, rank, len(PORTS), group.slots, DEFAULT_LANES, by_rank), job)
        for rank, port in by_rank.items()
    ]
    ranks = LocalGroup(endpoints, renew=lambda: cais.start_job(0))
    try:
        results = ranks.run(lambda rank: rank.all_reduce(np.full(DEFAULT_LANES, value, np.int32)))
    finally:
        ranks.close()
    cais.remove_group(0)
    assert (results[0] == results[1]).all()
    return int(results[0][0])


def test_a_group_removed_and_created_again_at_once(cais: CaisSwitch, target: SwitchUnderTest) -> None:
    if not target.hosts:
        pytest.skip("bmv2 needs veth interfaces: root and ip (iproute2)")
    assert [_all_reduce(cais, target, value) for value in (1, 1000, 7)] == [2, 2000, 14]
