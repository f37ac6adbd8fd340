"""Match tables: entries, default entry, and the lookup that generated code inlines.

Generated code asks `cache` (key -> outcome) first and `resolve` when the key is not there. The key is the value of the
only key field, or the tuple of all; an outcome is `(action number, arguments, entry)`, the entry None for a miss.
Any change of the table empties the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from cais_tools.switch.actions import IN_GROUP, NO_ACTION, ActionCall, BoundAction
from cais_tools.switch.lookup import Lookup, normalise
from cais_tools.switch.matches import Match
from cais_tools.switch.meters import Meter
from cais_tools.switch.profiles import ActionProfile
from cais_tools.switch.program import TableNode
from cais_tools.switch.refusals import AlreadyExists, Exhausted, Invalid, NotFound, ReadOnly
from cais_tools.switch.state import Cell, CounterValue

__all__ = ["GroupRef", "MemberRef", "Outcome", "Table", "TableAction", "TableEntry"]

_HASH = (1 << 32) - 1
"""bmv2's selectors look at so much of a hash."""
CACHE_LIMIT = 1 << 16
"""Outcomes remembered at most; then the cache starts anew, so that traffic cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class MemberRef:
    """The action of an entry of an indirect table: a member of its action profile."""

    member: int


@dataclass(frozen=True, slots=True)
class GroupRef:
    """The action of an entry of a table with a selector: a group of its action profile."""

    group: int


TableAction = ActionCall | MemberRef | GroupRef


@dataclass(eq=False, slots=True)
class TableEntry:
    """An entry as it stands in its table. Change it through the table only.

    `counter` is the direct counter, [packets, bytes], `meter` the direct meter, None where the table has none.
    `last_hit_us` is kept for tables with `support_timeout`: the engine's clock at insertion, then at each hit.
    """

    match: tuple[Match, ...]
    priority: int
    action: TableAction
    is_const: bool = False
    counter: Cell | None = None
    meter: Meter | None = None
    idle_timeout_us: int = 0
    last_hit_us: int = 0
    timer_us: int = 0
    """When the idle time-out began to count anew without a hit: at a modification, or when it had passed."""
    metadata: bytes = b""
    sequence: int = 0
    outcome: Outcome = field(default=(0, (), None), repr=False)

    @property
    def counter_value(self) -> CounterValue:
        """The direct counter; zeros where the table has none."""
        return CounterValue(*(self.counter or (0, 0)))


Outcome = tuple[int, tuple[int, ...], "TableEntry | None"]


class Table:
    """One table at run time. `spec` (program.TableNode) has its keys, actions and size.

    Methods raise the errors of `refusals`: AlreadyExists, NotFound, Exhausted, ReadOnly, Invalid.
    """

    def __init__(
        self,
        spec: TableNode,
        bind: Callable[[ActionCall], BoundAction],
        *,
        clock: Callable[[], int],
        profile: ActionProfile | None = None,
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.profile = profile
        self.const_entries = spec.const_entries
        self.cache: dict[int | tuple[int, ...], Outcome] = {}
        self._bind = bind
        self._clock = clock
        self._entries: dict[tuple[tuple[Match, ...], int], TableEntry] = {}
        self._lookup: Lookup[TableEntry] = Lookup(spec.keys)
        self._sequence = count(1)
        self._default_action: TableAction | None = None
        self._default_outcome: Outcome = (0, (), None)
        if profile is not None:
            profile.on_change.append(self._refresh)
        self.reset()

    # --- entries ---

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterator[TableEntry]:
        """All entries in the order of insertion, const and initial ones first; without the default entry."""
        return iter(list(self._entries.values()))

    def get(self, match: Sequence[Match], priority: int = 0) -> TableEntry:
        """Raises NotFound."""
        return self._entries[self._existing(match, priority)]

    def insert(self, match: Sequence[Match], action: TableAction, priority: int = 0) -> TableEntry:
        """Add an entry: one match for each key field, in the order of `spec.keys`. Larger `priority` wins."""
        self._check_writable()
        if not self.spec.keys:
            raise Invalid(f"table {self.name} has no key, and so no entries but the default one")
        if len(self._entries) >= self.spec.max_size:
            raise Exhausted(f"table {self.name} is full ({self.spec.max_size} entries)")
        return self._add(match, action, priority, is_const=False)

    def modify(self, match: Sequence[Match], action: TableAction, priority: int = 0) -> TableEntry:
        """Give an existing entry another action. Its counter and meter stay as they are."""
        self._check_writable()
        entry = self._entries[self._existing(match, priority)]
        outcome = self._outcome(action, entry)
        self._release(entry.action)
        self._use(action)
        entry.action, entry.outcome = action, outcome
        self.cache.clear()
        return entry

    def delete(self, match: Sequence[Match], priority: int = 0) -> None:
        """Remove an entry."""
        self._check_writable()
        key = self._existing(match, priority)
        entry = self._entries[key]
        if entry.is_const:
            raise ReadOnly(f"entries of table {self.name} are const")
        del self._entries[key]
        self._release(entry.action)
        self._lookup.remove(entry.match, entry)
        self.cache.clear()

    def reset(self) -> None:
        """Back to what the program says: const and initial entries, default action; counters and meters anew."""
        for entry in self._entries.values():
            self._release(entry.action)
        self._entries.clear()
        self._lookup.clear()
        self._set_default(None)
        for each in self.spec.entries:
            call = ActionCall(each.action, each.args)
            self._add(each.match, call, each.priority, is_const=self.const_entries)

    def open_entries(self) -> None:
        """The entries that the program brings are initial ones, not const. bmv2's JSON does not tell, only P4Info."""
        self.const_entries = False
        for entry in self._entries.values():
            entry.is_const = False

    # --- the default entry ---

    @property
    def default_action(self) -> TableAction | None:
        """What happens on a miss; None where nothing does."""
        return self._default_action

    def set_default(self, action: TableAction) -> None:
        """Raises ReadOnly where the program made it const."""
        default = self.spec.default
        if default is not None and default.action_const:
            same_action = isinstance(action, ActionCall) and action.name == default.action
            if default.entry_const or not same_action:
                raise ReadOnly(f"the default action of table {self.name} is const")
        self._set_default(action)

    def reset_default(self) -> None:
        """Back to the default action of the program."""
        self._set_default(None)

    # --- lookup ---

    def resolve(self, key: int | tuple[int, ...]) -> Outcome:
        """The outcome for a key that the cache does not hold; it holds it afterwards."""
        entry = self._lookup.find(key if isinstance(key, tuple) else (key,))
        outcome = self._default_outcome if entry is None else entry.outcome
        if len(self.cache) >= CACHE_LIMIT:
            self.cache.clear()
        self.cache[key] = outcome
        return outcome

    def pick(self, outcome: Outcome, hashed: int) -> Outcome:
        """The outcome of the group member that `hashed` selects; a miss where the group is empty."""
        entry = outcome[2]
        if entry is None or self.profile is None or not isinstance(entry.action, GroupRef):
            return outcome
        bound = self.profile.pick(entry.action.group, hashed & _HASH)
        if bound is None:
            return self._default_outcome
        return bound.number, bound.call.args, entry

    # --- inside ---

    def _add(self, match: Sequence[Match], action: TableAction, priority: int, *, is_const: bool) -> TableEntry:
        key = self._key(match, priority)
        if key in self._entries:
            raise AlreadyExists(f"table {self.name} has this entry already")
        entry = TableEntry(key[0], priority, action, is_const=is_const, sequence=next(self._sequence))
        entry.outcome = self._outcome(action, entry)
        self._use(action)
        entry.last_hit_us = self._clock()
        if self.spec.with_counters:
            entry.counter = [0, 0]
        if self.spec.direct_meter is not None:
            entry.meter = Meter()
        self._entries[key] = entry
        self._lookup.add(entry.match, entry, (priority, -entry.sequence))
        self.cache.clear()
        return entry

    def _outcome(self, action: TableAction, entry: TableEntry | None) -> Outcome:
        bound = self._bound(action)
        if bound is None:
            return IN_GROUP, (), entry
        return bound.number, bound.call.args, entry

    def _bound(self, action: TableAction) -> BoundAction | None:
        """The action itself; None for a group, whose member is picked for each packet."""
        if isinstance(action, ActionCall):
            if self.profile is not None:
                raise Invalid(f"table {self.name} takes members or groups of {self.profile.name}")
            return self._bind(action)
        if self.profile is None:
            raise Invalid(f"table {self.name} has no action profile")
        if isinstance(action, MemberRef):
            return self.profile.bound_member(action.member)
        self.profile.group(action.group)
        return None

    def _set_default(self, action: TableAction | None) -> None:
        default = self.spec.default
        self._release(self._default_action)
        if action is None and default is not None:
            # Also for an indirect table: the program's own default is an action, never a member.
            bound = self._bind(ActionCall(default.action, default.args))
            self._default_action = bound.call
            self._default_outcome = (bound.number, bound.call.args, None)
        elif action is None:
            self._default_action = None
            self._default_outcome = (NO_ACTION, (), None)
        else:
            self._default_outcome = self._outcome(action, None)
            self._default_action = action
            self._use(action)
        self.cache.clear()

    def _refresh(self) -> None:
        """Members of the profile changed: entries that refer to them follow."""
        for entry in self._entries.values():
            entry.outcome = self._outcome(entry.action, entry)
        if isinstance(self._default_action, MemberRef):
            self._default_outcome = self._outcome(self._default_action, None)
        self.cache.clear()

    def _use(self, action: TableAction, step: int = 1) -> None:
        if self.profile is not None and isinstance(action, MemberRef):
            self.profile.use("member", action.member, step)
        elif self.profile is not None and isinstance(action, GroupRef):
            self.profile.use("group", action.group, step)

    def _release(self, action: TableAction | None) -> None:
        if action is not None:
            self._use(action, -1)

    def _check_writable(self) -> None:
        if self.const_entries:
            raise ReadOnly(f"entries of table {self.name} are const")

    def _existing(self, match: Sequence[Match], priority: int) -> tuple[tuple[Match, ...], int]:
        key = self._key(match, priority)
        if key not in self._entries:
            raise NotFound(f"table {self.name} has no such entry")
        return key

    def _key(self, match: Sequence[Match], priority: int) -> tuple[tuple[Match, ...], int]:
        keys = self.spec.keys
        if len(match) != len(keys):
            raise Invalid(f"table {self.name} has {len(keys)} key fields, not {len(match)}")
        normal = tuple(normalise(key, each) for key, each in zip(keys, match, strict=True))
        return normal, priority
