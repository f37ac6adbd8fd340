"""How groups, rules and differences are written: lines for people, dictionaries for JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cais_tools.cli.output import coloured

if TYPE_CHECKING:
    from cais_tools.config import Device
    from cais_tools.session.cais import Group, Rule
    from cais_tools.session.cais.difference import Difference, Item
    from cais_tools.session.cais.findings import Finding

__all__ = [
    "change_as_dict",
    "difference_lines",
    "finding_as_dict",
    "group_as_dict",
    "item_line",
    "ports_text",
    "rule_as_dict",
    "rule_row",
    "summary",
    "summary_as_dict",
]

_COLOURS = {"+": "green", "~": "yellow", "-": "red"}
_ARROW = " -> "


def ports_text(ports: Iterable[int], device: Device | None = None) -> str:
    """Ports as users call them: by the names that the file has for the ports of `device`."""
    return ",".join(map(device.port_name if device else str, ports)) or "-"


def rule_as_dict(rule: Rule, group: Group | None) -> dict[str, Any]:
    from cais_tools.session.cais import op_label

    return {
        "group_id": rule.group_id,
        "op_type": op_label(rule.op),
        "layer_first": rule.layer.low,
        "layer_last": rule.layer.high,
        "chunk_first": rule.chunk.low,
        "chunk_last": rule.chunk.high,
        "priority": rule.priority,
        "input_ports": list(rule.inputs),
        "output_ports": list(rule.outputs),
        "slot_first": group and group.slot_base,
        "slots": group and group.slots,
        "packets": rule.packets,
        "bytes": rule.bytes,
    }


def group_as_dict(group: Group) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "ports": list(group.ports),
        "ranks": [member.rank for member in group.members],
        "slot_first": group.slot_base,
        "slots": group.slots,
    }


def rule_row(rule: Rule, group: Group | None, device: Device) -> list[str]:
    from cais_tools.session.cais import op_label

    slots = f"{group.slot_base}-{group.slot_base + group.slots - 1}" if group else "-"
    return [
        str(rule.group_id),
        op_label(rule.op),
        str(rule.layer),
        str(rule.chunk),
        str(rule.priority),
        ports_text(rule.inputs, device),
        ports_text(rule.outputs, device),
        slots,
        str(rule.packets),
        str(rule.bytes),
    ]


# -- differences


def item_line(item: Item) -> str:
    """`+ group 0: ports 1,2,3,4, 256 slots`; coloured where stdout is a terminal."""
    mark = item.kind.value
    return coloured(f"{mark} {_item_text(item)}", _COLOURS[mark], sys.stdout)


def difference_lines(difference: Difference) -> list[str]:
    return [item_line(item) for item in difference.items]


def _item_text(item: Item) -> str:
    from cais_tools.session.cais import Group, Rule

    match item.before, item.after:
        case Group() as before, Group() as after:
            return f"group {after.group_id}: {'; '.join(_group_changes(before, after))}"
        case Rule() as before, Rule() as after:
            return f"{after}: {'; '.join(_rule_changes(before, after))}"
        case _:
            thing = item.thing
    if isinstance(thing, Group):
        return f"group {thing.group_id}: {_ranks(thing)}, {thing.slots} slots"
    if isinstance(thing, Rule):
        return f"{thing}: outputs {ports_text(thing.outputs)}, priority {thing.priority}"
    return str(thing)


def _ranks(group: Group) -> str:
    ranks = [member.rank for member in group.members]
    named = "" if ranks == list(range(len(ranks))) else f" as ranks {ports_text(ranks)}"
    return f"ports {ports_text(group.ports)}{named}"


def _group_changes(before: Group, after: Group) -> list[str]:
    changes: list[str] = []
    if before.members != after.members:
        changes.append(f"{_ranks(before)}{_ARROW}{_ranks(after).removeprefix('ports ')}")
    if before.slots != after.slots:
        changes.append(f"slots {before.slots}{_ARROW}{after.slots}")
    if before.participants != after.participants and before.members == after.members:
        changes.append("waits for ranks that it does not have, or not for all")
    if before.epoch != after.epoch:
        changes.append("begins anew, so a job on it must, too")
    return changes


def _rule_changes(before: Rule, after: Rule) -> list[str]:
    changes: list[str] = []
    if before.outputs != after.outputs:
        changes.append(f"outputs {ports_text(before.outputs)}{_ARROW}{ports_text(after.outputs)}")
    if before.priority != after.priority:
        changes.append(f"priority {before.priority}{_ARROW}{after.priority}")
    return changes


def summary(difference: Difference) -> str:
    from cais_tools.session.cais.difference import Kind

    return (
        f"{difference.count(Kind.ADD)} to add, {difference.count(Kind.CHANGE)} to change, "
        f"{difference.count(Kind.REMOVE)} to remove"
    )


def summary_as_dict(difference: Difference) -> dict[str, int]:
    from cais_tools.session.cais.difference import Kind

    return {
        "add": difference.count(Kind.ADD),
        "change": difference.count(Kind.CHANGE),
        "remove": difference.count(Kind.REMOVE),
    }


def change_as_dict(item: Item) -> dict[str, Any]:
    from cais_tools.session.cais import Group, Rule

    kinds = {"+": "add", "~": "change", "-": "remove"}
    about = "group" if isinstance(item.thing, Group) else "rule" if isinstance(item.thing, Rule) else "leftover"
    return {
        "change": kinds[item.kind.value],
        "what": about,
        "before": _thing_as_dict(item.before),
        "after": _thing_as_dict(item.after),
    }


def _thing_as_dict(thing: object) -> dict[str, Any] | None:
    from cais_tools.session.cais import Group, Rule

    if thing is None:
        return None
    if isinstance(thing, Group):
        return group_as_dict(thing)
    if isinstance(thing, Rule):
        document = rule_as_dict(thing, None)
        return {key: document[key] for key in document.keys() - {"slot_first", "slots", "packets", "bytes"}}
    return {"text": str(thing)}


def finding_as_dict(finding: Finding, devices: Sequence[str]) -> dict[str, Any]:
    return {
        "severity": finding.severity.value,
        "file": finding.file,
        "line": finding.line,
        "message": finding.message,
        "hint": finding.hint,
        "devices": list(devices),
    }
