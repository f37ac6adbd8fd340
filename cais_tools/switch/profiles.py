"""Action profiles: members, and groups of members of which a hash picks one (P4Runtime sections 9.2.1 to 9.2.3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from cais_tools.switch.actions import ActionCall, BoundAction
from cais_tools.switch.refusals import AlreadyExists, Exhausted, Invalid, NotFound

__all__ = ["ActionProfile", "GroupMember"]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member's part of a group. `watch_port`: the member counts only while that port is up."""

    member: int
    weight: int = 1
    watch_port: int | None = None


class ActionProfile:
    """Members and groups by id. `on_change` is called after every change, so that tables forget what they cached."""

    def __init__(self, name: str, max_size: int, bind: Callable[[ActionCall], BoundAction]) -> None:
        self.name = name
        self.max_size = max_size
        self.on_change: list[Callable[[], None]] = []
        self._bind = bind
        self._members: dict[int, BoundAction] = {}
        self._groups: dict[int, tuple[GroupMember, ...]] = {}
        self._spread: dict[int, tuple[BoundAction, ...]] = {}
        self._random: set[int] = set()
        self._down: Collection[int] = ()
        self.users: dict[tuple[str, int], int] = {}
        """How many table entries use ("member", id) or ("group", id)."""

    def reset(self) -> None:
        """No members, no groups. The tables that use them are reset first."""
        self._members.clear()
        self._groups.clear()
        self._spread.clear()
        self._random.clear()
        self.users.clear()

    # --- members ---

    def members(self) -> Iterator[tuple[int, ActionCall]]:
        return iter([(ident, bound.call) for ident, bound in self._members.items()])

    def member(self, ident: int) -> ActionCall:
        """Raises NotFound."""
        return self.bound_member(ident).call

    def insert_member(self, ident: int, call: ActionCall) -> None:
        """Raises AlreadyExists, Exhausted, Invalid (unknown action, wrong arguments)."""
        if ident in self._members:
            raise AlreadyExists(f"action profile {self.name} has a member {ident} already")
        if len(self._members) >= self.max_size:
            raise Exhausted(f"action profile {self.name} is full ({self.max_size} members)")
        self._members[ident] = self._bind(call)

    def modify_member(self, ident: int, call: ActionCall) -> None:
        """Raises NotFound, Invalid."""
        self.bound_member(ident)
        self._members[ident] = self._bind(call)
        self._changed()

    def delete_member(self, ident: int) -> None:
        """Raises NotFound; Invalid while an entry or a group uses the member."""
        self.bound_member(ident)
        in_group = any(each.member == ident for group in self._groups.values() for each in group)
        if in_group or self.users.get(("member", ident)):
            raise Invalid(f"member {ident} of action profile {self.name} is in use")
        del self._members[ident]

    # --- groups ---

    def groups(self) -> Iterator[tuple[int, tuple[GroupMember, ...]]]:
        return iter(list(self._groups.items()))

    def group(self, ident: int) -> tuple[GroupMember, ...]:
        """Raises NotFound."""
        if ident not in self._groups:
            raise NotFound(f"action profile {self.name} has no group {ident}")
        return self._groups[ident]

    def insert_group(self, ident: int, members: Iterable[GroupMember], *, at_random: bool = False) -> None:
        """Raises AlreadyExists, NotFound (a member). `at_random`: members are not picked by the selector's hash."""
        if ident in self._groups:
            raise AlreadyExists(f"action profile {self.name} has a group {ident} already")
        self._set_group(ident, tuple(members))
        if at_random:
            self._random.add(ident)

    def modify_group(self, ident: int, members: Iterable[GroupMember]) -> None:
        """Raises NotFound (the group, or a member)."""
        self.group(ident)
        self._set_group(ident, tuple(members))

    def delete_group(self, ident: int) -> None:
        """Raises NotFound; Invalid while an entry uses the group."""
        self.group(ident)
        if self.users.get(("group", ident)):
            raise Invalid(f"group {ident} of action profile {self.name} is in use")
        del self._groups[ident], self._spread[ident]
        self._random.discard(ident)

    def set_down_ports(self, down: Collection[int]) -> None:
        """Members that watch one of these ports do not count until it is up again."""
        self._down = down
        if any(each.watch_port is not None for members in self._groups.values() for each in members):
            self._changed()

    def _set_group(self, ident: int, members: tuple[GroupMember, ...]) -> None:
        for each in members:
            self.bound_member(each.member)
            if each.weight < 1:
                raise Invalid(f"weight {each.weight} of member {each.member} is not positive")
        self._groups[ident] = members
        self._changed()

    def _changed(self) -> None:
        for ident, members in self._groups.items():
            self._spread[ident] = tuple(
                bound
                for each in members
                if each.watch_port not in self._down
                for bound in [self._members[each.member]] * each.weight
            )
        for callback in self.on_change:
            callback()

    # --- for tables ---

    def bound_member(self, ident: int) -> BoundAction:
        """Raises NotFound."""
        if ident not in self._members:
            raise NotFound(f"action profile {self.name} has no member {ident}")
        return self._members[ident]

    def spread(self, ident: int) -> tuple[BoundAction, ...]:
        """The members of a group that are alive, each as often as it weighs. Raises NotFound."""
        self.group(ident)
        return self._spread[ident]

    def pick(self, ident: int, hashed: int) -> BoundAction | None:
        """The member that `hashed` selects, or chance; None where the group is empty, or all its ports are down."""
        members = self._spread[ident]
        if not members:
            return None
        return random.choice(members) if ident in self._random else members[hashed % len(members)]

    def use(self, kind: str, ident: int, step: int) -> None:
        """Count an entry that refers to ("member" or "group", ident) in (+1) or out (-1)."""
        key = (kind, ident)
        self.users[key] = self.users.get(key, 0) + step
        if not self.users[key]:
            del self.users[key]
