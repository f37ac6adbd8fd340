"""`cais add-rule`, `cais delete-rule`, `cais dump-rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cais_tools.cli.options import DEFAULT_DEVICE, Device, DeviceId, GroupId, Json, TakeOver, Timeout, option
from cais_tools.cli.output import emit_json, say, table
from cais_tools.cli.parse import parse_port_list
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.session.cais import Group, Rule, RuleChange, Span
    from cais_tools.wire import Op

OpType: TypeAlias = Annotated[
    Literal["allreduce", "allgather", "broadcast", "allreduce-max", "allreduce-min", "allreduce-product"],
    option(
        "--op-type",
        metavar="OP",
        case_sensitive=False,
        help="allreduce, allgather, broadcast, allreduce-max, allreduce-min or allreduce-product.",
    ),
]
LayerId: TypeAlias = Annotated[str, option("--layer-id", metavar="N|A-B|any", help="Layers the rule is for.")]
ChunkId: TypeAlias = Annotated[str, option("--chunk-id", metavar="N|A-B|any", help="Chunks the rule is for.")]


def add_rule(
    group_id: GroupId,
    input_ports: Annotated[str, option(metavar="LIST", help="Ports of the ranks: 1,2,3,4 or 1-4.")],
    output_ports: Annotated[str, option(metavar="LIST", help="Ports that get the result.")],
    layer_id: LayerId = "any",
    chunk_id: ChunkId = "any",
    op_type: OpType = "allreduce",
    slots: Annotated[
        int | None, option(metavar="N", min=2, help="Slots of a new group, a power of two.  [default: 256]")
    ] = None,
    priority: Annotated[
        int | None, option(metavar="N", min=1, max=2**31 - 1, help="Bigger wins.  [default: the narrower rule wins]")
    ] = None,
    ensure: Annotated[bool, option("--ensure", help="A rule that exists is changed, or left alone.")] = False,
    device: Device = DEFAULT_DEVICE,
    device_id: DeviceId = None,
    take_over: TakeOver = False,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Add a rule, and create or extend its group.

    The switch reduces packets that match it: each input port contributes once, and the result goes to the output
    ports. A narrower rule wins over a wider one.
    """
    inputs = parse_port_list(input_ports, option="--input-ports")
    outputs = parse_port_list(output_ports, option="--output-ports")
    from cais_tools.cli.devices import open_session
    from cais_tools.session.cais import CaisSwitch, RuleSpec

    layer, chunk = _span(layer_id, "--layer-id"), _span(chunk_id, "--chunk-id")
    spec = RuleSpec(group_id, _op(op_type), layer, chunk, inputs, outputs, slots, priority)
    with open_session(device, device_id=device_id, take_over=take_over, timeout=timeout) as session:
        switch = CaisSwitch(session)
        change = switch.ensure_rule(spec) if ensure else switch.add_rule(spec)
    if json:
        group = change.group
        changes = {"change": change.kind.value, "group_change": group.kind.value, "ports_added": list(group.added)}
        emit_json("cais.rule/1", {"device": device, **changes, "rule": _as_dict(change.rule, group.group)})
        return
    _say_change(change)


def delete_rule(
    group_id: GroupId,
    layer_id: LayerId = "any",
    chunk_id: ChunkId = "any",
    op_type: OpType = "allreduce",
    everything: Annotated[bool, option("--all", help="Delete the group with all its rules.")] = False,
    device: Device = DEFAULT_DEVICE,
    device_id: DeviceId = None,
    take_over: TakeOver = False,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Delete a rule.

    With a group's last rule the group goes too, and its slots are free.
    """
    from cais_tools.cli.devices import open_session
    from cais_tools.session.cais import CaisSwitch

    layer, chunk = _span(layer_id, "--layer-id"), _span(chunk_id, "--chunk-id")
    if everything and (layer_id, chunk_id, op_type) != ("any", "any", "allreduce"):
        raise UsageError("--all deletes the whole group", hint="leave --layer-id, --chunk-id and --op-type out")
    with open_session(device, device_id=device_id, take_over=take_over, timeout=timeout) as session:
        switch = CaisSwitch(session)
        before = switch.state(hits=True)
        if everything:
            switch.remove_group(group_id)
            deleted = [rule for rule in before.rules if rule.group_id == group_id]
        else:
            deleted = [switch.delete_rule(group_id, _op(op_type), layer, chunk)]
        group = before.groups.get(group_id)
        is_group_gone = group is not None and group_id not in switch.state().groups
    if json:
        rules = [_as_dict(rule, group) for rule in deleted]
        emit_json("cais.rules-deleted/1", {"device": device, "group_removed": is_group_gone, "rules": rules})
        return
    for rule in deleted:
        say(f"deleted {rule} ({rule.packets} hits)")
    if group is not None and is_group_gone:
        say(f"removed group {group_id}: {group.slots} slots are free")


def dump_rules(
    device: Device = DEFAULT_DEVICE,
    group_id: Annotated[
        int | None, option("--group-id", metavar="N", min=0, max=255, help="Only this group's.")
    ] = None,
    device_id: DeviceId = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """List the rules with ports, slots and hits.

    Rules stand in the order in which they are tried.
    """
    from cais_tools.cli.devices import open_session
    from cais_tools.session.cais import CaisSwitch

    with open_session(device, device_id=device_id, read_only=True, timeout=timeout) as session:
        state = CaisSwitch(session).state(hits=True)
    rules = [rule for rule in state.rules if group_id in (None, rule.group_id)]
    if json:
        documents = [_as_dict(rule, state.groups.get(rule.group_id)) for rule in rules]
        emit_json("cais.rules/1", {"device": device, "rules": documents})
        return
    if not rules:
        say("no rules")
        return
    header = ("group", "op", "layer", "chunk", "priority", "input ports", "output ports", "slots", "packets", "bytes")
    rows = [_row(rule, state.groups.get(rule.group_id)) for rule in rules]
    say(table(header, rows, left=(1, 2, 3, 5, 6, 7)))


def _span(text: str, option: str) -> Span:
    from cais_tools.session.cais import Span

    try:
        return Span.parse(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint or "for example 5, 0-63 or any") from None


def _op(label: str) -> Op:
    from cais_tools.wire import Op

    return next(op for op in Op if op.label == label)


def _as_dict(rule: Rule, group: Group | None) -> dict[str, Any]:
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


def _row(rule: Rule, group: Group | None) -> list[str]:
    from cais_tools.session.cais import op_label

    slots = f"{group.slot_base}-{group.slot_base + group.slots - 1}" if group else "-"
    return [
        str(rule.group_id),
        op_label(rule.op),
        str(rule.layer),
        str(rule.chunk),
        str(rule.priority),
        _ports(rule.inputs),
        _ports(rule.outputs),
        slots,
        str(rule.packets),
        str(rule.bytes),
    ]


def _ports(ports: tuple[int, ...]) -> str:
    return ",".join(map(str, ports)) or "-"


def _say_change(change: RuleChange) -> None:
    from cais_tools.session.cais import ChangeKind

    verb = {ChangeKind.CREATED: "added", ChangeKind.CHANGED: "changed", ChangeKind.UNCHANGED: "unchanged:"}
    rule, group = change.rule, change.group.group
    say(f"{verb[change.kind]} {rule}: ports {_ports(rule.inputs)} to ports {_ports(rule.outputs)}")
    if change.group.kind is ChangeKind.CREATED:
        last = group.slot_base + group.slots - 1
        say(f"created group {group.group_id}: ranks 0-{len(group.members) - 1}, slots {group.slot_base}-{last}")
    elif change.group.added:
        say(f"extended group {group.group_id} by ports {_ports(change.group.added)}")
