from __future__ import annotations

import pytest

from cais_tools.session.cais import RuleSpec
from cais_tools.smoke.collective import layer_of, rules_for
from cais_tools.smoke.plan import OPERATIONS, Plan
from cais_tools.wire import Op
from cais_tools.worker.transfer import Transfer
from tests.unit.smoke.simulated import run_step

PORTS = (3, 1, 2, 7)


def _matching(rules: list[RuleSpec], transfer: Transfer, chunk: int) -> list[RuleSpec]:
    return [
        rule
        for rule in rules
        if rule.op == transfer.op
        and rule.layer.low <= transfer.layer_id <= rule.layer.high
        and rule.chunk.low <= chunk <= rule.chunk.high
    ]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("number", [1, 4, 40_000])
def test_every_packet_meets_exactly_one_rule_with_the_ports_that_want_it(name: str, number: int) -> None:
    plan = Plan(tuple(OPERATIONS.values()), steps=1, ranks=4, size=2048, seed=1)
    rules = rules_for(plan.operations, 0, PORTS)
    step = plan.step(number, OPERATIONS[name])
    _, sent = run_step(step, 16)
    for transfers in sent:
        for packet, chunk in enumerate(transfers[0].chunk_ids.tolist()):
            (rule,) = _matching(rules, transfers[0], chunk)
            wanted = {
                PORTS[rank]
                for rank, transfer in enumerate(transfers)
                if transfer.wanted is None or transfer.wanted[packet]
            }
            assert set(rule.outputs) == wanted


def test_only_what_runs_gets_rules() -> None:
    (rule,) = rules_for([OPERATIONS["min"]], 0, PORTS)
    assert rule.op is Op.ALLREDUCE_MIN
    assert {rule.op for rule in rules_for([OPERATIONS["sum-float32"]], 0, PORTS)} == {Op.ALLREDUCE, Op.ALLREDUCE_MAX}


def test_sums_for_all_and_for_one_are_told_apart_by_the_layer() -> None:
    plan = Plan(tuple(OPERATIONS.values()), steps=1, ranks=2, size=64, seed=1)
    layers = {name: layer_of(plan.step(5, OPERATIONS[name])) for name in OPERATIONS}
    assert layers["sum"] != layers["reduce"]
    assert layers["reduce"] == layers["reduce-scatter"]
