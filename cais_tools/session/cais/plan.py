"""What has to change for a group or a rule, in which order. Sans I/O: from the switch's state to stages of changes.

Installed in the order multicast groups, receivers, groups and members, rules; removed in reverse, so that no result is
sent to a multicast group that is not there (design, rule 12).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cais_tools.errors import Refused, UsageError
from cais_tools.session.cais import changes
from cais_tools.session.cais.changes import Stage
from cais_tools.session.cais.model import Group, Member, OutputSet, Rule, RuleSpec, State
from cais_tools.session.cais.slots import DEFAULT_SLOTS, allocate_slots
from cais_tools.session.cais.tables import (
    FIRST_OUTPUT_SET,
    LAST_OUTPUT_SET,
    group_entry,
    input_ports,
    member_entry,
    output_group,
    receiver_entry,
    rule_entry,
)
from cais_tools.wire.header import MAX_MEMBERS

__all__ = ["check_ports", "plan_group", "plan_group_removal", "plan_rule", "plan_rule_removal"]

_LAST_PORT = 510  # nine bits, and 511 is the port that drops


def check_ports(ports: Iterable[int], what: str) -> tuple[int, ...]:
    """The ports, each once, in the order given. Raises UsageError."""
    unique = tuple(dict.fromkeys(ports))
    if not unique:
        raise UsageError(f"no {what}", hint="give the switch's port numbers, for example 1,2,3,4")
    for port in unique:
        if port == 0:
            raise UsageError(f"port 0 among the {what}", hint="ports are the switch's own numbers, starting at 1")
        if not 0 < port <= _LAST_PORT:
            raise UsageError(f"port {port} among the {what} is not between 1 and {_LAST_PORT}")
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
        *_set_removal(sets),
    ]


def _set_removal(sets: Iterable[OutputSet]) -> list[Stage]:
    sets = list(sets)
    return [
        [changes.delete(receiver_entry(each.set_id, port)) for each in sets for port in sorted(each.receivers)],
        [changes.delete(output_group(each)) for each in sets if each.ports],
    ]


def plan_rule(state: State, spec: RuleSpec, epoch: int, *, replace_existing: bool) -> tuple[Rule, Group, list[Stage]]:
    """Add a rule, and create or extend its group as the rule's ports want it.

    A rule with the same match is refused, or with `replace_existing` made to have these outputs.
    """
    inputs, outputs = check_ports(spec.inputs, "input ports"), check_ports(spec.outputs, "output ports")
    members = _members_wanted(state.groups.get(spec.group_id), replace(spec, inputs=inputs), outputs)
    existing = next((rule for rule in state.rules if rule.key == spec.key), None)
    if existing is not None and not replace_existing:
        raise Refused(
            f"this rule exists: {existing} (priority {existing.priority}, outputs {_list(existing.outputs)})",
            hint="delete it first to change it",
        )
    group, group_stages = plan_group(state, spec.group_id, members, spec.slots, epoch)
    output_set, set_stages = _plan_output_set(state, group, outputs)
    rule = Rule(
        group_id=spec.group_id,
        op=spec.op,
        layer=spec.layer,
        chunk=spec.chunk,
        inputs=input_ports(spec.op, group.ports, outputs),
        outputs=tuple(sorted(outputs)),
        priority=existing.priority if existing and spec.priority is None else spec.effective_priority,
        output_set=output_set.set_id,
    )
    if existing is not None and existing.priority == rule.priority:
        # Only the multicast group of a set may have been extended.
        if existing.output_set == rule.output_set:
            return rule, group, group_stages
        swap = [changes.modify(rule_entry(rule), rule_entry(existing))]
        return rule, group, [*set_stages, *group_stages, swap, *_unused(state, existing)]
    _check_ambiguity(state, rule, existing)
    stages = [*set_stages, *group_stages, [changes.insert(rule_entry(rule))]]
    if existing is not None:
        stages.append([changes.delete(rule_entry(existing))])
        if existing.output_set != rule.output_set:
            stages += _unused(state, existing)
    return rule, group, stages


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


def _plan_output_set(state: State, group: Group, outputs: Sequence[int]) -> tuple[OutputSet, list[Stage]]:
    """A set with these outputs that the group has already, or a new one."""
    for each in state.sets_of(group.group_id):
        if each.receivers == frozenset(outputs):
            return each, []
    set_id = next(
        (number for number in range(FIRST_OUTPUT_SET, LAST_OUTPUT_SET + 1) if number not in state.output_sets), None
    )
    if set_id is None:
        raise Refused(
            f"all {LAST_OUTPUT_SET - FIRST_OUTPUT_SET + 1} output sets are in use",
            hint="rules of a group with the same output ports share one",
        )
    output_set = OutputSet(set_id, frozenset({*group.ports, *outputs}), frozenset(outputs))
    return output_set, [
        [changes.insert(output_group(output_set))],
        [changes.insert(receiver_entry(set_id, port)) for port in sorted(outputs)],
    ]


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
    return [[changes.delete(rule_entry(rule))], *_unused(state, rule)]


def _unused(state: State, rule: Rule) -> list[Stage]:
    """Remove the rule's output set, unless another rule uses it."""
    users = [other for other in state.rules if other.output_set == rule.output_set and other is not rule]
    if users or rule.output_set not in state.output_sets:
        return []
    return _set_removal([state.output_sets[rule.output_set]])


def _list(ports: Iterable[int]) -> str:
    return ",".join(map(str, ports))
