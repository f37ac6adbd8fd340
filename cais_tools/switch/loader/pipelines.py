"""Pipelines of a bmv2 JSON: tables, conditions, action calls."""

from __future__ import annotations

from collections.abc import Mapping

from cais_tools.switch.expressions import Expr, IsValid, Unary, UnaryOp
from cais_tools.switch.loader.arrays import read_calculation
from cais_tools.switch.loader.expressions import ExpressionReader, hex_value
from cais_tools.switch.loader.names import VALID, Json, Names
from cais_tools.switch.matches import Exact, Lpm, Match, MatchKind, Range, Ternary
from cais_tools.switch.program import (
    Action,
    ActionCallNode,
    ActionProfileSpec,
    ConditionNode,
    ConstEntry,
    DefaultEntry,
    KeyField,
    Node,
    Pipeline,
    TableNode,
)
from cais_tools.switch.refusals import ProgramError

__all__ = ["read_pipeline", "read_profiles"]


def read_profiles(pipelines: list[Json], names: Names) -> dict[str, ActionProfileSpec]:
    """The action profiles of all pipelines."""
    profiles: dict[str, ActionProfileSpec] = {}
    for pipeline in pipelines:
        for each in pipeline.get("action_profiles", []):
            name = each["name"]
            selector = each.get("selector")
            calculation = (
                None
                if selector is None
                else read_calculation(f"{name} selector", selector["algo"], selector["input"], names)
            )
            profiles[name] = ActionProfileSpec(name, int(each["max_size"]), calculation)
    return profiles


def read_pipeline(json: Json, names: Names, actions: Mapping[int, Action]) -> Pipeline:
    nodes: dict[str, Node] = {}
    tables = _TableReader(names, actions)
    for each in json["tables"]:
        nodes[each["name"]] = tables.read(each)
    for each in json.get("conditionals", []):
        condition = ExpressionReader(names).read(each["expression"])
        nodes[each["name"]] = ConditionNode(each["name"], condition, each.get("true_next"), each.get("false_next"))
    for each in json.get("action_calls", []):
        action = actions[int(each["action_id"])]
        if action.params:
            raise ProgramError(f"the action call {each['name']} of {action.name} has no arguments")
        nodes[each["name"]] = ActionCallNode(each["name"], action.ident, each.get("next_node"))
    pipeline = Pipeline(json["name"], json["init_table"], nodes)
    _check_targets(pipeline)
    return pipeline


def _check_targets(pipeline: Pipeline) -> None:
    targets: set[str | None] = {pipeline.start}
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            targets |= {*node.next_by_action.values(), node.base_next, node.next_hit, node.next_miss}
        elif isinstance(node, ConditionNode):
            targets |= {node.next_true, node.next_false}
        else:
            targets.add(node.next)
    for target in targets - {None}:
        if target not in pipeline.nodes:
            raise ProgramError(f"pipeline {pipeline.name} goes to {target}, which it does not have")


class _TableReader:
    def __init__(self, names: Names, actions: Mapping[int, Action]) -> None:
        self._names = names
        self._actions = actions

    def read(self, json: Json) -> TableNode:
        name = json["name"]
        kind = json["type"]
        if kind not in ("simple", "indirect", "indirect_ws"):
            raise ProgramError(f"table {name} is of type {kind}, which is not supported")
        keys = tuple(self._key(name, each) for each in json["key"])
        following = json["next_tables"]
        by_hit = "__HIT__" in following or "__MISS__" in following
        return TableNode(
            name=name,
            ident=int(json["id"]),
            keys=keys,
            actions=self._action_ids(json),
            max_size=int(json.get("max_size", 16384)),
            next_by_action={} if by_hit else dict(following),
            base_next=json.get("base_default_next"),
            has_hit_miss=by_hit,
            next_hit=following.get("__HIT__"),
            next_miss=following.get("__MISS__"),
            default=self._default(json),
            entries=self._entries(json, keys),
            with_counters=bool(json.get("with_counters")),
            support_timeout=bool(json.get("support_timeout")),
            direct_meter=str(json["direct_meters"]) if json.get("direct_meters") else None,
            profile=None if kind == "simple" else str(json["action_profile"]),
        )

    def _action_ids(self, json: Json) -> tuple[int, ...]:
        ids = tuple(int(each) for each in json["action_ids"])
        for ident in ids:
            if ident not in self._actions:
                raise ProgramError(f"table {json['name']} refers to action {ident}, which does not exist")
        return ids

    def _key(self, table: str, json: Json) -> KeyField:
        text, target = json["match_type"], json["target"]
        try:
            kind = MatchKind(text)
        except ValueError:
            raise ProgramError(f"table {table} has a {text} key, which is not supported") from None
        mask = None if json.get("mask") is None else hex_value(json["mask"])
        if kind is MatchKind.VALID:
            header = target if isinstance(target, str) else target[0]
            valid: Expr = Unary(UnaryOp.BOOL_TO_DATA, IsValid(self._names.header(header)))
            return KeyField(json.get("name") or header, kind, 1, valid)
        source = ExpressionReader(self._names).field(*target)
        width = 1 if target[1] == VALID else self._names.field(*target).width
        return KeyField(json.get("name") or ".".join(target), kind, width, source, mask)

    def _default(self, json: Json) -> DefaultEntry | None:
        entry = json.get("default_entry")
        if entry is None:
            return None
        return DefaultEntry(
            self._actions[int(entry["action_id"])].name,
            tuple(hex_value(each) for each in entry["action_data"]),
            action_const=bool(entry.get("action_const")),
            entry_const=bool(entry.get("action_entry_const")),
        )

    def _entries(self, json: Json, keys: tuple[KeyField, ...]) -> tuple[ConstEntry, ...]:
        entries: list[Json] = json.get("entries") or []
        lowest = max((int(each["priority"]) for each in entries), default=0)
        loose = any(key.kind not in (MatchKind.EXACT, MatchKind.VALID, MatchKind.LPM) for key in keys)
        return tuple(
            ConstEntry(
                tuple(_match(key, part) for key, part in zip(keys, each["match_key"], strict=True)),
                # In the JSON the smallest number wins.
                lowest - int(each["priority"]) + 1 if loose else 0,
                self._actions[int(each["action_entry"]["action_id"])].name,
                tuple(hex_value(value) for value in each["action_entry"]["action_data"]),
            )
            for each in entries
        )


def _match(key: KeyField, json: Json) -> Match:
    """A key of an entry, as bmv2's JSON writes it."""
    kind = json["match_type"]
    full = (1 << key.width) - 1
    if kind == "range":
        return Range(hex_value(json["start"]), hex_value(json["end"]))
    if kind == "valid":
        return Exact(int(bool(json["key"])))
    value = hex_value(json["key"])
    if kind == "lpm":
        return Lpm(value, int(json["prefix_length"]))
    if kind in ("ternary", "optional"):
        mask = hex_value(json["mask"])
        return Ternary(value & full, mask & full)
    return Exact(value)
