"""A switch for tests of P4 programs: in this process, without sockets, one packet at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cais_tools.errors import UsageError
from cais_tools.switch.actions import ActionCall
from cais_tools.switch.engine import Digest, Engine, Queued
from cais_tools.switch.loader import load_program
from cais_tools.switch.matches import Match
from cais_tools.switch.meters import MeterArray
from cais_tools.switch.plain import MatchValue, Value, find_name, match_of, number_of
from cais_tools.switch.pre import CloneSession, Replica
from cais_tools.switch.profiles import ActionProfile, GroupMember
from cais_tools.switch.program import Action
from cais_tools.switch.refusals import Invalid, StateError
from cais_tools.switch.state import CounterArray, RegisterArray
from cais_tools.switch.tables import GroupRef, MemberRef, Table, TableAction, TableEntry
from cais_tools.switch.tracing import PassTrace, text_of

__all__ = ["Profile", "Switch", "SwitchTable", "Trace"]

_MOST_PASSES = 1000
"""A packet that has been sent around so often is taken to go round for ever."""

Args = Mapping[str, Value]
Ports = Iterable[int | tuple[int, int]]
"""Ports, or (port, instance): the instance is the copy's egress_rid."""


@dataclass(frozen=True)
class Trace:
    """What happened to a packet; as text it can be read."""

    passes: tuple[PassTrace, ...]
    outputs: tuple[tuple[int, bytes], ...]

    def __str__(self) -> str:
        return "\n".join(text_of(each) for each in self.passes)


class Switch:
    """A loaded program and its state.

    Tables, actions, keys, registers, .. have the names of the P4 source (those of P4Info), or the end of one where
    that is unique: `ipv4_lpm` for `MyIngress.ipv4_lpm`. Errors are `cais_tools.errors.CaisError`s, the state's own
    ones those of `switch.refusals`. Not thread-safe.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.log: list[str] = []
        """What log_msg, assert and assume said."""
        engine.on_log = self.log.append

    @classmethod
    def load(
        cls, program: str | Path, p4info: str | Path | None = None, *, clock: Callable[[], int] | None = None
    ) -> Self:
        """Load bmv2 JSON, as p4c writes it: a path, or the text itself.

        `p4info` (path or text) tells which entries of the program may be changed (`entries` of a table, not `const`);
        without it none may. `clock` gives microseconds since the switch started, for timestamps and meters; by default
        time passes. Raises UsageError (no such file), ProgramError.
        """
        switch = cls(Engine(load_program(_read(program, "{")), clock=clock))
        if p4info is not None:
            switch._open_entries(_read(p4info, "pkg_info"))
        return switch

    def _open_entries(self, text: str) -> None:
        from cais_tools.p4rt.p4info import parse_p4info

        for each in parse_p4info(text).tables:
            if not each.is_const_table and each.preamble.name in self.engine.tables:
                self.engine.tables[each.preamble.name].open_entries()

    def reset(self) -> None:
        """Back to how it was loaded."""
        self.engine.reset()
        self.log.clear()

    # --- packets ---

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """What a frame that comes in through `port` makes leave, as (port, frame) in order.

        Copies, clones, resubmitted and recirculated packets are followed to their ends; queues are empty and no port is
        missing. Raises StateError where a packet goes round for ever.
        """
        engine = self.engine
        outputs = self._leave(engine.process_ingress(port, [frame]))
        for _ in range(_MOST_PASSES):
            if not engine.pending:
                return outputs
            outputs += self._leave(engine.process_pending())
        raise StateError(f"the packet goes round for ever ({_MOST_PASSES} passes)")

    def trace(self, port: int, frame: bytes) -> Trace:
        """Process a frame like `process`, and say what happened to it."""
        passes: list[PassTrace] = []
        self.engine.trace(passes.append)
        try:
            outputs = self.process(port, frame)
        finally:
            self.engine.trace(None)
        return Trace(tuple(passes), tuple(outputs))

    def _leave(self, queued: list[Queued]) -> list[tuple[int, bytes]]:
        frames = [(each.egress_port, self.engine.process_egress(each)) for each in queued]
        return [(port, frame) for port, frame in frames if frame is not None]

    # --- what the control plane has ---

    def table(self, name: str) -> SwitchTable:
        return SwitchTable(self.engine, self.engine.tables[find_name(self.engine.tables, name, "table")])

    def profile(self, name: str) -> Profile:
        """An action profile, or action selector."""
        profiles = self.engine.profiles
        return Profile(self.engine, profiles[find_name(profiles, name, "action profile")])

    def register(self, name: str) -> RegisterArray:
        """Read `[index]`, write `[index] = value`, iterate."""
        return self.engine.registers[find_name(self.engine.registers, name, "register")]

    def counter(self, name: str) -> CounterArray:
        """An indirect counter: `[index].packets`, `[index].bytes`. Direct ones are in `SwitchTable.counter`."""
        return self.engine.counters[find_name(self.engine.counters, name, "counter")]

    def meter(self, name: str) -> MeterArray:
        """An indirect meter: `.write(index, MeterConfig(..))`."""
        return self.engine.meters[find_name(self.engine.meters, name, "meter")]

    def set_multicast_group(self, group: int, ports: Ports) -> None:
        """Where packets with `mcast_grp` = `group` go; an earlier group of that number is replaced."""
        replicas = _replicas(ports)
        known = any(each == group for each, _ in self.engine.pre.groups())
        (self.engine.pre.modify_group if known else self.engine.pre.insert_group)(group, replicas)

    def set_clone_session(self, session: int, ports: Ports, *, packet_length: int = 0) -> None:
        """Where clones of a session go, cut to `packet_length` bytes (0: whole)."""
        value = CloneSession(_replicas(ports), packet_length=packet_length)
        known = self.engine.pre.session(session) is not None
        (self.engine.pre.modify_session if known else self.engine.pre.insert_session)(session, value)

    def set_value_set(self, name: str, members: Iterable[int | tuple[int, int]]) -> None:
        """The members of a parser's value set: values, or (value, mask)."""
        sets, specs = self.engine.value_sets, self.engine.program.value_sets
        full_name = find_name(sets, name, "value set")
        full = (1 << sum(specs[full_name].key_widths)) - 1
        pairs = [each if isinstance(each, tuple) else (each, full) for each in members]
        sets[full_name][:] = [(value & mask, mask) for value, mask in pairs]

    def take_digests(self) -> list[Digest]:
        """What the program reported since the last time: (name, values of the struct's fields)."""
        taken = list(self.engine.digests)
        self.engine.digests.clear()
        return taken


class SwitchTable:
    """A table of a switch. Matches are by key name; a key that is left out matches everything."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine = engine
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @property
    def entries(self) -> list[TableEntry]:
        """All entries but the default one, in the order of insertion."""
        return list(self._table.entries())

    def add(
        self,
        match: Mapping[str, MatchValue],
        action: str | None = None,
        args: Args | None = None,
        *,
        priority: int = 0,
        member: int | None = None,
        group: int | None = None,
    ) -> TableEntry:
        """Add an entry; larger `priority` wins, in tables that have one.

        `member` or `group` of the action profile stand for the action, where the table has one. The entry that is
        returned counts its hits, where the table has a direct counter: `entry.counter_value.packets`.
        """
        return self._table.insert(self._match(match), self._action(action, args, member, group), priority)

    def modify(
        self,
        match: Mapping[str, MatchValue],
        action: str | None = None,
        args: Args | None = None,
        *,
        priority: int = 0,
        member: int | None = None,
        group: int | None = None,
    ) -> TableEntry:
        """Give the entry with this match and priority another action."""
        return self._table.modify(self._match(match), self._action(action, args, member, group), priority)

    def remove(self, match: Mapping[str, MatchValue], *, priority: int = 0) -> None:
        self._table.delete(self._match(match), priority)

    def set_default(self, action: str, args: Args | None = None) -> None:
        """What happens on a miss."""
        self._table.set_default(self._action(action, args, None, None))

    def _match(self, match: Mapping[str, MatchValue]) -> tuple[Match, ...]:
        keys = self._table.spec.keys
        names = [key.name for key in keys]
        given = {find_name(names, name, f"key of table {self._table.name}"): value for name, value in match.items()}
        return tuple(match_of(key, given.get(key.name)) for key in keys)

    def _action(self, action: str | None, args: Args | None, member: int | None, group: int | None) -> TableAction:
        if sum(each is not None for each in (action, member, group)) != 1:
            raise Invalid("an entry has an action, or a member, or a group")
        if member is not None:
            return MemberRef(member)
        if group is not None:
            return GroupRef(group)
        own = [self._engine.program.actions[ident] for ident in self._table.spec.actions]
        return _call(own, action or "", args or {}, f"action of table {self._table.name}")


class Profile:
    """An action profile or selector: members are actions, groups are sets of members of which a hash picks one."""

    def __init__(self, engine: Engine, profile: ActionProfile) -> None:
        self._engine = engine
        self._profile = profile

    def add_member(self, member: int, action: str, args: Args | None = None) -> None:
        actions = list(self._engine.program.actions.values())
        self._profile.insert_member(member, _call(actions, action, args or {}, "action"))

    def add_group(self, group: int, members: Iterable[int | tuple[int, int]]) -> None:
        """`members` are numbers of members, or (member, weight)."""
        pairs = [each if isinstance(each, tuple) else (each, 1) for each in members]
        self._profile.insert_group(group, [GroupMember(member, weight) for member, weight in pairs])


def _call(actions: Iterable[Action], name: str, args: Args, kind: str) -> ActionCall:
    by_name = {each.name: each for each in actions}
    action = by_name[find_name(by_name, name, kind)]
    params = [each.name for each in action.params]
    values = {
        find_name(params, key, f"parameter of {action.name}"): number_of(value, f"{action.name}.{key}")
        for key, value in args.items()
    }
    missing = [each for each in params if each not in values]
    if missing:
        raise Invalid(f"action {action.name} needs {', '.join(missing)}")
    return ActionCall(action.name, tuple(values[each] for each in params))


def _replicas(ports: Ports) -> tuple[Replica, ...]:
    return tuple(Replica(*each) if isinstance(each, tuple) else Replica(each, 0) for each in ports)


def _read(source: str | Path, beginning: str) -> str:
    """The text itself, told from a path by how it begins or by its lines, or the file's."""
    if isinstance(source, str) and (source.lstrip().startswith(beginning) or "\n" in source):
        return source
    try:
        return Path(source).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {source}: {getattr(error, 'strerror', None) or 'it is no text'}") from None
