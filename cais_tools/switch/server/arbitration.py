"""Who is primary: P4Runtime 1.4, section 5 "Client Arbitration and Controller Replication". Sans I/O.

Messages go in, notifications come out. A client is any object; the caller knows which stream it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["Arbitration", "ElectionId", "Electorate", "Notification", "election_id_of", "role_name"]

_LONGEST_NAME = 256

ElectionId = int
Notification = tuple[object, p4runtime_pb2.StreamMessageResponse]


def election_id_of(message: p4runtime_pb2.Uint128) -> ElectionId:
    return (message.high << 64) | message.low


def describe(election_id: ElectionId | None) -> str:
    return "none" if election_id is None else str(election_id)


def role_name(name: str, number: int) -> str:
    """A role's key. Before 1.4 roles had numbers; a client that still sends one gets a role of its own."""
    return name if name or not number else f"#{number}"


class Electorate(Protocol):
    """Clients, and which of them is primary. Not thread-safe: the server calls it under its own lock."""

    def update(self, client: object, message: p4runtime_pb2.MasterArbitrationUpdate) -> list[Notification]:
        """Handle a client's MasterArbitrationUpdate; P4Error means that its stream must end with that code."""
        ...

    def leave(self, client: object) -> list[Notification]:
        """A stream has ended."""
        ...

    def check_device(self, device_id: int) -> None:
        """Raises P4Error unless the device is this one."""
        ...

    def check_writer(self, device_id: int, role: str, election_id: ElectionId | None) -> None:
        """Raises P4Error unless a request with these may change the device."""
        ...

    def primaries(self) -> list[object]:
        """The clients that get packet-ins, digests and time-outs, and may send packet-outs."""
        ...


@dataclass
class _Role:
    """One (device, role): its live clients, and the highest election id ever seen."""

    name: str
    clients: dict[object, ElectionId | None] = field(default_factory=dict[object, "ElectionId | None"])
    highest: ElectionId | None = None

    @property
    def primary(self) -> object | None:
        if self.highest is None:
            return None
        for client, election_id in self.clients.items():
            if election_id == self.highest:
                return client
        return None


class Arbitration:
    """The arbitration of one device."""

    def __init__(self, device_id: int, *, max_clients: int = 16, max_roles: int = 256) -> None:
        """At most `max_clients` at a time for each role, and `max_roles` ever: a role's highest id is not forgotten."""
        self.device_id = device_id
        self._max_roles = max_roles
        self._max_clients = max_clients
        self._roles: dict[str, _Role] = {}
        self._role_of: dict[object, _Role] = {}

    def update(self, client: object, message: p4runtime_pb2.MasterArbitrationUpdate) -> list[Notification]:
        """Handle a client's MasterArbitrationUpdate; P4Error means that its stream must end with that code."""
        name = role_name(message.role.name, message.role.id)
        election_id = election_id_of(message.election_id) if message.HasField("election_id") else None
        role = self._role_for(client, message.device_id, name)
        if election_id is not None:
            for other, taken in role.clients.items():
                if taken == election_id and other is not client:
                    raise invalid(f"election id {election_id} is already used by another client")
        # No scheme for role configs was agreed upon, so none matches it (section 5.2).
        if message.role.HasField("config"):
            raise invalid("role.config is not understood here: every role has full pipeline access")
        self._check_room(client, role)
        before = role.primary
        self._roles[name] = self._role_of[client] = role
        role.clients[client] = election_id
        if election_id is not None and (role.highest is None or election_id >= role.highest):
            role.highest = election_id
        # Everybody hears of a change of primary; a backup that stays one is told alone.
        if role.primary is client or role.primary is not before:
            return self._notify(role, role.clients)
        return self._notify(role, [client])

    def _check_room(self, client: object, role: _Role) -> None:
        if client not in role.clients and len(role.clients) >= self._max_clients:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{self._max_clients} clients are connected already")
        if role.name not in self._roles and len(self._roles) >= self._max_roles:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"there were {self._max_roles} roles already")

    def _role_for(self, client: object, device_id: int, name: str) -> _Role:
        current = self._role_of.get(client)
        if current is None:
            if device_id != self.device_id:
                raise P4Error(code_pb2.NOT_FOUND, f"no device {device_id} here; this is device {self.device_id}")
            if len(name) > _LONGEST_NAME:
                raise invalid(f"a role name of {len(name)} characters; the longest has {_LONGEST_NAME}")
            return self._roles.get(name, _Role(name))
        if device_id != self.device_id:
            raise P4Error(
                code_pb2.FAILED_PRECONDITION, f"this stream belongs to device {self.device_id}, not {device_id}"
            )
        if name != current.name:
            raise P4Error(code_pb2.FAILED_PRECONDITION, f"this stream has the role {current.name!r}, not {name!r}")
        return current

    def leave(self, client: object) -> list[Notification]:
        """A stream has ended. Without a primary the others are told NOT_FOUND; nobody is promoted."""
        role = self._role_of.pop(client, None)
        if role is None:
            return []
        was_primary = role.primary is client
        del role.clients[client]
        return self._notify(role, role.clients if was_primary else ())

    def _notify(self, role: _Role, clients: Iterable[object]) -> list[Notification]:
        primary = role.primary
        # The new primary hears last (section 5.3): by then everybody else knows.
        receivers = sorted(clients, key=lambda client: client is primary)
        return [(client, self._response(role, client is primary)) for client in receivers]

    def _response(self, role: _Role, is_primary: bool) -> p4runtime_pb2.StreamMessageResponse:
        response = p4runtime_pb2.StreamMessageResponse()
        update = response.arbitration
        update.device_id = self.device_id
        if role.name.startswith("#"):
            update.role.id = int(role.name[1:])
        elif role.name:
            update.role.name = role.name
        if role.highest is not None:
            update.election_id.high = role.highest >> 64
            update.election_id.low = role.highest & (2**64 - 1)
        if is_primary:
            update.status.code = code_pb2.OK
            update.status.message = "you are primary"
        elif role.primary is None:
            update.status.code = code_pb2.NOT_FOUND
            update.status.message = "there is no primary"
        else:
            update.status.code = code_pb2.ALREADY_EXISTS
            update.status.message = f"the client with election id {role.highest} is primary"
        return response

    def check_device(self, device_id: int) -> None:
        if device_id != self.device_id:
            raise P4Error(code_pb2.NOT_FOUND, f"no device {device_id} here; this is device {self.device_id}")

    def check_primary(self, role: str, election_id: ElectionId | None) -> None:
        """Raises P4Error unless `election_id` is that of the role's live primary (section 12, first checks)."""
        known = self._roles.get(role)
        if known is None and role:
            raise P4Error(code_pb2.NOT_FOUND, f"no client has the role {role!r}")
        if known is None or known.primary is None:
            raise P4Error(code_pb2.PERMISSION_DENIED, "not primary: there is none; open a StreamChannel first")
        if election_id is None or election_id != known.highest:
            raise P4Error(
                code_pb2.PERMISSION_DENIED,
                f"not primary: election id {describe(election_id)}, the primary's is {known.highest}",
            )

    def check_writer(self, device_id: int, role: str, election_id: ElectionId | None) -> None:
        self.check_device(device_id)
        self.check_primary(role, election_id)

    def primaries(self) -> list[object]:
        """The primary client of every role: who gets packet-ins and digests."""
        found = [role.primary for role in self._roles.values()]
        return [client for client in found if client is not None]
