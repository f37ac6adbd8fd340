"""The CAIS tables' entries to groups and rules, and back. Sans I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cais_tools.session.cais.model import Group, Member, OutputSet, Rule, Span, State
from cais_tools.session.entities import MulticastGroup, TableEntry
from cais_tools.session.values import Range
from cais_tools.wire.header import Op

__all__ = [
    "FIRST_OUTPUT_SET",
    "FLOOD_GROUP",
    "LAST_OUTPUT_SET",
    "decode_state",
    "group_entry",
    "mac_entry",
    "member_entry",
    "output_group",
    "receiver_entry",
    "rule_entry",
]

FLOOD_GROUP = 1
FIRST_OUTPUT_SET = 16
LAST_OUTPUT_SET = 4095


def group_entry(group: Group) -> TableEntry:
    params = {
        "slot_base": group.slot_base,
        "slot_mask": group.slots - 1,
        "participants": group.participants,
        "epoch": group.epoch,
    }
    return TableEntry("groups", {"group_id": group.group_id}, "set_group", params)


def member_entry(group_id: int, member: Member) -> TableEntry:
    match = {"group_id": group_id, "ingress_port": member.port}
    return TableEntry("members", match, "set_member", {"rank_mask": member.rank_mask})


def rule_entry(rule: Rule) -> TableEntry:
    match = {
        "group_id": rule.group_id,
        "op_type": int(rule.op),
        "layer_id": Range(rule.layer.low, rule.layer.high),
        "chunk_id": Range(rule.chunk.low, rule.chunk.high),
    }
    return TableEntry("rules", match, "aggregate", {"output_set": rule.output_set}, rule.priority)


def receiver_entry(output_set: int, port: int) -> TableEntry:
    return TableEntry("receivers", {"output_set": output_set, "egress_port": port}, "deliver")


def output_group(output_set: OutputSet) -> MulticastGroup:
    return MulticastGroup.of_ports(output_set.set_id, output_set.ports)


def mac_entry(address: str | int, port: int) -> TableEntry:
    return TableEntry("mac", {"dst_addr": address}, "forward", {"port": port})


def decode_state(entries: Iterable[TableEntry], multicast: Iterable[MulticastGroup], pool: int) -> State:
    """The state that entries of `groups`, `members`, `rules` and `receivers` and all multicast groups describe."""
    members: dict[int, list[Member]] = {}
    params_of: dict[int, Mapping[str, Any]] = {}
    receivers: dict[int, set[int]] = {}
    rules: list[TableEntry] = []
    for entry in entries:
        key = _short(entry.match)
        match _last(entry.table):
            case "groups":
                params_of[key["group_id"]] = _short(entry.params)
            case "members":
                rank = int(_short(entry.params)["rank_mask"]).bit_length() - 1
                members.setdefault(key["group_id"], []).append(Member(rank, key["ingress_port"]))
            case "receivers":
                ports = receivers.setdefault(key["output_set"], set())
                if _is_action(entry, "deliver"):
                    ports.add(key["egress_port"])
            case _:
                rules.append(entry)
    groups = {group_id: _group(group_id, params, members.get(group_id, [])) for group_id, params in params_of.items()}
    sets = _output_sets(multicast, receivers)
    return State(
        pool=pool,
        groups=dict(sorted(groups.items())),
        rules=tuple(sorted((_rule(entry, groups, sets) for entry in rules), key=_rule_order)),
        output_sets=sets,
        strays={each: tuple(some) for each, some in members.items() if each not in groups},
    )


def _short(values: Mapping[str, Any]) -> dict[str, Any]:
    return {_last(name): value for name, value in values.items()}


@cache
def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_action(entry: TableEntry, name: str) -> bool:
    return _last(entry.action or "") == name


def _group(group_id: int, params: Mapping[str, Any], members: list[Member]) -> Group:
    return Group(
        group_id=group_id,
        members=tuple(sorted(members, key=lambda member: member.rank)),
        slot_base=params["slot_base"],
        slots=params["slot_mask"] + 1,
        epoch=params["epoch"],
        participants=params["participants"],
    )


def _output_sets(multicast: Iterable[MulticastGroup], receivers: Mapping[int, set[int]]) -> dict[int, OutputSet]:
    copies = {
        group.group_id: frozenset(group.ports)
        for group in multicast
        if FIRST_OUTPUT_SET <= group.group_id <= LAST_OUTPUT_SET
    }
    return {
        set_id: OutputSet(set_id, copies.get(set_id, frozenset()), frozenset(receivers.get(set_id, ())))
        for set_id in sorted(copies.keys() | receivers.keys())
    }


def _rule(entry: TableEntry, groups: Mapping[int, Group], sets: Mapping[int, OutputSet]) -> Rule:
    key, params = _short(entry.match), _short(entry.params)
    set_id = params.get("output_set", 0)
    outputs = tuple(sorted(sets[set_id].receivers)) if set_id in sets else ()
    group = groups.get(key["group_id"])
    counter = entry.counter
    return Rule(
        group_id=key["group_id"],
        op=key["op_type"],
        layer=_span(key.get("layer_id")),
        chunk=_span(key.get("chunk_id")),
        inputs=input_ports(key["op_type"], group.ports if group else (), outputs),
        outputs=outputs,
        priority=entry.priority,
        output_set=set_id,
        packets=counter.packets if counter else 0,
        bytes=counter.bytes if counter else 0,
    )


def _rule_order(rule: Rule) -> tuple[int, int, int, Span, Span]:
    return rule.group_id, rule.op, -rule.priority, rule.layer, rule.chunk


def input_ports(op: int, members: tuple[int, ...], outputs: tuple[int, ...]) -> tuple[int, ...]:
    """The ports that give payload: all members, or, where AllGather or Broadcast leaves one member out of the
    outputs, that one. (The switch needs no owner, so its tables name none.)
    """
    left_out = [port for port in members if port not in outputs]
    return (left_out[0],) if op in (Op.ALLGATHER, Op.BROADCAST) and len(left_out) == 1 else members


def _span(value: Range | None) -> Span:
    if value is None:
        return Span()
    return Span(int(value.low), int(value.high))
