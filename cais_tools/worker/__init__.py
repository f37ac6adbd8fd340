"""The endpoint: ranks that send tensors into the switch and get them back reduced (design, sections 4 and 6).

`Endpoint` is one rank on one link; `LocalGroup` holds all ranks of a group in this process. `exchange` is the protocol
without I/O, `collectives` the operations without packets, `layout` says which chunk_id belongs to which rank.
Importing this package imports NumPy.
"""

from __future__ import annotations

from cais_tools.worker.config import Membership, Patience, Timing
from cais_tools.worker.endpoint import Endpoint
from cais_tools.worker.errors import OperationInterrupted, OperationTimedOut, Progress, ResultRefused
from cais_tools.worker.exchange import Counters
from cais_tools.worker.local import LocalGroup

__all__ = [
    "Counters",
    "Endpoint",
    "LocalGroup",
    "Membership",
    "OperationInterrupted",
    "OperationTimedOut",
    "Patience",
    "Progress",
    "ResultRefused",
    "Timing",
]
