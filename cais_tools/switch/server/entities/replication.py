"""PacketReplicationEngineEntry: multicast groups and clone sessions (P4Runtime 1.4, section 9.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.p4rt.values import decode, encode
from cais_tools.switch.pre import Backups, CloneSession, PacketReplicationEngine, Replica
from cais_tools.switch.server.entities.base import INSERT, MODIFY, Ports, Undo
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["ReplicationEntries"]

_Group = p4runtime_pb2.MulticastGroupEntry
_Session = p4runtime_pb2.CloneSessionEntry
_Message = TypeVar("_Message", _Group, _Session)

# standard_metadata.mcast_grp and egress_rid have 16 bits; bmv2 keeps the upper half of the sessions' for itself.
_MAX_GROUP = 0xFFFF
_MAX_SESSION = 0x7FFF
_MAX_INSTANCE = 0xFFFF


class ReplicationEntries:
    """Keeps the messages as they were written beside the engine's state: metadata, and how ports were given."""

    def __init__(self, pre: PacketReplicationEngine, ports: Ports) -> None:
        self._pre = pre
        self._ports = ports
        self._groups: dict[int, _Group] = {}
        self._sessions: dict[int, _Session] = {}

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.PacketReplicationEngineEntry) -> Undo:
        match entry.WhichOneof("type"):
            case "multicast_group_entry":
                return self._write_group(kind, entry.multicast_group_entry)
            case "clone_session_entry":
                return self._write_session(kind, entry.clone_session_entry)
            case _:
                raise invalid("the entry is neither a multicast group nor a clone session")

    def read(self, entry: p4runtime_pb2.PacketReplicationEngineEntry) -> Iterator[p4runtime_pb2.Entity]:
        match entry.WhichOneof("type"):
            case "multicast_group_entry":
                wanted = entry.multicast_group_entry.multicast_group_id
                for group in _selected(self._groups, wanted, "multicast group"):
                    entity = p4runtime_pb2.Entity()
                    entity.packet_replication_engine_entry.multicast_group_entry.CopyFrom(group)
                    yield entity
            case "clone_session_entry":
                wanted = entry.clone_session_entry.session_id
                for session in _selected(self._sessions, wanted, "clone session"):
                    entity = p4runtime_pb2.Entity()
                    entity.packet_replication_engine_entry.clone_session_entry.CopyFrom(session)
                    yield entity
            case _:
                raise invalid("the entry is neither a multicast group nor a clone session")

    def _write_group(self, kind: p4runtime_pb2.Update.Type, entry: _Group) -> Undo:
        number = entry.multicast_group_id
        where = f"multicast group {number}"
        _check_id(number, _MAX_GROUP, where)
        pre = self._pre
        if kind in (INSERT, MODIFY):
            message = _Group()
            message.CopyFrom(entry)
            replicas, backups = self._replicas(message, where)
            (pre.insert_group if kind == INSERT else pre.modify_group)(number, replicas, backups)
            return _keep(self._groups, number, message, lambda old: self._restore_group(number, old))
        pre.delete_group(number)
        old = self._groups.pop(number)
        return lambda: self._restore_group(number, old)

    def _restore_group(self, number: int, old: _Group | None) -> None:
        if number in self._groups:
            self._pre.delete_group(number)
            del self._groups[number]
        if old is not None:
            self._write_group(INSERT, old)

    def _write_session(self, kind: p4runtime_pb2.Update.Type, entry: _Session) -> Undo:
        number = entry.session_id
        where = f"clone session {number}"
        _check_id(number, _MAX_SESSION, where)
        pre = self._pre
        if kind in (INSERT, MODIFY):
            message = _Session()
            message.CopyFrom(entry)
            session = self._session(message, where)
            (pre.insert_session if kind == INSERT else pre.modify_session)(number, session)
            return _keep(self._sessions, number, message, lambda old: self._restore_session(number, old))
        pre.delete_session(number)
        old = self._sessions.pop(number)
        return lambda: self._restore_session(number, old)

    def _restore_session(self, number: int, old: _Session | None) -> None:
        if number in self._sessions:
            self._pre.delete_session(number)
            del self._sessions[number]
        if old is not None:
            self._write_session(INSERT, old)

    def _session(self, message: _Session, where: str) -> CloneSession:
        if message.class_of_service:
            raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: this switch has no classes of service")
        if message.packet_length_bytes < 0:
            raise invalid(f"{where}: packet_length_bytes is negative")
        replicas, backups = self._replicas(message, where)
        if any(backups.values()):
            raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: only multicast groups can have backup replicas")
        return CloneSession(replicas, packet_length=message.packet_length_bytes)

    def _replicas(self, message: _Group | _Session, where: str) -> tuple[tuple[Replica, ...], Backups]:
        """The engine's replicas. Ports in the message become canonical, so that reads return what was written."""
        replicas: list[Replica] = []
        backups: dict[Replica, tuple[Replica, ...]] = {}
        for given in message.replicas:
            if given.WhichOneof("port_kind") == "port":
                port = decode(given.port)
                given.port = encode(port, 0)
            else:
                port = given.egress_port
            replica = self._replica(port, given.instance, where)
            replicas.append(replica)
            backups[replica] = self._backups(replica, given, where)
        every = [*replicas, *(each for some in backups.values() for each in some)]
        if len(set(every)) != len(every):
            raise invalid(f"{where}: the same port and instance twice")
        return tuple(replicas), backups

    def _replica(self, port: int, instance: int, where: str) -> Replica:
        if instance > _MAX_INSTANCE:
            raise invalid(f"{where}: instance {instance} does not fit into 16 bits")
        return Replica(self._ports.check(port, where), instance)

    def _backups(self, replica: Replica, message: p4runtime_pb2.Replica, where: str) -> tuple[Replica, ...]:
        found: list[Replica] = []
        for each in getattr(message, "backup_replicas", ()):  # stubs before 1.5.0 do not know them
            port = decode(each.port)
            each.port = encode(port, 0)
            if port == replica.port:
                raise invalid(f"{where}: a replica to port {port} has the same port as backup")
            found.append(self._replica(port, each.instance, where))
        return tuple(found)


def _check_id(number: int, highest: int, where: str) -> None:
    if number == 0:
        raise invalid(f"{where}: ids start at 1")
    if number > highest:
        raise P4Error(code_pb2.OUT_OF_RANGE, f"{where}: ids end at {highest}")


def _selected(entries: Mapping[int, _Message], wanted: int, what: str) -> list[_Message]:
    if wanted == 0:
        return list(entries.values())
    if wanted not in entries:
        raise P4Error(code_pb2.NOT_FOUND, f"there is no {what} {wanted}")
    return [entries[wanted]]


def _keep(
    entries: dict[int, _Message], number: int, message: _Message, restore: Callable[[_Message | None], None]
) -> Undo:
    old = entries.get(number)
    entries[number] = message
    return lambda: restore(old)
