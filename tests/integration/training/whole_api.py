"""Every function of `import cais` on one rank, each result compared; says at its end what went which way."""

from __future__ import annotations

import json
import sys

import numpy as np

from cais_tools.training import api as cais


def main() -> None:
    cais.configure({"timeout_ms": 60})
    cais.init(timeout=20.0)
    rank, ranks = cais.current().identity.rank, cais.current().identity.world_size
    group = cais.new_group(ranks=list(range(ranks)), group_id=0)
    assert group is not None
    assert (cais.new_group([0, 1]) is None) == (rank > 1)
    every = [np.arange(8.0, dtype=np.float32) + each for each in range(ranks)]
    total = np.sum(every, axis=0)

    tensor = every[rank].copy()
    assert cais.all_reduce(tensor, group=group) is tensor
    np.testing.assert_allclose(tensor, total, rtol=1e-6)
    for op, expected in (("MAX", every[-1]), (cais.MIN, every[0])):
        np.testing.assert_array_equal(cais.all_reduce(every[rank].copy(), group_id=0, op=op), expected)
    strided = np.ones(8, np.int32)
    cais.all_reduce(strided[::2])
    assert strided.tolist() == [ranks, 1] * 4
    np.testing.assert_array_equal(cais.all_gather(every[rank], group), np.stack(every))
    np.testing.assert_allclose(cais.reduce_scatter(every[rank], group), np.split(total, ranks)[rank], rtol=1e-6)
    np.testing.assert_array_equal(cais.broadcast(every[rank].copy(), 2, group), every[2])
    late = np.full(4, rank, np.int32)
    handle = cais.all_reduce(late, group, async_op=True)
    cais.synchronize()
    assert handle.is_completed()
    assert handle.wait().tolist() == [sum(range(ranks))] * 4

    settings = cais.configure({"offload_threshold": 0.1, "max_pending_chunks": 64})
    assert (settings["timeout_ms"], settings["offload_threshold"], settings["max_pending_chunks"]) == (60, 0.1, 64)
    report = cais.stats()[0]
    cais.shutdown()
    assert not cais.is_initialized()
    sys.stdout.write(json.dumps({"on_switch": report.on_switch, "on_endpoints": report.on_endpoints}) + "\n")


if __name__ == "__main__":
    main()
