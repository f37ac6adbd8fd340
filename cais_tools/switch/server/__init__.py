"""The P4Runtime server of the embedded switch.

service      gRPC: one method for each RPC
control      what clients may do: arbitration, pipelines, write and read
arbitration  who is primary
profile      what may be answered in more than one way; bmv2/ answers as simple_switch_grpc does
pipeline     a config made ready to run, P4Info and program checked against each other
entities     a handler for each kind of entity
schema, matching, p4data, packetio   messages to values and back
gnmi         gNMI on the same port: the chip's temperature
limits, tls, address                 how much, and who, is let in
notifier, digests, streams           what goes to the client by itself

Only the two `service` and `server` know gRPC; the rest takes messages and returns them.
"""

from __future__ import annotations

from cais_tools.switch.server.bmv2 import Bmv2Profile
from cais_tools.switch.server.limits import Limits
from cais_tools.switch.server.profile import Profile
from cais_tools.switch.server.server import P4RuntimeServer
from cais_tools.switch.server.tls import Tls

__all__ = ["Bmv2Profile", "Limits", "P4RuntimeServer", "Profile", "Tls"]
