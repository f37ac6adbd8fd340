"""Multicast groups and clone sessions."""

from __future__ import annotations

import pytest

from cais_tools.switch.pre import CloneSession, PacketReplicationEngine, Replica
from cais_tools.switch.refusals import AlreadyExists, Invalid, NotFound

REPLICAS = (Replica(1, 0), Replica(2, 0))


def test_groups() -> None:
    pre = PacketReplicationEngine()
    assert pre.replicas(5) == ()
    pre.insert_group(5, REPLICAS)
    assert pre.replicas(5) == pre.get_group(5) == REPLICAS
    assert list(pre.groups()) == [(5, REPLICAS)]
    with pytest.raises(AlreadyExists):
        pre.insert_group(5, [])
    pre.modify_group(5, REPLICAS[:1])
    assert pre.replicas(5) == REPLICAS[:1]
    pre.delete_group(5)
    for change in (pre.delete_group, pre.get_group):
        with pytest.raises(NotFound):
            change(5)
    with pytest.raises(NotFound):
        pre.modify_group(5, [])


def test_group_0_and_equal_copies_make_no_sense() -> None:
    pre = PacketReplicationEngine()
    with pytest.raises(Invalid, match="group 0 cannot exist"):
        pre.insert_group(0, REPLICAS)
    with pytest.raises(Invalid, match="twice"):
        pre.insert_group(1, [Replica(1, 3), Replica(1, 3)])
    pre.insert_group(1, [Replica(1, 3), Replica(1, 4)])


def test_sessions() -> None:
    pre = PacketReplicationEngine()
    session = CloneSession(REPLICAS, packet_length=64)
    assert pre.session(0) is None
    pre.insert_session(0, session)
    assert pre.session(0) == pre.get_session(0) == session
    assert list(pre.sessions()) == [(0, session)]
    with pytest.raises(AlreadyExists):
        pre.insert_session(0, session)
    pre.modify_session(0, CloneSession(()))
    pre.delete_session(0)
    for change in (pre.delete_session, pre.get_session):
        with pytest.raises(NotFound):
            change(0)


def test_reset() -> None:
    pre = PacketReplicationEngine()
    pre.insert_group(1, REPLICAS)
    pre.insert_session(1, CloneSession(REPLICAS))
    pre.reset()
    assert not list(pre.groups())
    assert not list(pre.sessions())


def test_backups_stand_in_while_ports_are_down() -> None:
    pre = PacketReplicationEngine()
    pre.insert_group(5, REPLICAS, {REPLICAS[0]: (Replica(3, 7), Replica(4, 8))})
    assert pre.replicas(5) == REPLICAS
    pre.set_down_ports({1, 2})
    assert pre.replicas(5) == (Replica(3, 7), REPLICAS[1])
    pre.set_down_ports({1, 3})
    assert pre.replicas(5) == (Replica(4, 8), REPLICAS[1])
    pre.set_down_ports({1, 3, 4})
    assert pre.replicas(5) == REPLICAS
    pre.set_down_ports({1})
    pre.modify_group(5, REPLICAS)
    assert pre.replicas(5) == pre.get_group(5) == REPLICAS
    pre.delete_group(5)
    pre.set_down_ports(())
    assert pre.replicas(5) == ()


def test_sessions_as_groups() -> None:
    pre = PacketReplicationEngine()
    pre.insert_session(3, CloneSession(REPLICAS))
    assert pre.replicas(0x8003) == ()
    pre.first_session_group = 0x8000
    assert pre.replicas(0x8003) == REPLICAS
    assert pre.replicas(0x8004) == ()
