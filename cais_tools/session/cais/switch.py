"""Groups, rules and jobs on a switch that runs the CAIS program. The switch's tables are the only database."""

from __future__ import annotations

import enum
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cais_tools.errors import Refused
from cais_tools.p4rt.p4info import UnknownName
from cais_tools.session.cais import changes, plan
from cais_tools.session.cais.collect import collect_snapshot
from cais_tools.session.cais.model import Group, Rule, RuleSpec, Span, State
from cais_tools.session.cais.open_slots import OpenSlot, read_open_slots
from cais_tools.session.cais.tables import FLOOD_GROUP, decode_state, group_entry, mac_entry
from cais_tools.session.cais.telemetry import Snapshot, outcome_cells
from cais_tools.session.entities import MulticastGroup
from cais_tools.session.readwrite import AppliedKind
from cais_tools.session.session import SwitchSession
from cais_tools.wire.job import Job

__all__ = ["CaisSwitch", "ChangeKind", "GroupChange", "RuleChange"]

_TABLES = ("groups", "members", "rules", "receivers")
_LANE_REGISTER = "slot_lane_"
_EPOCHS = 1 << 32


class ChangeKind(enum.Enum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class GroupChange:
    """`group` as it is now; `added` are the ports that it did not have before."""

    group: Group
    kind: ChangeKind
    added: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RuleChange:
    rule: Rule
    kind: ChangeKind
    group: GroupChange


def random_epoch() -> int:
    """An epoch for a new group: its slots may still hold results of any earlier one, and nobody remembers which.

    A clock would repeat epochs: of a group that was created anew within a second, or by hosts that disagree about
    the time, or where jobs began faster than seconds pass. The switch would answer with the old results, whose tags
    are right.
    """
    return secrets.randbits(32) or 1


class CaisSwitch:
    """A session's switch, seen as groups and rules.

    Raises Refused where another program is loaded. `new_epoch` gives the epoch of a new group, 1 to 2^32 - 1.
    """

    def __init__(self, session: SwitchSession, *, new_epoch: Callable[[], int] = random_epoch) -> None:
        self.session = session
        self._new_epoch = new_epoch
        try:
            for table in _TABLES:
                session.index.table(table)
            self._pool = int(session.index.register("slot_state").size)
        except UnknownName as error:
            name = session.index.message.pkg_info.name
            raise Refused(
                f"{session.target} runs another program{f' ({name})' if name else ''}, not CAIS: {error}",
                hint=f"load it: cais load --device {session.target}",
            ) from None

    @property
    def lanes(self) -> int:
        """32-bit words that the program adds up in a packet; a parameter of its build."""
        registers = self.session.index.message.registers
        return sum(register.preamble.alias.startswith(_LANE_REGISTER) for register in registers)

    # -- reading

    def state(self, *, hits: bool = False) -> State:
        """What the tables say now; with `hits`, rules carry their counters.

        Raises SwitchRestarted: empty tables of another load do not pass for a switch without rules.
        """
        state = self._read_state(hits=hits)
        self.session.check_pipeline()
        return state

    def _read_state(self, *, hits: bool) -> State:
        entries = self.session.read_tables(_TABLES, counters=["rules"] if hits else [])
        return decode_state(entries, self.session.read_multicast_groups(), self._pool)

    def snapshot(
        self,
        *,
        groups: Iterable[int] | None = None,
        ports: Iterable[int] | None = None,
        rules: bool = True,
        since: Snapshot | None = None,
    ) -> Snapshot:
        """All telemetry; for `groups` and `ports` only where given, and without rules and their hits where `rules` is
        false: there may be ten thousand. With `since`, for the groups and ports that it has or that the tables name: a
        sixth of the work, but who is in no table and counts for the first time is not seen.
        """
        state = self._read_state(hits=True) if rules else self._read_groups()
        if since is not None:
            groups = {*since.groups, *state.groups}
            ports = {*since.ports, *(port for group in state.groups.values() for port in group.ports)}
        snapshot = collect_snapshot(self.session, state, groups, ports)
        self.session.check_pipeline()
        return snapshot

    def _read_groups(self) -> State:
        return decode_state(self.session.read_tables(("groups", "members")), (), self._pool)

    def open_slots(self, groups: Iterable[int] | None = None) -> list[OpenSlot]:
        """The slots that hold an incomplete sum, the oldest first; of these groups, or of all.

        Raises Refused where there is no such group, and where the switch shows no registers.
        """
        found = read_open_slots(self.session, self._read_groups(), groups)
        self.session.check_pipeline()
        return found

    # -- groups

    def ensure_group(self, group_id: int, ports: Sequence[int], slots: int | None = None) -> GroupChange:
        """Create the group, or extend it by the ports that it lacks; a group that has them all keeps its epoch.

        `slots` is a power of two, 256 by default. Raises Refused: group full (32 members), slots used up, other
        number of slots than it has.
        """
        with self.session.changing:
            state = self.state()
            group, stages = plan.plan_group(state, group_id, ports, slots, self._new_epoch())
            changes.perform(self.session, stages, f"group {group_id}")
        return _group_change(state, group)

    def remove_group(self, group_id: int) -> Group:
        """Remove a group with its rules and counters; its slots are free again. Raises Refused: no such group."""
        with self.session.changing:
            group, stages = plan.plan_group_removal(self.state(), group_id)
            changes.perform(self.session, stages, f"remove group {group_id}")
            self.session.clear_counter("group_outcomes", outcome_cells(group_id))
        return group

    def start_job(self, group_id: int) -> Job:
        """Begin a new job on the group: whatever an earlier one left in its slots counts as nothing from now on."""
        with self.session.changing:
            group = self._read_groups().groups.get(group_id)  # not the rules: there may be ten thousand
            self.session.check_pipeline()
            if group is None:
                raise Refused(f"there is no group {group_id}", hint="add a rule for it first")
            # Epoch 0 is what a slot holds that nobody has used.
            renewed = replace(group, epoch=(group.epoch + 1) % _EPOCHS or 1)
            stage = [changes.modify(group_entry(renewed), group_entry(group))]
            changes.perform(self.session, [stage], f"new job on group {group_id}")
        return Job.of_epoch(renewed.epoch)

    # -- rules

    def rules(self) -> tuple[Rule, ...]:
        """All rules with their hits, in the order in which they are tried."""
        return self.state(hits=True).rules

    def add_rule(self, spec: RuleSpec) -> RuleChange:
        """Add a rule and create or extend its group. Raises Refused: the rule exists, its input ports contradict the
        group's, a port that the switch does not have, group full, slots used up.
        """
        return self.add_rules([spec])[0]

    def add_rules(self, specs: Sequence[RuleSpec]) -> list[RuleChange]:
        """Add several rules at once: all of them or, where one is refused, none. Raises as `add_rule`.

        Each change tells what became of the rule's group since before the first of them.
        """
        with self.session.changing:
            state = self.state()
            planned, stages = plan.plan_rules(state, specs, self._new_epoch())
            changes.perform(self.session, stages, str(specs[0]) if len(specs) == 1 else f"{len(specs)} rules")
        return [RuleChange(rule, ChangeKind.CREATED, _group_change(state, group)) for rule, group in planned]

    def ensure_rule(self, spec: RuleSpec) -> RuleChange:
        """As `add_rule`, but a rule with this match is left alone or given the outputs of `spec`."""
        with self.session.changing:
            state = self.state()
            rule, group, stages = plan.plan_rule(state, spec, self._new_epoch())
            changes.perform(self.session, stages, str(spec))
        before = next((each for each in state.rules if each.key == spec.key), None)
        if before is None:
            kind = ChangeKind.CREATED
        elif (before.output_set, before.priority) == (rule.output_set, rule.priority):
            kind = ChangeKind.UNCHANGED
        else:
            kind = ChangeKind.CHANGED
        return RuleChange(rule, kind, _group_change(state, group))

    def delete_rule(self, group_id: int, op: int, layer: Span, chunk: Span, *, keep_group: bool = False) -> Rule:
        """Delete one rule; with a group's last rule the group goes too, and its slots are free (unless `keep_group`).

        Raises Refused where there is no such rule, naming those of the group.
        """
        with self.session.changing:
            state = self.state(hits=True)
            key = (group_id, op, layer, chunk)
            mine = [rule for rule in state.rules if rule.group_id == group_id]
            rule = next((each for each in mine if each.key == key), None)
            if rule is None:
                wanted = RuleSpec(group_id, op, layer, chunk, (), ())
                have = "; ".join(f"layer {each.layer}, chunk {each.chunk}" for each in mine if each.op == op)
                raise Refused(f"there is no {wanted}", hint=f"there are: {have}" if have else "see dump-rules")
            if mine == [rule] and group_id in state.groups and not keep_group:
                self.remove_group(group_id)
            else:
                changes.perform(self.session, plan.plan_rule_removal(state, rule), f"delete {rule}")
            return rule

    # -- other traffic

    def set_flood_ports(self, ports: Iterable[int]) -> AppliedKind:
        """Flood frames with an unknown destination to these ports (never back to where they came from)."""
        flood = MulticastGroup.of_ports(FLOOD_GROUP, plan.check_ports(ports, "flood ports"))
        return self.session.apply([flood])[0].kind

    def add_mac(self, address: str | int, port: int) -> AppliedKind:
        """Forward frames to this MAC address to one port."""
        plan.check_ports([port], "ports")
        return self.session.apply([mac_entry(address, port)])[0].kind


def _group_change(state: State, group: Group) -> GroupChange:
    before = state.groups.get(group.group_id)
    if before is None:
        return GroupChange(group, ChangeKind.CREATED, group.ports)
    added = tuple(port for port in group.ports if port not in before.ports)
    return GroupChange(group, ChangeKind.CHANGED if group != before else ChangeKind.UNCHANGED, added)
