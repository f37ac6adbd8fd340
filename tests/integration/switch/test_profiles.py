"""Action profiles: members, groups, one-shot action sets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from tests.integration.switch.client import (
    DELETE,
    INSERT,
    MODIFY,
    Client,
    Names,
    Network,
    exact,
    primary,
    program,
    refused,
)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


def member(names: Names, ident: int, port: int = 0) -> p4runtime_pb2.Entity:
    entity = p4runtime_pb2.Entity()
    entity.action_profile_member.action_profile_id = names.id("ActProfWS") if ident or port else 0
    entity.action_profile_member.member_id = ident
    if port:
        entity.action_profile_member.action.CopyFrom(names.action("send", bytes([port])))
    return entity


def members_group(names: Names, ident: int, *members: int) -> p4runtime_pb2.Entity:
    entity = p4runtime_pb2.Entity()
    entity.action_profile_group.action_profile_id = names.id("ActProfWS") if ident else 0
    entity.action_profile_group.group_id = ident
    for each in members:
        entity.action_profile_group.members.add(member_id=each, weight=1)
    return entity


def ports_used(network: Network, count: int = 64) -> set[int]:
    """Where packets with different entropy go."""
    network.send(3, *[b"\xab" + number.to_bytes(4, "big") for number in range(count)])
    used: set[int] = set()
    total = 0
    while total < count:
        for port in (1, 2):
            frames = network.hosts[port].recv()
            total += len(frames)
            used |= {port} if frames else set()
    return used


def test_action_profile_members_and_groups(network: Network) -> None:
    with primary(network, "action_profile") as client:
        names = Names(program("action_profile").p4info)
        client.write(INSERT, member(names, 1, 1), member(names, 2, 2))
        client.write(INSERT, members_group(names, 5, 1, 2))
        entry = names.entry("IndirectWS", exact(b"\xab"))
        entry.table_entry.action.action_profile_group_id = 5
        client.write(INSERT, entry)
        assert ports_used(network) == {1, 2}
        assert client.read(member(names, 0)) == [member(names, 1, 1), member(names, 2, 2)]
        assert client.read(members_group(names, 0)) == [members_group(names, 5, 1, 2)]
        assert client.read(names.entry("IndirectWS")) == [entry]
        client.write(MODIFY, members_group(names, 5, 2))
        assert ports_used(network) == {2}
        client.write(MODIFY, member(names, 2, 1))
        assert ports_used(network) == {1}
        for kind, entity, expected in (
            (DELETE, member(names, 2), code_pb2.FAILED_PRECONDITION),
            (DELETE, members_group(names, 5), code_pb2.FAILED_PRECONDITION),
            (INSERT, member(names, 1, 1), code_pb2.ALREADY_EXISTS),
            (INSERT, members_group(names, 5, 1), code_pb2.ALREADY_EXISTS),
            (INSERT, members_group(names, 6, 1, 1), code_pb2.INVALID_ARGUMENT),
            (INSERT, members_group(names, 6, 9), code_pb2.NOT_FOUND),
            (MODIFY, member(names, 9, 1), code_pb2.NOT_FOUND),
            (DELETE, member(names, 9), code_pb2.NOT_FOUND),
            (DELETE, members_group(names, 9), code_pb2.NOT_FOUND),
            (INSERT, member(names, 9), code_pb2.INVALID_ARGUMENT),
        ):
            [(found, message)] = refused(client.write, kind, entity)
            assert found == expected, message
        entry.table_entry.action.action_profile_member_id = 1
        client.write(MODIFY, entry)
        client.write(DELETE, members_group(names, 5))
        client.write(DELETE, member(names, 2))
        entry.table_entry.action.action_profile_member_id = 2
        assert refused(client.write, MODIFY, entry)[0][0] == code_pb2.NOT_FOUND
        direct = names.entry("IndirectWS", exact(b"\x01"), action=names.action("send", b"\x01"))
        assert refused(client.write, INSERT, direct)[0][0] == code_pb2.INVALID_ARGUMENT


def test_one_shot_action_sets(network: Network) -> None:
    with primary(network, "action_profile") as client:
        names = Names(program("action_profile").p4info)
        entry = names.entry("IndirectWS", exact(b"\xab"))
        actions = entry.table_entry.action.action_profile_action_set.action_profile_actions
        for port in (1, 2):
            actions.add(action=names.action("send", bytes([port])), weight=1, watch_port=bytes([port]))
        client.write(INSERT, entry)
        assert ports_used(network) == {1, 2}
        assert client.read(names.entry("IndirectWS")) == [entry], "as it was written, not as a group"
        assert client.read(member(names, 0), members_group(names, 0)) == []
        del actions[0]
        client.write(MODIFY, entry)
        assert ports_used(network) == {2}
        actions[0].watch_port = b"\x09"
        assert "no port 9" in refused(client.write, MODIFY, entry)[0][1]
        client.write(DELETE, entry)
        # Members of one-shots that are gone take no room: the profile has 128.
        for _ in range(3):
            actions[0].watch_port = b""
            while len(actions) < 100:
                actions.add(action=names.action("send", b"\x01"), weight=1)
            client.write(INSERT, entry)
            client.write(DELETE, entry)


def test_members_and_one_shots_are_not_mixed(network: Network) -> None:
    with primary(network, "action_profile") as client:
        names = Names(program("action_profile").p4info)
        one_shot = names.entry("IndirectWS", exact(b"\xab"))
        one_shot.table_entry.action.action_profile_action_set.action_profile_actions.add(
            action=names.action("send", b"\x01"), weight=1
        )
        client.write(INSERT, member(names, 1, 1))
        [(found, message)] = refused(client.write, INSERT, one_shot)
        assert (found, "programmed with members and groups" in message) == (code_pb2.INVALID_ARGUMENT, True)
        client.write(DELETE, member(names, 1))
        client.write(INSERT, one_shot)
        for kind, entity in ((INSERT, member(names, 1, 1)), (INSERT, members_group(names, 1))):
            [(found, message)] = refused(client.write, kind, entity)
            assert (found, "programmed with one-shot" in message) == (code_pb2.INVALID_ARGUMENT, True)
        one_shot.table_entry.action.action_profile_member_id = 1
        assert refused(client.write, MODIFY, one_shot)[0][0] == code_pb2.INVALID_ARGUMENT


def test_what_a_one_shot_set_says_of_itself(network: Network) -> None:
    with primary(network, "action_profile") as client:
        names = Names(program("action_profile").p4info)
        entry = names.entry("IndirectWS", exact(b"\xab"))
        actions = entry.table_entry.action.action_profile_action_set
        actions.action_profile_actions.add(action=names.action("send", b"\x02"), weight=1)
        actions.action_selection_mode = p4runtime_pb2.ActionProfileActionSet.HASH
        actions.size_semantics = p4runtime_pb2.ActionProfileActionSet.SUM_OF_WEIGHTS
        client.write(INSERT, entry)
        assert client.read(names.entry("IndirectWS")) == [entry]
        assert ports_used(network) == {2}
        actions.action_selection_mode = p4runtime_pb2.ActionProfileActionSet.RANDOM
        actions.size_semantics = p4runtime_pb2.ActionProfileActionSet.SUM_OF_MEMBERS
        actions.action_profile_actions.add(action=names.action("send", b"\x01"), weight=1)
        client.write(MODIFY, entry)
        assert client.read(names.entry("IndirectWS")) == [entry]
        # One flow takes both ways: by chance, not by its hash.
        network.send(3, *[b"\xab\x00\x00\x00\x01"] * 100)
        assert min(network.receive_any([1, 2], 100)) > 0
        del actions.action_profile_actions[1]
        actions.action_selection_mode = 7  # pyright: ignore[reportAttributeAccessIssue]
        assert refused(client.write, MODIFY, entry)[0][0] == code_pb2.UNIMPLEMENTED
        actions.action_selection_mode = p4runtime_pb2.ActionProfileActionSet.HASH
        actions.size_semantics = 7  # pyright: ignore[reportAttributeAccessIssue]
        assert "size_semantics" in refused(client.write, MODIFY, entry)[0][1]
        actions.size_semantics = p4runtime_pb2.ActionProfileActionSet.SUM_OF_WEIGHTS
        actions.group_action.CopyFrom(names.action("send", b"\x01"))
        assert refused(client.write, MODIFY, entry)[0][0] == code_pb2.UNIMPLEMENTED
        # A set without actions is a miss.
        actions.ClearField("group_action")
        del actions.action_profile_actions[:]
        client.write(MODIFY, entry)
        assert client.read(names.entry("IndirectWS")) == [entry]
        behind = names.entry("IndirectWS", exact(b"\xac"))
        behind.table_entry.action.action_profile_action_set.action_profile_actions.add(
            action=names.action("send", b"\x01"), weight=1
        )
        client.write(INSERT, behind)
        network.send(3, b"\xab\x00\x00\x00\x01", b"\xac\x00\x00\x00\x01")
        assert network.receive(1) == [b"\xac\x00\x00\x00\x01"]  # so the one before it has been dropped
        actions.action_profile_actions.add(action=names.action("send", b"\x02"), weight=1)
        client.write(MODIFY, entry)
        network.send(3, b"\xab\x00\x00\x00\x02")
        assert network.receive(2) == [b"\xab\x00\x00\x00\x02"]


def test_the_size_of_a_group_that_counts_members(network: Network) -> None:
    config = program("action_profile")
    [profile] = config.p4info.action_profiles
    profile.max_group_size = 2
    profile.sum_of_members.max_member_weight = 50
    with Client(network.switch.address) as client:
        assert client.status() == code_pb2.OK
        client.load(config)
        names = Names(config.p4info)
        client.write(INSERT, *(member(names, number, 1) for number in (1, 2, 3)))
        heavy = members_group(names, 5, 1, 2)
        for each in heavy.action_profile_group.members:
            each.weight = 50
        client.write(INSERT, heavy)
        assert refused(client.write, INSERT, members_group(names, 6, 1, 2, 3))[0][0] == code_pb2.RESOURCE_EXHAUSTED
        heavy.action_profile_group.members[0].weight = 51
        assert "a weight of 51, over 50" in refused(client.write, MODIFY, heavy)[0][1]


def test_members_count_only_while_the_port_that_they_watch_is_up(network: Network) -> None:
    with primary(network, "action_profile") as client:
        names = Names(program("action_profile").p4info)
        client.write(INSERT, member(names, 1, 1), member(names, 2, 2))
        group = members_group(names, 4, 1, 2)
        for each, port in zip(group.action_profile_group.members, (b"\x01", b"\x02"), strict=True):
            each.watch_port = port
        group.action_profile_group.members[1].watch_port = b"\x09"
        assert refused(client.write, INSERT, group)[0][0] == code_pb2.INVALID_ARGUMENT
        group.action_profile_group.members[1].watch_port = b"\x00\x02"
        client.write(INSERT, group)
        entry = names.entry("IndirectWS", exact(b"\xab"))
        entry.table_entry.action.action_profile_group_id = 4
        client.write(INSERT, entry)
        device = network.switch.device
        device.set_down_ports(frozenset({1}))
        assert ports_used(network) == {2}
        group.action_profile_group.members[1].watch_port = b"\x02"
        assert client.read(members_group(names, 0)) == [group], "a port that is down is no change of the config"
        device.set_down_ports(frozenset({2}))
        assert ports_used(network) == {1}
        # All are down: a group without members, which is a miss.
        device.set_down_ports(frozenset({1, 2}))
        network.send(3, b"\xab\x00\x00\x00\x01")
        device.set_down_ports(frozenset())
        assert ports_used(network) == {1, 2}
