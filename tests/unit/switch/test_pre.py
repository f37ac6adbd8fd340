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
