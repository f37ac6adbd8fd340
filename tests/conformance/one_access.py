"""Rule 15: how often a packet can touch each register, read off the compiled program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

Access = tuple[str, str]
"""Register and primitive: `register_read` or `register_write`."""


def accesses(program: dict[str, Any], pipeline: str) -> Counter[Access]:
    """Return the largest number of accesses of each kind on any path of a packet through `pipeline`."""
    graph = next(part for part in program["pipelines"] if part["name"] == pipeline)
    actions = {action["id"]: action for action in program["actions"]}
    tables = {table["name"]: table for table in graph["tables"]}
    conditionals = {conditional["name"]: conditional for conditional in graph["conditionals"]}

    @cache
    def from_node(name: str | None) -> Counter[Access]:
        if name is None:
            return Counter()
        if name in conditionals:
            node = conditionals[name]
            return from_node(node["true_next"]) | from_node(node["false_next"])
        table = tables[name]
        most: Counter[Access] = Counter()
        for action_id, action_name in zip(table["action_ids"], table["actions"], strict=True):
            for successor in _successors(table, action_name):
                most |= Counter(_in_action(actions[action_id])) + from_node(successor)
        return most

    return from_node(graph["init_table"])


def _successors(table: dict[str, Any], action: str) -> Iterator[str | None]:
    following = table["next_tables"]
    yield from (following[key] for key in (action, "__HIT__", "__MISS__") if key in following)


def _in_action(action: dict[str, Any]) -> Iterator[Access]:
    for primitive in action["primitives"]:
        if primitive["op"].startswith("register_"):
            register = next(item for item in primitive["parameters"] if item["type"] == "register_array")
            yield register["value"], primitive["op"]


def check(program: dict[str, Any]) -> None:
    """AssertionError where a packet can touch a register twice, or in egress."""
    ingress = accesses(program, "ingress")
    assert ingress, "the program keeps no state at all"
    twice = {register for (register, _), count in ingress.items() if count > 1}
    assert not twice, f"accessed more than once by a packet: {sorted(twice)}"
    assert not accesses(program, "egress"), "slot state in egress"
