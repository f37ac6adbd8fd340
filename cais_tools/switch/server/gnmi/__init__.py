"""gNMI beside P4Runtime: Capabilities, Get and Subscribe of the chip's temperature (openconfig-platform).

tree            the state, and which part of it a path means
requests        what may be asked, and the answer to Get
subscriptions   what is sent to a subscriber, and when
conversation    one Subscribe, from its first message to its end
service         gRPC: one method for each RPC

Only `service` knows gRPC. Set is not offered: nothing here can be configured.
"""

from __future__ import annotations

from cais_tools.switch.server.gnmi.service import GnmiService

__all__ = ["GnmiService"]
