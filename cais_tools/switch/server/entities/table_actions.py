"""TableAction: a table entry's action, member, group or one-shot set (P4Runtime 1.4, sections 9.1.2 and 9.2.3)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from cais_tools.p4rt import code_pb2, p4info_pb2, p4runtime_pb2
from cais_tools.switch.actions import ActionCall
from cais_tools.switch.profiles import ActionProfile, GroupMember
from cais_tools.switch.refusals import StateError
from cais_tools.switch.server.entities.base import Ports
from cais_tools.switch.server.entities.profiles import Modes, check_weight, watched_port
from cais_tools.switch.server.matching import action_of, params_of
from cais_tools.switch.server.schema import ActionSchema, ProfileSchema, Schema, TableSchema
from cais_tools.switch.server.status import P4Error, invalid
from cais_tools.switch.tables import GroupRef, MemberRef, TableAction

__all__ = ["OneShot", "TableActions"]


@dataclass(frozen=True)
class OneShot:
    """A one-shot action set: the message as it was written, and the group and members made for it."""

    message: p4runtime_pb2.ActionProfileActionSet
    profile: str
    group: int
    members: tuple[int, ...]


class TableActions:
    def __init__(self, schema: Schema, profiles: Mapping[str, ActionProfile], ports: Ports, modes: Modes) -> None:
        self._schema = schema
        self._modes = modes
        self._profiles = profiles
        self._ports = ports
        # Ids for one-shot groups and members, beyond the 32 bits that a client can name.
        self._hidden = itertools.count(1 << 32)

    def plain(self, table: TableSchema, message: p4runtime_pb2.TableAction) -> TableAction | None:
        """The engine's action for everything but a one-shot set, for which it is None."""
        given = message.WhichOneof("type")
        if given is None:
            raise invalid(f"table {table.name}: the entry has no action")
        if not table.profile:
            if given != "action":
                raise invalid(f"table {table.name} has no action profile: the entry needs an action, not {given}")
            return self.call(table, message.action, default=False)
        profile = self._schema.profile(table.profile)
        if given in ("action_profile_member_id", "action_profile_group_id"):
            self._modes.check_manual(self._profiles[profile.name])
        if given == "action_profile_member_id":
            return MemberRef(message.action_profile_member_id)
        if given == "action" or not profile.with_selector:
            raise invalid(f"table {table.name}: entries refer to {profile.name}, {given} is not possible")
        if given == "action_profile_group_id":
            return GroupRef(message.action_profile_group_id)
        return None

    def call(self, table: TableSchema, message: p4runtime_pb2.Action, *, default: bool) -> ActionCall:
        """An action of the table, with its arguments; `default`: for the default entry."""
        action = table.actions.get(message.action_id)
        if action is None:
            known = self._schema.actions.get(message.action_id)
            name = known.name if known is not None else f"with id {message.action_id}"
            raise invalid(f"table {table.name} has no action {name}")
        forbidden = p4info_pb2.ActionRef.TABLE_ONLY if default else p4info_pb2.ActionRef.DEFAULT_ONLY
        if table.scopes[action.id] == forbidden:
            where = "the default entry" if default else "entries"
            raise P4Error(code_pb2.PERMISSION_DENIED, f"table {table.name}: {action.name} is not allowed in {where}")
        return ActionCall(action.name, params_of(action, message))

    def make_one_shot(self, table: TableSchema, message: p4runtime_pb2.ActionProfileActionSet) -> OneShot:
        """Make the members and the group that the set stands for. Nothing stays behind where that fails."""
        schema = self._schema.profile(table.profile)
        kept = p4runtime_pb2.ActionProfileActionSet()
        kept.CopyFrom(message)
        at_random, calls, shares = self._shares(table, schema, kept)
        profile = self._profiles[schema.name]
        self._modes.check_one_shot(profile)
        made: list[int] = []
        group = next(self._hidden)
        try:
            members: list[GroupMember] = []
            for call, (weight, port) in zip(calls, shares, strict=True):
                ident = next(self._hidden)
                profile.insert_member(ident, call)
                made.append(ident)
                members.append(GroupMember(ident, weight, port))
            profile.insert_group(group, members, at_random=at_random)
        except StateError:
            for ident in made:
                profile.delete_member(ident)
            raise
        self._modes.count_one_shot(schema.name, 1)
        return OneShot(kept, schema.name, group, tuple(made))

    def _shares(
        self, table: TableSchema, schema: ProfileSchema, message: p4runtime_pb2.ActionProfileActionSet
    ) -> tuple[bool, list[ActionCall], list[tuple[int, int | None]]]:
        """Whether members are picked at random, and the action, weight and watched port of each."""
        where = f"table {table.name}, one-shot action set"
        at_random, counts_members = _options(schema, message, where)
        calls: list[ActionCall] = []
        shares: list[tuple[int, int | None]] = []
        for each in message.action_profile_actions:
            calls.append(self.call(table, each.action, default=False))
            shares.append((check_weight(schema, each.weight, where), watched_port(each, self._ports, where)))
        size = len(shares) if counts_members else sum(weight for weight, _ in shares)
        if schema.max_group_size and size > schema.max_group_size:
            raise invalid(f"{where}: its size is {size}, over {schema.max_group_size}")
        return at_random, calls, shares

    def drop_one_shot(self, one_shot: OneShot) -> None:
        """Remove the group and the members, once no entry refers to them."""
        profile = self._profiles[one_shot.profile]
        self._modes.count_one_shot(one_shot.profile, -1)
        profile.delete_group(one_shot.group)
        for ident in one_shot.members:
            profile.delete_member(ident)

    def message(self, table: TableSchema, action: TableAction, one_shot: OneShot | None) -> p4runtime_pb2.TableAction:
        message = p4runtime_pb2.TableAction()
        if one_shot is not None:
            message.action_profile_action_set.CopyFrom(one_shot.message)
            return message
        match action:
            case ActionCall(name, args):
                message.action.CopyFrom(action_of(self._by_name(table, name), args))
            case MemberRef(member):
                message.action_profile_member_id = member
            case GroupRef(group):
                message.action_profile_group_id = group
        return message

    def _by_name(self, table: TableSchema, name: str) -> ActionSchema:
        action_id = table.action_id(name)
        if action_id == 0:
            raise P4Error(
                code_pb2.FAILED_PRECONDITION, f"table {table.name} runs {name}, which the P4Info does not have"
            )
        return table.actions[action_id]


def _options(schema: ProfileSchema, message: p4runtime_pb2.ActionProfileActionSet, where: str) -> tuple[bool, bool]:
    """Whether the set is selected from at random, and whether its size is the number of its members.

    Raises P4Error for what this switch cannot do. Stubs before 1.5.0 do not know these fields.
    """
    kind = p4runtime_pb2.ActionProfileActionSet
    if "group_action" in message.DESCRIPTOR.fields_by_name and message.HasField("group_action"):
        raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: group_action is not supported")
    mode, size = getattr(message, "action_selection_mode", 0), getattr(message, "size_semantics", 0)
    if mode and mode not in (getattr(kind, "HASH", 0), getattr(kind, "RANDOM", 0)):
        raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: action_selection_mode {mode} is not known here")
    semantics = {
        0: schema.counts_members,
        getattr(kind, "SUM_OF_WEIGHTS", 0): False,
        getattr(kind, "SUM_OF_MEMBERS", 0): True,
    }
    if size not in semantics:
        raise P4Error(code_pb2.UNIMPLEMENTED, f"{where}: size_semantics {size} is not known here")
    return mode != 0 and mode == getattr(kind, "RANDOM", 0), semantics[size] if size else schema.counts_members
