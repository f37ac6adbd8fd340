"""What has to change for a group or a rule, in which order. Sans I/O: from the switch's state to stages of changes.

Installed in the order multicast groups, receivers, groups and members, rules; removed in reverse, so that no result is
sent to a multicast group that is not there (design, rule 12).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cais_tools.errors import Refused, UsageError
from cais_tools.links import HIGHEST_PORT
from cais_tools.session.cais import changes, output_sets
from cais_tools.session.cais.changes import Change, Stage
from cais_tools.session.cais.model import Group, Member, OutputSet, Rule, RuleSpec, State
from cais_tools.session.cais.slots import DEFAULT_SLOTS, allocate_slots
from cais_tools.session.cais.tables import group_entry, input_ports, member_entry, output_group, rule_entry
from cais_tools.wire.header import MAX_MEMBERS

__all__ = ["check_ports", "plan_group", "plan_group_removal", "plan_rule", "plan_rule_removal", "plan_rules"]


def check_ports(ports: Iterable[int], what: str) -> tuple[int, ...]:
    """The ports, each once, in the order given. Raises UsageError."""
    unique = tuple(dict.fromkeys(ports))
    if not unique:
        raise UsageError(f"no {what}", hint="give the switch's port numbers, for example 1,2,3,4")
    for port in unique:
        if port == 0:
            raise UsageError(f"port 0 among the {what}", hint="ports are the switch's own numbers, starting at 1")
        if not 0 < port <= HIGHEST_PORT:
            raise UsageError(f"port {port} among the {what} is not between 1 and {HIGHEST_PORT}")
    return unique


def plan_group(
    state: State, group_id: int, ports: Sequence[int], slots: int | None, epoch: int
) -> tuple[Group, list[Stage]]:
    """Create the group, or extend it by the ports that it does not have. `epoch` is for a new group."""
    if not 0 <= group_id <= 255:
        raise UsageError(f"group {group_id} is not between 0 and 255")
    ports = check_ports(ports, f"ports of group {group_id}")
    before = state.groups.get(group_id)
    if before is None:
        return _plan_creation(state, group_id, ports, slots, epoch)
    if slots is not None and slots != before.slots:
        raise Refused(
            f"group {group_id} has {before.slots} slots, not {slots}", hint="remove the group to change its slots"
        )
    return _plan_extension(state, before, [port for port in ports if port not in before.ports])


def _plan_creation(
    state: State, group_id: int, ports: Sequence[int], slots: int | None, epoch: int
) -> tuple[Group, list[Stage]]:
    _check_size(group_id, 0, len(ports))
    taken = ((group.slot_base, group.slots) for group in state.groups.values())
    wanted = DEFAULT_SLOTS if slots is None else slots
    base = allocate_slots(state.pool, taken, wanted)
    members = tuple(Member(rank, port) for rank, port in enumerate(ports))
    group = Group(group_id, members, base, wanted, epoch, sum(member.rank_mask for member in members))
    strays = [changes.delete(member_entry(group_id, each)) for each in state.strays.get(group_id, ())]
    inserts = [changes.insert(member_entry(group_id, each)) for each in members]
    return group, [strays, inserts, [changes.insert(group_entry(group))]]


def _plan_extension(state: State, before: Group, ports: Sequence[int]) -> tuple[Group, list[Stage]]:
    _check_size(before.group_id, len(before.members), len(ports))
    used = {member.rank for member in before.members}
    free = (rank for rank in range(MAX_MEMBERS) if rank not in used)
    added = [Member(rank, port) for rank, port in zip(free, ports, strict=False)]
    members = tuple(sorted((*before.members, *added), key=lambda member: member.rank))
    group = replace(before, members=members, participants=sum(member.rank_mask for member in members))
    if group == before:
        return group, []
    # Results must reach a new rank before it can take part, and it must be known before anybody waits for it.
    replicas = [
        changes.modify(output_group(replace(each, ports=each.ports | set(ports))), output_group(each))
        for each in state.sets_of(before.group_id)
        if not each.ports.issuperset(ports)
    ]
    inserts = [changes.insert(member_entry(before.group_id, each)) for each in added]
    return group, [replicas, inserts, [changes.modify(group_entry(group), group_entry(before))]]


def _check_size(group_id: int, have: int, more: int) -> None:
    if have + more > MAX_MEMBERS:
        raise Refused(
            f"group {group_id} full: {have} members and {more} more are over {MAX_MEMBERS}",
            hint="split the group: the switch marks contributions in a bitmap of 32 bits",
        )


def plan_group_removal(state: State, group_id: int) -> tuple[Group, list[Stage]]:
    """Remove a group with its rules."""
    group = state.groups.get(group_id)
    if group is None:
        known = ", ".join(map(str, state.groups)) or "none"
        raise Refused(f"there is no group {group_id}", hint=f"groups on the switch: {known}")
    rules = [rule for rule in state.rules if rule.group_id == group_id]
    kept = {rule.output_set for rule in state.rules if rule.group_id != group_id}
    sets = [each for each in state.sets_of(group_id) if each.set_id not in kept]
    return group, [
        [changes.delete(rule_entry(rule)) for rule in rules],
        [changes.delete(group_entry(group))],
        [changes.delete(member_entry(group_id, member)) for member in group.members],
        *output_sets.removal(sets),
        *output_sets.reclaim(state),
    ]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A rule with what it needs: `output_set` and the stages that make the group what it should be."""

    rule: Rule
    group: Group
    group_stages: list[Stage]
    output_set: OutputSet


def plan_rules(state: State, specs: Iterable[RuleSpec], epoch: int) -> tuple[list[tuple[Rule, Group]], list[Stage]]:
    """Add rules, and create or extend their groups as the rules' ports want it; as many stages as for one.

    A rule with the same match as another is refused. Each rule comes with its group as it is then.
    """
    reclaimed = output_sets.reclaim(state)
    multicast: list[Change] = []
    receivers: list[Change] = []
    groups: list[Stage] = []
    rules: list[Change] = []
    planned: list[tuple[Rule, Group]] = []
    for spec in specs:
        wanted = _plan_wanted(state, spec, epoch)
        _check_ambiguity(state, wanted.rule, None)
        if wanted.output_set.set_id not in state.output_sets:
            copies, payloads = output_sets.insertion(wanted.output_set)
            multicast.append(copies)
            receivers += payloads
        groups += wanted.group_stages
        rules.append(changes.insert(rule_entry(wanted.rule)))
        planned.append((wanted.rule, wanted.group))
        state = _with(state, wanted)
    return planned, [*reclaimed, multicast, receivers, *groups, rules]


def plan_rule(state: State, spec: RuleSpec, epoch: int) -> tuple[Rule, Group, list[Stage]]:
    """As `plan_rules` for one, but a rule with the same match is made to have these outputs."""
    existing = _find(state, spec)
    if existing is None:
        [(rule, group)], stages = plan_rules(state, [spec], epoch)
        return rule, group, stages
    wanted = _plan_wanted(state, spec, epoch, existing)
    rule, group = wanted.rule, wanted.group
    if (existing.priority, existing.output_set) == (rule.priority, rule.output_set):
        return rule, group, wanted.group_stages  # only the multicast group of a set may have been extended
    _check_ambiguity(state, rule, existing)
    stages: list[Stage] = output_sets.reclaim(state)
    if wanted.output_set.set_id not in state.output_sets:
        copies, payloads = output_sets.insertion(wanted.output_set)
        stages += [[copies], payloads]
    stages += wanted.group_stages
    if existing.priority == rule.priority:
        stages.append([changes.modify(rule_entry(rule), rule_entry(existing))])
    else:
        stages += [[changes.insert(rule_entry(rule))], [changes.delete(rule_entry(existing))]]
    if existing.output_set != rule.output_set:
        stages += _unused(state, existing)
    return rule, group, stages


def _find(state: State, spec: RuleSpec) -> Rule | None:
    return next((rule for rule in state.rules if rule.key == spec.key), None)


def _plan_wanted(state: State, spec: RuleSpec, epoch: int, replaced: Rule | None = None) -> _Wanted:
    inputs, outputs = check_ports(spec.inputs, "input ports"), check_ports(spec.outputs, "output ports")
    members = _members_wanted(state.groups.get(spec.group_id), replace(spec, inputs=inputs), outputs)
    existing = _find(state, spec)
    if existing is not None and existing is not replaced:
        raise Refused(
            f"this rule exists: {existing} (priority {existing.priority}, outputs {_list(existing.outputs)})",
            hint="delete it first to change it",
        )
    group, group_stages = plan_group(state, spec.group_id, members, spec.slots, epoch)
    output_set = output_sets.choose_set(state, group, outputs)
    rule = Rule(
        group_id=spec.group_id,
        op=spec.op,
        layer=spec.layer,
        chunk=spec.chunk,
        inputs=input_ports(spec.op, group.ports, outputs),
        outputs=tuple(sorted(outputs)),
        priority=replaced.priority if replaced and spec.priority is None else spec.effective_priority,
        output_set=output_set.set_id,
    )
    return _Wanted(rule, group, group_stages, output_set)


def _with(state: State, wanted: _Wanted) -> State:
    """The state when that is installed: what the next rule is planned on."""
    group_id, ports = wanted.group.group_id, frozenset(wanted.group.ports)
    sets = {each.set_id: each for each in (*state.sets_of(group_id), wanted.output_set)}
    return replace(
        state,
        groups={**state.groups, group_id: wanted.group},
        rules=(*state.rules, wanted.rule),
        output_sets={
            **state.output_sets,
            **{set_id: replace(each, ports=each.ports | ports) for set_id, each in sets.items()},
        },
    )


def _members_wanted(group: Group | None, spec: RuleSpec, outputs: Sequence[int]) -> tuple[int, ...]:
    """The ports that the group must have for this rule. Raises Refused where they contradict the group's."""
    if spec.has_owner:
        if group is None:
            return tuple(sorted({*spec.inputs, *outputs}))
        if spec.inputs[0] in group.ports:
            return group.ports
        raise Refused(
            f"input port {spec.inputs[0]} is no member of group {spec.group_id} (ports {_list(group.ports)})",
            hint="the owner of an all-gather or broadcast must be a member",
        )
    if group is not None and not set(spec.inputs) >= set(group.ports):
        raise Refused(
            f"input ports {_list(spec.inputs)} contradict group {spec.group_id}, which has ports {_list(group.ports)}",
            hint="give all its ports, and more to extend it; a slot is complete when every member has contributed",
        )
    return spec.inputs


def _check_ambiguity(state: State, rule: Rule, existing: Rule | None) -> None:
    for other in state.rules:
        if (
            other is not existing
            and (other.group_id, other.op, other.priority) == (rule.group_id, rule.op, rule.priority)
            and other.layer.overlaps(rule.layer)
            and other.chunk.overlaps(rule.chunk)
            and other.output_set != rule.output_set
        ):
            raise Refused(
                f"{rule} overlaps the {other}, which has the same priority {rule.priority} and other outputs",
                hint="give one of them another priority: the bigger one wins",
            )


def plan_rule_removal(state: State, rule: Rule) -> list[Stage]:
    """Remove a rule and the output set that only it uses. The group stays."""
    return [[changes.delete(rule_entry(rule))], *_unused(state, rule), *output_sets.reclaim(state)]


def _unused(state: State, rule: Rule) -> list[Stage]:
    """Remove the rule's output set, unless another rule uses it."""
    users = [other for other in state.rules if other.output_set == rule.output_set and other is not rule]
    if users or rule.output_set not in state.output_sets:
        return []
    return output_sets.removal([state.output_sets[rule.output_set]])


def _list(ports: Iterable[int]) -> str:
    return ",".join(map(str, ports))
