"""The profile of simple_switch_grpc: its answers, code and text, for users who rehearse.

arbitration  no roles, the next highest election id is promoted
profile      configs, batches, capabilities
keys         match keys and actions, checked in PI's order
writes       updates: what PI refuses itself, what it takes that the specification does not; groups: those of groups
reads        the same for reads
failures     what PI says when its target refuses

From PI (p4lang/PI f96af95, proto/frontend and proto/server). What only its bugs do is not rehearsed: a crash, a state
that is broken by a config that could not be loaded, a group that stays although its members were refused, RECONCILE
that fails where the program has const entries. Ports of replicas come back canonical, not with the bytes they had.
"""

from __future__ import annotations

from cais_tools.switch.server.bmv2.profile import Bmv2Profile

__all__ = ["Bmv2Profile"]
