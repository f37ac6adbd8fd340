"""In-network all-reduce for training scripts. `help(cais.init)` is a good beginning."""

from __future__ import annotations

from cais_tools.training.api import (
    MAX,
    MIN,
    PRODUCT,
    SUM,
    Handle,
    all_gather,
    all_reduce,
    backend,
    broadcast,
    configure,
    init,
    is_initialized,
    new_group,
    reduce_scatter,
    shutdown,
    stats,
    synchronize,
)
from cais_tools.training.errors import Diverged, FallbackFailed, GroupFailed, RankLost

__all__ = [
    "MAX",
    "MIN",
    "PRODUCT",
    "SUM",
    "Diverged",
    "FallbackFailed",
    "GroupFailed",
    "Handle",
    "RankLost",
    "all_gather",
    "all_reduce",
    "backend",
    "broadcast",
    "configure",
    "init",
    "is_initialized",
    "new_group",
    "reduce_scatter",
    "shutdown",
    "stats",
    "synchronize",
]
