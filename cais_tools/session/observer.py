"""Who is primary on a switch, asked without taking part in the election (P4Runtime 1.4, section 5.3)."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Any

import grpc

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.session.election import Election, uint128_value
from cais_tools.session.errors import from_rpc
from cais_tools.session.session import SwitchSession

__all__ = ["Primary", "ask_primary"]


@dataclass(frozen=True, slots=True)
class Primary:
    """Whether a client is primary, and its election id (or the highest one so far, where nobody is)."""

    is_taken: bool
    election_id: int | None = None


def ask_primary(session: SwitchSession) -> Primary:
    """Open a stream without an election id, hear who is primary, and close it: nobody else notices.

    Not for bmv2: it takes no election id for number 0, so that for a moment a second client could not ask. Raises
    Unreachable, DeadlineExceeded, DeviceError.
    """
    requests: queue.SimpleQueue[p4runtime_pb2.StreamMessageRequest | None] = queue.SimpleQueue()
    requests.put(p4runtime_pb2.StreamMessageRequest(arbitration=Election(session.device_id).opening()))
    call: Any = session._rpc.open_stream(iter(requests.get, None), session.options.timeout)
    try:
        for response in call:
            if response.WhichOneof("update") == "arbitration":
                update = response.arbitration
                seen = uint128_value(update.election_id) if update.HasField("election_id") else None
                return Primary(update.status.code == code_pb2.ALREADY_EXISTS, seen)
    except grpc.RpcError as error:
        raise from_rpc(error, str(session.target), "tell who is primary") from None
    finally:
        requests.put(None)
        call.cancel()
    return Primary(False)
