"""The P4Runtime server of the embedded switch.

service      gRPC: one method for each RPC
control      what clients may do: arbitration, pipelines, write and read
arbitration  who is primary
pipeline     a config made ready to run, P4Info and program checked against each other
entities     a handler for each kind of entity
schema, matching, p4data, packetio   messages to values and back
notifier, digests, streams           what goes to the client by itself

Only `service` and `server` know gRPC; the rest takes messages and returns them.
"""

from __future__ import annotations

import cais_tools.p4rt  # noqa: F401  # pyright: ignore[reportUnusedImport] - before grpc, to silence gRPC's own log lines
from cais_tools.switch.server.server import P4RuntimeServer

__all__ = ["P4RuntimeServer"]
