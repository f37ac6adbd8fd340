"""Who is primary, as simple_switch_grpc decides it (PI, proto/server/pi_server.cpp). Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.arbitration import ElectionId, Notification, election_id_of
from cais_tools.switch.server.bmv2.refusal import FAILED_PRECONDITION, INVALID_ARGUMENT, no_pipeline, refusal
from cais_tools.switch.server.status import P4Error

__all__ = ["Bmv2Arbitration"]

_MAX_CONNECTIONS = 16


class Bmv2Arbitration:
    """Roles do not count, an election id left out is 0, any device id can be asked for, there is always a primary."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self._devices: dict[int, dict[object, ElectionId]] = {}
        self._device_of: dict[object, int] = {}

    def update(self, client: object, message: p4runtime_pb2.MasterArbitrationUpdate) -> list[Notification]:
        device_id, election_id = message.device_id, election_id_of(message.election_id)
        current = self._device_of.get(client)
        if current is None:
            return self._add(client, device_id, election_id)
        if current != device_id:
            raise refusal(FAILED_PRECONDITION, "Invalid device id")
        return self._change(client, device_id, election_id)

    def _add(self, client: object, device_id: int, election_id: ElectionId) -> list[Notification]:
        clients = self._devices.setdefault(device_id, {})
        if len(clients) >= _MAX_CONNECTIONS:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, "Too many connections")
        if election_id in clients.values():
            raise refusal(INVALID_ARGUMENT, "Election id already exists")
        clients[client] = election_id
        self._device_of[client] = device_id
        return self._notify(device_id, clients if self._primary(device_id) is client else [client])

    def _change(self, client: object, device_id: int, election_id: ElectionId) -> list[Notification]:
        clients = self._devices[device_id]
        if clients[client] == election_id:
            return []
        if election_id in clients.values():
            raise refusal(INVALID_ARGUMENT, "New election id already exists")
        was_primary = self._primary(device_id) is client
        clients[client] = election_id
        is_primary = self._primary(device_id) is client
        return self._notify(device_id, clients if is_primary != was_primary else [client])

    def leave(self, client: object) -> list[Notification]:
        """The next highest is promoted, and everybody hears of it."""
        device_id = self._device_of.pop(client, None)
        if device_id is None:
            return []
        clients = self._devices[device_id]
        was_primary = self._primary(device_id) is client
        del clients[client]
        return self._notify(device_id, clients if was_primary else ())

    def _primary(self, device_id: int) -> object | None:
        clients = self._devices.get(device_id, {})
        return max(clients, key=clients.__getitem__, default=None)

    def _notify(self, device_id: int, clients: Iterable[object]) -> list[Notification]:
        primary = self._primary(device_id)
        return [(client, self._response(device_id, client is primary)) for client in clients]

    def _response(self, device_id: int, is_primary: bool) -> p4runtime_pb2.StreamMessageResponse:
        highest = max(self._devices[device_id].values())
        response = p4runtime_pb2.StreamMessageResponse()
        update = response.arbitration
        update.device_id = device_id
        update.election_id.high, update.election_id.low = highest >> 64, highest & (2**64 - 1)
        update.status.code = code_pb2.OK if is_primary else code_pb2.ALREADY_EXISTS
        update.status.message = "Is primary" if is_primary else "Is backup"
        return response

    def check_device(self, device_id: int) -> None:
        """Of another device there is no pipeline."""
        if device_id != self.device_id:
            raise no_pipeline()

    def check_writer(self, device_id: int, role: str, election_id: ElectionId | None) -> None:
        """Whoever has the primary's election id; without clients, whoever has none."""
        del role
        clients = self._devices.get(device_id)
        may_write = (election_id or 0) == max(clients.values()) if clients else election_id is None
        if not may_write:
            raise P4Error(code_pb2.PERMISSION_DENIED, "Not primary")

    def primaries(self) -> list[object]:
        primary = self._primary(self.device_id)
        return [] if primary is None else [primary]
