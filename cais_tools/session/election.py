"""Which election id to bid, and what the switch's answers mean (P4Runtime 1.4, section 5). Sans I/O.

Without an id of its own a client first asks: it sends no election id, which makes nobody primary. Then it bids only
where there is no primary, so that a command in a shell never takes the switch from a running controller.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cais_tools.p4rt import code_pb2, p4runtime_pb2

__all__ = ["Election", "uint128", "uint128_value"]

_LOW = (1 << 64) - 1


def uint128(value: int) -> p4runtime_pb2.Uint128:
    return p4runtime_pb2.Uint128(high=value >> 64, low=value & _LOW)


def uint128_value(message: p4runtime_pb2.Uint128) -> int:
    return (message.high << 64) | message.low


def _microseconds() -> int:
    return time.time_ns() // 1000


class Election:
    """One client's part in the arbitration of a device and role.

    `own` is its election id once it has one; `primary` whether it is primary; `settled` whether the switch has
    answered what there was to ask; `is_crowded_out` whether it would not even let us ask, because of other clients;
    `reason` is the switch's last word.
    """

    def __init__(
        self,
        device_id: int,
        role: str = "",
        own: int | None = None,
        *,
        take_over: bool = False,
        clock: Callable[[], int] = _microseconds,
    ) -> None:
        self.device_id = device_id
        self.own = own
        self.primary = False
        self.settled = False
        self.is_crowded_out = False
        self.reason = "no answer from the switch yet"
        self.seen: int | None = None
        self._chosen_here = own is None
        self._take_over = take_over
        self._role = role
        self._clock = clock

    def opening(self) -> p4runtime_pb2.MasterArbitrationUpdate:
        """The first message on a new stream."""
        self.primary = self.settled = False
        return self._message()

    def heard(self, update: p4runtime_pb2.MasterArbitrationUpdate) -> p4runtime_pb2.MasterArbitrationUpdate | None:
        """Take the switch's answer in; returns what to send next, if anything."""
        code = update.status.code
        self.seen = uint128_value(update.election_id) if update.HasField("election_id") else None
        self.reason = self._describe(code)
        # bmv2 makes a client without an id primary where there is no other: it has to bid nevertheless.
        if code == code_pb2.OK and self.own is not None:
            self.primary = self.settled = True
            return None
        self.primary = False
        if code in (code_pb2.OK, code_pb2.NOT_FOUND) and self._chosen_here:
            return self._bid()
        if code == code_pb2.ALREADY_EXISTS and self._take_over and self._chosen_here:
            # Once: two clients that both take over must not outbid each other for ever.
            self._take_over = False
            return self._bid()
        self.settled = True
        return None

    def lost(self, reason: str) -> None:
        """The stream ended. To bmv2 "no election id" is 0, so it ends the stream of a second client that asks so."""
        self.primary = self.settled = False
        self.is_crowded_out = self.own is None and "lection id" in reason
        self.reason = "other clients are connected" if self.is_crowded_out else reason

    def _bid(self) -> p4runtime_pb2.MasterArbitrationUpdate:
        self.own = max(self._clock(), (self.seen or 0) + 1, (self.own or 0) + 1)
        return self._message()

    def _message(self) -> p4runtime_pb2.MasterArbitrationUpdate:
        message = p4runtime_pb2.MasterArbitrationUpdate(device_id=self.device_id)
        if self._role:
            message.role.name = self._role
        if self.own is not None:
            message.election_id.CopyFrom(uint128(self.own))
        return message

    def _describe(self, code: int) -> str:
        if code == code_pb2.OK:
            return "this client is primary"
        if code == code_pb2.NOT_FOUND:
            highest = "" if self.seen is None else f"; the highest election id so far is {self.seen}"
            return f"the switch has no primary, and this client's election id is too low{highest}"
        who = "another client" if self.seen is None else f"the client with election id {self.seen}"
        return f"{who} is primary"
