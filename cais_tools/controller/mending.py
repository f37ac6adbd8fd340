"""Makes a switch have the groups that it should have, with all their rules, and leaves those of others alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from cais_tools.controller.record import GroupRecord
from cais_tools.controller.rules import rules_for
from cais_tools.errors import CaisError, Refused
from cais_tools.session.cais import (
    CaisSwitch,
    RuleSpec,
    State,
    Wanted,
    WantedGroup,
    WantedRule,
    apply_wanted,
)
from cais_tools.session.cais.wanted import wanted_of

__all__ = ["install", "mend"]


def mend(switch: CaisSwitch, groups: Mapping[int, GroupRecord], gone: Collection[int]) -> tuple[list[GroupRecord], int]:
    """Write what is missing of `groups`, and remove the groups `gone`.

    Returns those that have another epoch now, with it, and how many entries were written. Raises what the session
    raises; Refused where there is no room any more.
    """
    with switch.session.changing:
        applied = apply_wanted(switch, _wanted(switch.state(), groups, gone))
        if not applied.complete:
            raise applied.error or CaisError(f"{switch.session.target} was not mended to the end")
        after = switch.state().groups
    others = [
        replace(group, epoch=after[key].epoch) for key, group in groups.items() if after[key].epoch != group.epoch
    ]
    return others, applied.done


def install(switch: CaisSwitch, group: GroupRecord, *, is_ours: bool) -> GroupRecord:
    """Put the group there with its rules, in place of what there is of it where that `is_ours`; with its new epoch.

    Raises what the session raises; Refused where somebody else has a group of this number, or there is no room.
    """
    with switch.session.changing:
        if group.group_id in switch.state().groups:
            if not is_ours:
                raise Refused(
                    f"group {group.group_id} is in use on {group.device}, and not by this controller",
                    hint="take another group_id, or remove it: cais delete-rule --all --group-id "
                    f"{group.group_id} --device {group.device}",
                )
            switch.remove_group(group.group_id)
        made = switch.ensure_group(group.group_id, group.ports, group.slots)
        try:
            switch.add_rules(rules_for(group.group_id, group.ports))
        except CaisError:
            switch.remove_group(group.group_id)
            raise
    return replace(group, epoch=made.group.epoch, slots=made.group.slots)


def _wanted(state: State, groups: Mapping[int, GroupRecord], gone: Collection[int]) -> Wanted:
    """Our groups as they should be, those of others as they are."""
    have = wanted_of(state)
    ours = groups.keys() | set(gone)
    others = {key: group for key, group in have.groups.items() if key not in ours}
    rules = [rule for rule in have.rules if rule.group_id not in ours]
    for group in groups.values():
        rules += [_rule(spec) for spec in rules_for(group.group_id, group.ports)]
    return Wanted(others | {key: _group(group) for key, group in groups.items()}, tuple(rules))


def _group(group: GroupRecord) -> WantedGroup:
    return WantedGroup(group.group_id, group.ports, group.slots, tuple(range(len(group.ports))))


def _rule(spec: RuleSpec) -> WantedRule:
    priority = spec.effective_priority
    return WantedRule(spec.group_id, spec.op, spec.layer, spec.chunk, spec.inputs, spec.outputs, priority)
