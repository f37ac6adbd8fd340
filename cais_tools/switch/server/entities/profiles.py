"""ActionProfileMember and ActionProfileGroup (P4Runtime 1.4, sections 9.2.1 to 9.2.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from cais_tools.p4rt import code_pb2, p4runtime_pb2
from cais_tools.p4rt.values import decode, encode
from cais_tools.switch.actions import ActionCall
from cais_tools.switch.profiles import ActionProfile, GroupMember
from cais_tools.switch.server.entities.base import DELETE, INSERT, Ports, Undo
from cais_tools.switch.server.matching import action_of, params_of
from cais_tools.switch.server.schema import ActionSchema, ProfileSchema, Schema
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["GroupEntries", "MemberEntries", "Modes", "check_weight", "is_hidden", "watched_port"]


class MemberEntries:
    def __init__(self, schema: Schema, profiles: Mapping[str, ActionProfile], modes: Modes) -> None:
        self._schema = schema
        self._profiles = profiles
        self._modes = modes

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.ActionProfileMember) -> Undo:
        schema = self._schema.profile(entry.action_profile_id)
        profile = self._profiles[schema.name]
        ident = entry.member_id
        if ident == 0:
            raise invalid(f"action profile {schema.name}: member ids start at 1")
        if kind == DELETE:
            old = profile.member(ident)
            _refuse_used(profile, "member", ident)
            profile.delete_member(ident)
            return lambda: profile.insert_member(ident, old)
        if not entry.HasField("action"):
            raise invalid(f"action profile {schema.name}: member {ident} has no action")
        call = self._call(schema, entry.action)
        if kind == INSERT:
            self._modes.check_manual(profile)
            profile.insert_member(ident, call)
            return lambda: profile.delete_member(ident)
        old = profile.member(ident)
        profile.modify_member(ident, call)
        return lambda: profile.modify_member(ident, old)

    def read(self, entry: p4runtime_pb2.ActionProfileMember) -> Iterator[p4runtime_pb2.Entity]:
        for schema in _selected(self._schema, entry.action_profile_id):
            profile = self._profiles[schema.name]
            if entry.member_id:
                yield self._entity(schema, entry.member_id, profile.member(entry.member_id))
                continue
            for ident, call in profile.members():
                if not is_hidden(ident):
                    yield self._entity(schema, ident, call)

    def _entity(self, schema: ProfileSchema, ident: int, call: ActionCall) -> p4runtime_pb2.Entity:
        entity = p4runtime_pb2.Entity()
        member = entity.action_profile_member
        member.action_profile_id = schema.id
        member.member_id = ident
        action = next(each for each in _actions(self._schema, schema).values() if each.name == call.name)
        member.action.CopyFrom(action_of(action, call.args))
        return entity

    def _call(self, schema: ProfileSchema, message: p4runtime_pb2.Action) -> ActionCall:
        action = _actions(self._schema, schema).get(message.action_id)
        if action is None:
            raise invalid(f"action profile {schema.name}: none of its tables has action {message.action_id}")
        return ActionCall(action.name, params_of(action, message))


class GroupEntries:
    """Keeps the messages beside the engine's state: `max_size`, and how ports were given."""

    def __init__(self, schema: Schema, profiles: Mapping[str, ActionProfile], ports: Ports, modes: Modes) -> None:
        self._schema = schema
        self._profiles = profiles
        self._modes = modes
        self._ports = ports
        self._groups: dict[tuple[int, int], p4runtime_pb2.ActionProfileGroup] = {}

    def write(self, kind: p4runtime_pb2.Update.Type, entry: p4runtime_pb2.ActionProfileGroup) -> Undo:
        schema = self._schema.profile(entry.action_profile_id)
        if not schema.with_selector:
            raise invalid(f"action profile {schema.name} has no selector, so no groups")
        if entry.group_id == 0:
            raise invalid(f"action profile {schema.name}: group ids start at 1")
        profile = self._profiles[schema.name]
        key = (schema.id, entry.group_id)
        old = self._groups.get(key)
        if kind == DELETE:
            profile.group(entry.group_id)
            _refuse_used(profile, "group", entry.group_id)
            profile.delete_group(entry.group_id)
            del self._groups[key]
            return lambda: self._restore(schema, entry.group_id, old)
        message = p4runtime_pb2.ActionProfileGroup()
        message.CopyFrom(entry)
        members = self._members(schema, message)
        if kind == INSERT:
            self._modes.check_manual(profile)
            profile.insert_group(entry.group_id, members)
        else:
            profile.group(entry.group_id)
            if old is not None and old.max_size != message.max_size:
                raise invalid(f"group {entry.group_id}: max_size was {old.max_size} and cannot change")
            profile.modify_group(entry.group_id, members)
        self._groups[key] = message
        return lambda: self._restore(schema, entry.group_id, old)

    def _restore(self, schema: ProfileSchema, ident: int, old: p4runtime_pb2.ActionProfileGroup | None) -> None:
        profile = self._profiles[schema.name]
        if old is None:
            profile.delete_group(ident)
            del self._groups[schema.id, ident]
            return
        members = self._members(schema, old)
        if (schema.id, ident) in self._groups:
            profile.modify_group(ident, members)
        else:
            profile.insert_group(ident, members)
        self._groups[schema.id, ident] = old

    def read(self, entry: p4runtime_pb2.ActionProfileGroup) -> Iterator[p4runtime_pb2.Entity]:
        for schema in _selected(self._schema, entry.action_profile_id):
            if entry.group_id and (schema.id, entry.group_id) not in self._groups:
                raise P4Error(code_pb2.NOT_FOUND, f"action profile {schema.name} has no group {entry.group_id}")
            for (profile_id, ident), message in self._groups.items():
                if profile_id == schema.id and entry.group_id in (0, ident):
                    entity = p4runtime_pb2.Entity()
                    entity.action_profile_group.CopyFrom(message)
                    yield entity

    def _members(self, schema: ProfileSchema, message: p4runtime_pb2.ActionProfileGroup) -> tuple[GroupMember, ...]:
        """The engine's members. Ports in the message become canonical, so that reads return what was written."""
        where = f"group {message.group_id} of action profile {schema.name}"
        members: list[GroupMember] = []
        for member in message.members:
            weight = check_weight(schema, member.weight, where)
            members.append(GroupMember(member.member_id, weight, watched_port(member, self._ports, where)))
        if len({member.member for member in members}) != len(members):
            raise invalid(f"{where} has a member twice; use its weight instead")
        _check_size(schema, message.max_size, schema.group_size([member.weight for member in members]), where)
        return tuple(members)


def _selected(schema: Schema, profile_id: int) -> list[ProfileSchema]:
    return [schema.profile(profile_id)] if profile_id else list(schema.profiles.values())


def _actions(schema: Schema, profile: ProfileSchema) -> Mapping[int, ActionSchema]:
    """The actions of the tables that the profile implements (they all have the same)."""
    found: dict[int, ActionSchema] = {}
    for table_id in profile.tables:
        found.update(schema.tables[table_id].actions)
    return found


def _refuse_used(profile: ActionProfile, kind: str, ident: int) -> None:
    in_group = kind == "member" and any(each.member == ident for _, members in profile.groups() for each in members)
    if in_group or profile.users.get((kind, ident)):
        user = "a group" if in_group else "a table entry"
        raise P4Error(code_pb2.FAILED_PRECONDITION, f"{kind} {ident} of {profile.name} is used by {user}")


def is_hidden(ident: int) -> bool:
    """Whether a member or a group belongs to a one-shot set: their ids lie beyond what a client can name."""
    return ident >> 32 != 0


class Modes:
    """A selector is programmed with one-shot sets only, or with members and groups only (section 9.2.3)."""

    def __init__(self) -> None:
        self._one_shots: Counter[str] = Counter()

    def count_one_shot(self, profile: str, step: int) -> None:
        """One more (+1) or less (-1) set in use."""
        self._one_shots[profile] += step

    def check_manual(self, profile: ActionProfile) -> None:
        """Raises P4Error where members and groups are not possible."""
        if self._one_shots[profile.name]:
            raise _mixed(profile, "one-shot action sets")

    def check_one_shot(self, profile: ActionProfile) -> None:
        """Raises P4Error where one-shot sets are not possible."""
        # Where there are sets already there is nothing else: no need to look.
        if not self._one_shots[profile.name] and any((*profile.members(), *profile.groups())):
            raise _mixed(profile, "members and groups")


def _mixed(profile: ActionProfile, used: str) -> P4Error:
    return invalid(f"action profile {profile.name} is programmed with {used} already: the two cannot be mixed")


def check_weight(schema: ProfileSchema, weight: int, where: str) -> int:
    """The weight that counts. 0 is the only one allowed where P4Info disallows weights, and else forbidden."""
    if schema.weights_disallowed:
        if weight:
            raise invalid(f"{where}: weights are disallowed")
        return 1
    if weight < 1:
        raise invalid(f"{where}: a weight of {weight}; the least is 1")
    if 0 < schema.max_member_weight < weight:
        raise invalid(f"{where}: a weight of {weight}, over {schema.max_member_weight}")
    return weight


def watched_port(
    member: p4runtime_pb2.ActionProfileGroup.Member | p4runtime_pb2.ActionProfileAction, ports: Ports, where: str
) -> int | None:
    match member.WhichOneof("watch_kind"):
        case "watch":
            return ports.check(member.watch, where) if member.watch else None
        case "watch_port" if member.watch_port:
            port = ports.check(decode(member.watch_port), where)
            member.watch_port = encode(port, 0)
            return port
        case _:
            return None


def _check_size(schema: ProfileSchema, max_size: int, size: int, where: str) -> None:
    limit = schema.max_group_size
    if limit and not 0 <= max_size <= limit:
        raise invalid(f"{where}: max_size {max_size} is over the action profile's {limit}")
    if max_size < 0:
        raise invalid(f"{where}: max_size is negative")
    most = max_size or limit
    if most and size > most:
        raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{where}: its size is {size}, over {most}")
