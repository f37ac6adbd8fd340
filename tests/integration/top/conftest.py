"""A switch with a program, groups, rules and some traffic, for all tests here that leave it as it is."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from cais_tools.session import SessionOptions, connect
from cais_tools.session.cais import CaisSwitch
from cais_tools.wire import Op
from cais_tools.wire.frames import build_frames
from tests.integration.session.targets import Embedded
from tests.integration.top.furnished import furnish


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """All ranks but the third of group 0 have sent for three slots; all of them, for two."""
    switch = Embedded("spec")
    switch.start()
    furnish(switch.address)
    for rank, seq_nums in enumerate((5, 5, 2, 5)):
        switch.hosts[rank + 1].send([bytes(frame) for frame in _contributions(rank, seq_nums)])
    with connect(switch.address, SessionOptions(timeout=20)) as session:
        stats = CaisSwitch(session)
        while stats.snapshot().groups[0].contributions < 17:
            pass
    yield switch.address
    switch.close()


def _contributions(rank: int, count: int) -> list[bytes]:
    frames = build_frames(
        op=Op.ALLREDUCE,
        group_id=0,
        rank=rank,
        layer_id=0,
        total_chunks=count,
        chunk_ids=np.arange(count, dtype=np.uint32),
        seq_nums=np.arange(count, dtype=np.uint32),
        tags=0,
        payload_len=256,
        payload=np.ones((count, 64), np.int32),
    )
    return [frame.tobytes() for frame in frames]
