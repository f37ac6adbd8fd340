"""The wanted state as a file that says it again: TOML for people, JSON for programs. Sans I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cais_tools.session.cais.model import Span, op_label
from cais_tools.session.cais.wanted import Wanted, WantedGroup, WantedRule

__all__ = ["as_json", "as_toml", "merged_tables"]

Table = dict[str, Any]
Tables = dict[str, list[Table]]


def merged_tables(wanted: Mapping[str, Wanted]) -> Tables:
    """The `groups` and `rules` of a file for these devices: what all have once, what some have with `devices`."""
    groups = _merge({name: [_group(each) for each in some.groups.values()] for name, some in wanted.items()})
    rules = _merge({name: [_rule(each, some) for each in some.rules] for name, some in wanted.items()})
    return {"groups": groups, "rules": rules}


def _merge(tables: Mapping[str, list[Table]]) -> list[Table]:
    if len(tables) == 1:
        return next(iter(tables.values()))
    found: dict[str, Table] = {}
    owners: dict[str, list[str]] = {}
    for name, some in tables.items():
        for table in some:
            text = json.dumps(table)
            found[text] = table
            owners.setdefault(text, []).append(name)
    return [
        table if len(owners[text]) == len(tables) else {**table, "devices": owners[text]}
        for text, table in found.items()
    ]


def _group(group: WantedGroup) -> Table:
    table: Table = {"id": group.group_id, "ports": list(group.ports), "slots": group.slots}
    if group.ranks != tuple(range(len(group.ports))):
        table["ranks"] = list(group.ranks)
    return table


def _rule(rule: WantedRule, wanted: Wanted) -> Table:
    """What is as it would be without being said is left out."""
    members = wanted.groups[rule.group_id].ports
    table: Table = {
        "group": rule.group_id,
        "op": op_label(rule.op),
        "layer": _span(rule.layer),
        "chunk": _span(rule.chunk),
    }
    if set(rule.outputs) != set(members):
        table["outputs"] = list(rule.outputs)
    if rule.inputs != members:
        table["inputs"] = list(rule.inputs)
    if not rule.has_default_priority:
        table["priority"] = rule.priority
    return table


def _span(span: Span) -> int | str:
    return span.low if span.low == span.high else str(span)


def as_json(tables: Mapping[str, Sequence[Table]], schema: str) -> str:
    """One table a line, so that files can be compared."""
    parts = [f'"schema": {json.dumps(schema)}']
    for name, some in tables.items():
        rows = ",\n    ".join(json.dumps(table) for table in some)
        parts.append(f'"{name}": [\n    {rows}\n  ]' if some else f'"{name}": []')
    return "{\n  " + ",\n  ".join(parts) + "\n}"


def as_toml(tables: Mapping[str, Sequence[Table]], comment: str) -> str:
    blocks = [f"# {comment}"]
    if not any(tables.values()):
        blocks.append("\n".join(f"{name} = []" for name in tables))
    for name, some in tables.items():
        blocks += ["\n".join([f"[[{name}]]", *_lines(table)]) for table in some]
    return "\n\n".join(blocks)


def _lines(table: Table) -> Iterable[str]:
    # JSON's numbers, strings and lists of them are TOML's as well.
    return (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())
