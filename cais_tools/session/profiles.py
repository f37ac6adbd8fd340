"""Action profiles: members, groups and one-shot sets to messages and back (P4Runtime 1.4, section 9.2). Sans I/O."""

from __future__ import annotations

from collections.abc import Sequence

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2, values
from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.action import decode_action, encode_action
from cais_tools.session.entities import ActionProfileGroup, ActionProfileMember, GroupMember, OneShotAction

__all__ = ["decode_group", "decode_member", "decode_one_shot", "encode_group", "encode_member", "encode_one_shot"]

_Watching = p4runtime_pb2.ActionProfileGroup.Member | p4runtime_pb2.ActionProfileAction


def encode_member(index: P4InfoIndex, member: ActionProfileMember) -> p4runtime_pb2.ActionProfileMember:
    profile = index.action_profile(member.profile)
    return p4runtime_pb2.ActionProfileMember(
        action_profile_id=profile.preamble.id,
        member_id=member.member_id,
        action=encode_action(index, index.action_of_profile(profile, member.action), member.params),
    )


def decode_member(index: P4InfoIndex, message: p4runtime_pb2.ActionProfileMember) -> ActionProfileMember:
    action, params = decode_action(index, message.action)
    profile = index.action_profile(message.action_profile_id).preamble.name
    return ActionProfileMember(profile, message.member_id, action, params)


def encode_group(index: P4InfoIndex, group: ActionProfileGroup) -> p4runtime_pb2.ActionProfileGroup:
    message = p4runtime_pb2.ActionProfileGroup(
        action_profile_id=index.action_profile(group.profile).preamble.id,
        group_id=group.group_id,
        max_size=group.max_size,
    )
    for member in sorted(group.members, key=lambda each: each.member_id):
        added = message.members.add(member_id=member.member_id, weight=member.weight)
        _watch(added, member.watch_port)
    return message


def decode_group(index: P4InfoIndex, message: p4runtime_pb2.ActionProfileGroup) -> ActionProfileGroup:
    members = frozenset(GroupMember(each.member_id, each.weight, _watched(each)) for each in message.members)
    profile = index.action_profile(message.action_profile_id).preamble.name
    return ActionProfileGroup(profile, message.group_id, members, message.max_size)


def encode_one_shot(
    index: P4InfoIndex, table: p4info_pb2.Table, actions: Sequence[OneShotAction]
) -> p4runtime_pb2.ActionProfileActionSet:
    message = p4runtime_pb2.ActionProfileActionSet()
    for each in actions:
        action = encode_action(index, index.action_of(table, each.action), each.params)
        added = message.action_profile_actions.add(action=action, weight=each.weight)
        _watch(added, each.watch_port)
    return message


def decode_one_shot(index: P4InfoIndex, message: p4runtime_pb2.ActionProfileActionSet) -> tuple[OneShotAction, ...]:
    return tuple(
        OneShotAction(*decode_action(index, each.action), each.weight, _watched(each))
        for each in message.action_profile_actions
    )


def _watch(message: _Watching, port: int | None) -> None:
    if port is not None:
        message.watch_port = values.encode(port, 32)


def _watched(message: _Watching) -> int | None:
    match message.WhichOneof("watch_kind"):
        case "watch_port":
            return values.decode(message.watch_port)
        case "watch":
            return message.watch
        case _:
            return None
