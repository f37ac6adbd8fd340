"""The queue-delay histogram, at the edges of its buckets."""

from __future__ import annotations

import pytest

from cais_tools.session.program import shipped_program
from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.pre import Replica

EDGES = [(0, 0), (1, 1), *[(2**b, b + 1) for b in range(1, 14)], *[(2**b - 1, b) for b in range(2, 15)]]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(load_program(shipped_program()[0].read_text()))


@pytest.mark.parametrize(("microseconds", "bucket"), [*EDGES, (2**14, 15), (2**32 - 1, 15)])
def test_bucket(engine: Engine, microseconds: int, bucket: int) -> None:
    engine.reset()
    engine.pre.insert_group(1, [Replica(7, 0)])
    (packet,) = engine.process_ingress(1, [bytes(60)])
    assert engine.process_egress(packet, deq_timedelta=microseconds) == bytes(60)
    histogram = engine.counters["CaisEgress.counters.queue_delay"]
    cells = {index: histogram.read(index).packets for index in range(7 * 16, 8 * 16)}
    assert {index for index, packets in cells.items() if packets} == {7 * 16 + bucket}
