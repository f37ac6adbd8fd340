"""The packet replication engine: multicast groups and clone sessions (P4Runtime section 9.5).

Plain state: whether a port exists, or is up, is the device's question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cais_tools.switch.refusals import AlreadyExists, Invalid, NotFound

__all__ = ["Backups", "CloneSession", "PacketReplicationEngine", "Replica"]


class Replica(NamedTuple):
    """One copy: the port it leaves through and its `egress_rid`."""

    port: int
    instance: int


Backups = Mapping[Replica, tuple[Replica, ...]]
"""What stands in for replicas whose port is down, the most wanted first."""


@dataclass(frozen=True, slots=True)
class CloneSession:
    """Where clones go. `packet_length` truncates them (0: whole packets)."""

    replicas: tuple[Replica, ...]
    class_of_service: int = 0
    packet_length: int = 0


class PacketReplicationEngine:
    """Multicast groups and clone sessions by id. Groups start at 1: `mcast_grp` 0 means no multicast."""

    def __init__(self) -> None:
        self.first_session_group = 0
        """From here on group ids are those of clone sessions, as in bmv2; 0: sessions are no groups."""
        self._groups: dict[int, tuple[Replica, ...]] = {}
        self._backups: dict[int, Backups] = {}
        self._live: dict[int, tuple[Replica, ...]] = {}
        self._down: Collection[int] = ()
        self._sessions: dict[int, CloneSession] = {}

    def reset(self) -> None:
        self._groups.clear()
        self._backups.clear()
        self._live.clear()
        self._sessions.clear()

    def replicas(self, group: int) -> tuple[Replica, ...]:
        """The copies of a group now, none where it does not exist (as bmv2: the packet is gone)."""
        if 0 < self.first_session_group <= group:
            session = self._sessions.get(group - self.first_session_group)
            return session.replicas if session is not None else ()
        return self._live.get(group, ())

    def set_down_ports(self, down: Collection[int]) -> None:
        """Replicas to these ports are replaced by the first of their backups whose port is up."""
        self._down = down
        for group in self._groups:
            self._choose(group)

    def _choose(self, group: int) -> None:
        """Where none is up, the replica stays what it is, and its copies are lost at the port."""
        backups = self._backups.get(group, {})
        self._live[group] = tuple(
            next((each for each in (replica, *backups.get(replica, ())) if each.port not in self._down), replica)
            for replica in self._groups[group]
        )

    def session(self, session: int) -> CloneSession | None:
        return self._sessions.get(session)

    def groups(self) -> Iterator[tuple[int, tuple[Replica, ...]]]:
        """(id, replicas) of each multicast group, in the order of insertion."""
        return iter(list(self._groups.items()))

    def sessions(self) -> Iterator[tuple[int, CloneSession]]:
        """(id, session) of each clone session, in the order of insertion."""
        return iter(list(self._sessions.items()))

    def get_group(self, group: int) -> tuple[Replica, ...]:
        """Raises NotFound."""
        if group not in self._groups:
            raise NotFound(f"there is no multicast group {group}")
        return self._groups[group]

    def get_session(self, session: int) -> CloneSession:
        """Raises NotFound."""
        if session not in self._sessions:
            raise NotFound(f"there is no clone session {session}")
        return self._sessions[session]

    def insert_group(self, group: int, replicas: Iterable[Replica], backups: Backups | None = None) -> None:
        """Raises AlreadyExists; Invalid for id 0 or the same (port, instance) twice."""
        if group in self._groups:
            raise AlreadyExists(f"multicast group {group} exists already")
        self._set_group(group, replicas, backups)

    def modify_group(self, group: int, replicas: Iterable[Replica], backups: Backups | None = None) -> None:
        """Raises NotFound; Invalid for the same (port, instance) twice."""
        self.get_group(group)
        self._set_group(group, replicas, backups)

    def _set_group(self, group: int, replicas: Iterable[Replica], backups: Backups | None) -> None:
        self._groups[group] = _checked(group, replicas)
        self._backups[group] = backups or {}
        self._choose(group)

    def delete_group(self, group: int) -> None:
        """Raises NotFound."""
        self.get_group(group)
        del self._groups[group], self._backups[group], self._live[group]

    def insert_session(self, session: int, value: CloneSession) -> None:
        """Raises AlreadyExists."""
        if session in self._sessions:
            raise AlreadyExists(f"clone session {session} exists already")
        self._sessions[session] = value

    def modify_session(self, session: int, value: CloneSession) -> None:
        """Raises NotFound."""
        self.get_session(session)
        self._sessions[session] = value

    def delete_session(self, session: int) -> None:
        """Raises NotFound."""
        self.get_session(session)
        del self._sessions[session]


def _checked(group: int, replicas: Iterable[Replica]) -> tuple[Replica, ...]:
    if group <= 0:
        raise Invalid(f"multicast group {group} cannot exist", hint="ids start at 1; 0 means no multicast")
    values = tuple(replicas)
    if len(set(values)) != len(values):
        raise Invalid(f"multicast group {group} has the same port and instance twice")
    return values
