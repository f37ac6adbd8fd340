"""`cais add-rule`, `cais delete-rule`, `cais dump-rules`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from cais_tools.cli.devices import Connection, connects
from cais_tools.cli.fleet import raise_worst, run_on_all, say_fleet_json, say_verdicts
from cais_tools.cli.options import GroupId, Json, option
from cais_tools.cli.output import emit_json, say, table
from cais_tools.cli.parse import parse_port_list
from cais_tools.cli.rules_text import ports_text, rule_as_dict, rule_row
from cais_tools.errors import UsageError

if TYPE_CHECKING:
    from cais_tools.config import Device
    from cais_tools.fleet import Outcome
    from cais_tools.session import SwitchSession
    from cais_tools.session.cais import Group, Rule, RuleChange, Span, State
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

T = TypeVar("T")

_COMMANDS = {"cais.rule/1": "add-rule", "cais.rules-deleted/1": "delete-rule", "cais.rules/1": "dump-rules"}
"""By the schema of what they say about one device."""


@connects(changes=True)
def add_rule(
    *,
    connection: Connection,
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
    json: Json = False,
) -> None:
    """Add a rule, and create or extend its group.

    The switch reduces packets that match it: each input port contributes once, and the result goes to the output
    ports. A narrower rule wins over a wider one.
    """
    devices = connection.devices()
    ports = {
        device.name: (
            parse_port_list(input_ports, option="--input-ports", device=device),
            parse_port_list(output_ports, option="--output-ports", device=device),
        )
        for device in devices
    }
    layer, chunk, op = parse_span(layer_id, "--layer-id"), parse_span(chunk_id, "--chunk-id"), parse_op(op_type)

    def work(session: SwitchSession, device: Device) -> RuleChange:
        from cais_tools.session.cais import CaisSwitch, RuleSpec

        spec = RuleSpec(group_id, op, layer, chunk, *ports[device.name], slots, priority)
        switch = CaisSwitch(session)
        return switch.ensure_rule(spec) if ensure else switch.add_rule(spec)

    _run(connection, devices, work, "cais.rule/1", _change_as_dict, _change_lines, json=json)


@connects(changes=True)
def delete_rule(
    *,
    connection: Connection,
    group_id: GroupId,
    layer_id: LayerId = "any",
    chunk_id: ChunkId = "any",
    op_type: OpType = "allreduce",
    everything: Annotated[bool, option("--all", help="Delete the group with all its rules.")] = False,
    json: Json = False,
) -> None:
    """Delete a rule.

    With a group's last rule the group goes too, and its slots are free.
    """
    devices = connection.devices()
    layer, chunk, op = parse_span(layer_id, "--layer-id"), parse_span(chunk_id, "--chunk-id"), parse_op(op_type)
    if everything and (layer_id, chunk_id, op_type) != ("any", "any", "allreduce"):
        raise UsageError("--all deletes the whole group", hint="leave --layer-id, --chunk-id and --op-type out")

    def work(session: SwitchSession, _: Device) -> _Deleted:
        from cais_tools.session.cais import CaisSwitch

        switch = CaisSwitch(session)
        before = switch.state(hits=True)
        if everything:
            switch.remove_group(group_id)
            deleted = [rule for rule in before.rules if rule.group_id == group_id]
        else:
            deleted = [switch.delete_rule(group_id, op, layer, chunk)]
        group = before.groups.get(group_id)
        is_group_gone = group is not None and group_id not in switch.state().groups
        return deleted, group, is_group_gone

    _run(connection, devices, work, "cais.rules-deleted/1", _deleted_as_dict, _deleted_lines, json=json)


@connects(changes=False)
def dump_rules(
    *,
    connection: Connection,
    group_id: Annotated[
        int | None, option("--group-id", metavar="N", min=0, max=255, help="Only this group's.")
    ] = None,
    json: Json = False,
) -> None:
    """List the rules with ports, slots and hits.

    Rules stand in the order in which they are tried.
    """

    def work(session: SwitchSession, _: Device) -> State:
        from cais_tools.session.cais import CaisSwitch

        return CaisSwitch(session).state(hits=True)

    devices = connection.devices()
    outcomes = _outcomes(connection, devices, work)
    if json:
        _say_json(outcomes, "cais.rules/1", lambda state: _state_as_dict(state, group_id))
    else:
        _say_rules(outcomes, group_id)
    raise_worst(outcomes)


# -- one device or several


def _outcomes(
    connection: Connection, devices: list[Device], work: Callable[[SwitchSession, Device], T]
) -> list[Outcome[T]]:
    """With a single device an error is raised, and told as the command's."""
    outcomes = run_on_all(connection, devices, work)
    if len(outcomes) == 1 and outcomes[0].error is not None:
        raise outcomes[0].error
    return outcomes


def _say_json(outcomes: list[Outcome[T]], schema: str, document: Callable[[T], Mapping[str, Any]]) -> None:
    if len(outcomes) > 1:
        say_fleet_json(_COMMANDS[schema], outcomes, lambda _, value: document(value))
        return
    [outcome] = outcomes
    assert outcome.value is not None
    emit_json(schema, {"device": outcome.device.name, **document(outcome.value)})


def _run(
    connection: Connection,
    devices: list[Device],
    work: Callable[[SwitchSession, Device], T],
    schema: str,
    document: Callable[[T], Mapping[str, Any]],
    lines: Callable[[T, Device], list[str]],
    *,
    json: bool,
) -> None:
    outcomes = _outcomes(connection, devices, work)
    if json:
        _say_json(outcomes, schema, document)
    elif len(outcomes) > 1:
        _say_texts(outcomes, lambda each: "; ".join(_lines(each, lines)))
    else:
        for line in _lines(outcomes[0], lines):
            say(line)
    raise_worst(outcomes)


def _say_texts(outcomes: list[Outcome[T]], text: Callable[[Outcome[T]], str]) -> None:
    from cais_tools.fleet import Outcome

    say_verdicts([Outcome(each.device, text(each), each.error) for each in outcomes], str)


def _lines(outcome: Outcome[T], lines: Callable[[T, Device], list[str]]) -> list[str]:
    return [] if outcome.value is None else lines(outcome.value, outcome.device)


# -- what users write


def parse_span(text: str, option: str) -> Span:
    from cais_tools.session.cais import Span

    try:
        return Span.parse(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint or "for example 5, 0-63 or any") from None


def parse_op(label: str) -> Op:
    from cais_tools.wire import Op

    return next(op for op in Op if op.label == label)


# -- what they get

_Deleted: TypeAlias = "tuple[list[Rule], Group | None, bool]"
"""The rules, their group as it was, and whether it is gone."""


def _change_as_dict(change: RuleChange) -> dict[str, Any]:
    group = change.group
    changes = {"change": change.kind.value, "group_change": group.kind.value, "ports_added": list(group.added)}
    return {**changes, "rule": rule_as_dict(change.rule, group.group)}


def _change_lines(change: RuleChange, device: Device) -> list[str]:
    from cais_tools.session.cais import ChangeKind

    verb = {ChangeKind.CREATED: "added", ChangeKind.CHANGED: "changed", ChangeKind.UNCHANGED: "unchanged:"}
    rule, group = change.rule, change.group.group
    inputs, outputs = ports_text(rule.inputs, device), ports_text(rule.outputs, device)
    lines = [f"{verb[change.kind]} {rule}: ports {inputs} to ports {outputs}"]
    if change.group.kind is ChangeKind.CREATED:
        last = group.slot_base + group.slots - 1
        lines.append(
            f"created group {group.group_id}: ranks 0-{len(group.members) - 1}, slots {group.slot_base}-{last}"
        )
    elif change.group.added:
        lines.append(f"extended group {group.group_id} by ports {ports_text(change.group.added, device)}")
    return lines


def _deleted_as_dict(deleted: _Deleted) -> dict[str, Any]:
    rules, group, is_group_gone = deleted
    return {"group_removed": is_group_gone, "rules": [rule_as_dict(rule, group) for rule in rules]}


def _deleted_lines(deleted: _Deleted, _: Device) -> list[str]:
    rules, group, is_group_gone = deleted
    lines = [f"deleted {rule} ({rule.packets} hits)" for rule in rules]
    if group is not None and is_group_gone:
        lines.append(f"removed group {group.group_id}: {group.slots} slots are free")
    return lines


def _state_as_dict(state: State, group_id: int | None) -> dict[str, Any]:
    rules = [rule for rule in state.rules if group_id in (None, rule.group_id)]
    return {"rules": [rule_as_dict(rule, state.groups.get(rule.group_id)) for rule in rules]}


def _say_rules(outcomes: list[Outcome[State]], group_id: int | None) -> None:
    header = ["group", "op", "layer", "chunk", "priority", "input ports", "output ports", "slots", "packets", "bytes"]
    left = (1, 2, 3, 5, 6, 7)
    rows = [
        (outcome.device.name, rule_row(rule, outcome.value.groups.get(rule.group_id), outcome.device))
        for outcome in outcomes
        if outcome.value is not None
        for rule in outcome.value.rules
        if group_id in (None, rule.group_id)
    ]
    if len(outcomes) == 1:
        say(table(header, [row for _, row in rows], left=left) if rows else "no rules")
        return
    if rows:
        say(table(["device", *header], [[name, *row] for name, row in rows], left=(0, *(each + 1 for each in left))))
        say()
    counts = Counter(name for name, _ in rows)
    _say_texts(outcomes, lambda each: _count(counts[each.device.name]))


def _count(rules: int) -> str:
    return "1 rule" if rules == 1 else f"{rules} rules"
