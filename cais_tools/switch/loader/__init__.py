"""bmv2 JSON -> `Program`. Everything that cannot be executed is refused here, by its name."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from typing import cast

from cais_tools.switch.blocks import basic_blocks
from cais_tools.switch.effects import effects_of
from cais_tools.switch.headers import Field
from cais_tools.switch.loader.arrays import (
    read_calculations,
    read_checksums,
    read_counters,
    read_field_lists,
    read_meters,
    read_registers,
)
from cais_tools.switch.loader.limits import field_width
from cais_tools.switch.loader.names import Json, Names
from cais_tools.switch.loader.parsers import read_errors, read_parser, read_value_sets
from cais_tools.switch.loader.pipelines import read_pipeline, read_profiles
from cais_tools.switch.loader.places import Places, placed
from cais_tools.switch.loader.primitives import PrimitiveReader
from cais_tools.switch.loader.registers import arranged
from cais_tools.switch.primitives import Count, ExecuteMeter, RegisterRead, RegisterWrite, Request, RequestKind
from cais_tools.switch.program import (
    Action,
    ActionCallNode,
    ActionParam,
    Calculation,
    CounterSpec,
    MeterSpec,
    Parser,
    Pipeline,
    Program,
    TableNode,
)
from cais_tools.switch.refusals import ProgramError

__all__ = ["load_program"]

_REQUIRED = ("ingress_port", "packet_length", "instance_type", "egress_spec", "egress_port")
_MESSAGE = 300
_SECTIONS = ("header_types", "headers", "parsers", "deparsers", "actions", "pipelines")


def load_program(text: str | bytes) -> Program:
    """The program in a bmv2 JSON.

    Raises ProgramError: no JSON, JSON that is no bmv2 program, a program for another architecture than v1model, or
    one that needs something that this switch does not have. Whatever can be pointed at is told with its place, as in
    `pipelines[0].tables[3].key[0]: ..`.
    """
    try:
        root = jsonlib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProgramError(
            f"the program is no JSON: {error}", hint="give the .json file that p4c --target bmv2 --arch v1model writes"
        ) from None
    places = Places()
    try:
        root = placed(root, places)
        _check_architecture(root)
        program = _read(root)
    except ProgramError as error:
        place = f"{places.owner}: " if places.owner else ""
        raise ProgramError(_line(f"{place}{error}"), hint=error.hint) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ProgramError(f"{places.value}: malformed bmv2 JSON: {places.fault}") from error
    except RecursionError:
        raise ProgramError("the program's expressions are nested too deeply") from None
    _check(program)
    return program


def _line(text: str) -> str:
    """One line, whatever the names in the JSON hold."""
    line = "".join(each if each.isprintable() else "?" for each in text)
    return line if len(line) <= _MESSAGE else f"{line[:_MESSAGE]}.."


def _names(parts: Json) -> list[str]:
    return [str(each.get("name")) for each in parts]


def _check_architecture(root: Json) -> None:
    if not isinstance(root, dict) or any(each not in root for each in _SECTIONS):
        raise ProgramError(
            "the program is JSON, but no compiled bmv2 program",
            hint="give the .json file that p4c --target bmv2 --arch v1model writes (not the P4Info)",
        )
    pipelines, parsers, headers = (_names(cast(Json, root)[part]) for part in ("pipelines", "parsers", "headers"))
    if not {"ingress", "egress"} <= set(pipelines) or len(parsers) != 1 or "standard_metadata" not in headers:
        raise ProgramError(
            "the program was compiled for another architecture than v1model",
            hint=f"its parsers: {', '.join(parsers)}; compile it with p4c --arch v1model",
        )


def _read(root: Json) -> Program:
    names = Names(root)
    standard = _standard_fields(root, names)
    calculations = read_calculations(root, names)
    primitives = PrimitiveReader(names, calculations)
    actions = _actions(root, names, calculations)
    pipelines = {each["name"]: read_pipeline(each, names, actions) for each in root["pipelines"]}
    deparser = root["deparsers"][0]
    program = Program(
        name="".join(filter(str.isprintable, str(root.get("program", "")))),
        headers=tuple(names.headers.values()),
        stacks=tuple(names.stacks.values()),
        unions=tuple(names.unions.values()),
        union_stacks=tuple(names.union_stacks.values()),
        errors=read_errors(root),
        parser=read_parser(root["parsers"][0], names, primitives),
        value_sets=read_value_sets(root),
        actions=actions,
        ingress=pipelines["ingress"],
        egress=pipelines["egress"],
        deparser=tuple(names.packet_header(each) for each in deparser["order"]),
        deparser_primitives=primitives.read_all(deparser.get("primitives", [])),
        checksums=read_checksums(root, names, calculations),
        calculations=calculations,
        registers=arranged(read_registers(root), actions),
        counters=read_counters(root),
        meters=read_meters(root, names),
        profiles=read_profiles(root["pipelines"], names),
        field_lists=read_field_lists(root.get("field_lists", []), names),
        learn_lists=read_field_lists(root.get("learn_lists", []), names),
        standard=standard,
        tables=_tables(pipelines["ingress"], pipelines["egress"]),
    )
    for each in root.get("extern_instances", []):
        raise ProgramError(f"the extern {each.get('type')} ({each.get('name')}) is not supported")
    return program


def _standard_fields(root: Json, names: Names) -> dict[str, Field]:
    """Standard metadata by short names; old programs keep some of it in other headers, found through aliases."""
    standard: dict[str, Field] = {}
    for header in ("queueing_metadata", "intrinsic_metadata", "standard_metadata"):
        if header in names.headers:
            standard |= {field.name: field for field in names.headers[header].fields}
    for alias, target in root.get("field_aliases", []):
        standard.setdefault(alias.rpartition(".")[2], names.field(*target))
    missing = [each for each in _REQUIRED if each not in standard]
    if missing:
        raise ProgramError(f"the program's standard_metadata has no {', '.join(missing)}; it is not v1model's")
    return standard


def _actions(root: Json, names: Names, calculations: Mapping[str, Calculation]) -> dict[int, Action]:
    actions: dict[int, Action] = {}
    for each in root["actions"]:
        params = tuple(
            ActionParam(
                param["name"], field_width(f"parameter {param['name']} of {each['name']}", int(param["bitwidth"]))
            )
            for param in each["runtime_data"]
        )
        reader = PrimitiveReader(names, calculations, tuple(param.width for param in params))
        steps = reader.read_all(each["primitives"])
        actions[int(each["id"])] = Action(
            int(each["id"]), str(each["name"]), params, steps, basic_blocks(steps), effects_of(steps)
        )
    return actions


def _tables(*pipelines: Pipeline) -> dict[str, TableNode]:
    return {node.name: node for each in pipelines for node in each.nodes.values() if isinstance(node, TableNode)}


# --- what must hold before code is generated ---


def _check(program: Program) -> None:
    _check_arrays(program)
    _check_requests(program)
    _check_value_sets(program.parser, program.value_sets)
    for table in program.tables.values():
        _check_table_actions(program, table)
        if table.profile is not None and table.profile not in program.profiles:
            raise ProgramError(f"table {table.name} refers to action profile {table.profile}, which is not there")
        if table.direct_meter is not None and table.direct_meter not in program.meters:
            raise ProgramError(f"table {table.name} refers to meter {table.direct_meter}, which is not there")


def _check_table_actions(program: Program, table: TableNode) -> None:
    """The default entry and the entries of a table run its own actions."""
    own = {program.actions[ident].name for ident in table.actions}
    used = {entry.action for entry in table.entries}
    if table.default is not None:
        used.add(table.default.action)
    for name in used - own:
        raise ProgramError(f"table {table.name} runs action {name}, which is none of its own")


def _check_arrays(program: Program) -> None:
    """Every array that an action uses exists."""
    for action in program.actions.values():
        for step in action.primitives:
            if isinstance(step, RegisterRead | RegisterWrite) and step.register not in program.registers:
                raise ProgramError(f"action {action.name} uses register {step.register}, which is not there")
            if isinstance(step, Count):
                _check_indirect("counter", step.counter, program.counters, action)
            if isinstance(step, ExecuteMeter):
                _check_indirect("meter", step.meter, program.meters, action)


def _check_indirect(
    kind: str, name: str, arrays: Mapping[str, CounterSpec] | Mapping[str, MeterSpec], action: Action
) -> None:
    if name not in arrays:
        raise ProgramError(f"action {action.name} uses {kind} {name}, which is not there")
    if arrays[name].table is not None:
        raise ProgramError(f"action {action.name} uses {kind} {name}, which belongs to a table")


_NOT_IN_INGRESS = (RequestKind.CLONE_EGRESS, RequestKind.RECIRCULATE)


def _check_requests(program: Program) -> None:
    """Each request is made where the runtime answers it; elsewhere bmv2 would ignore it, or worse."""
    for pipeline in (program.ingress, program.egress):
        for ident in _pipeline_actions(pipeline):
            for step in program.actions[ident].primitives:
                if not isinstance(step, Request):
                    continue
                if (step.kind in _NOT_IN_INGRESS) is (pipeline is program.ingress):
                    raise ProgramError(f"{step.kind.value} in {pipeline.name} is not supported")


def _pipeline_actions(pipeline: Pipeline) -> set[int]:
    actions: set[int] = set()
    for node in pipeline.nodes.values():
        if isinstance(node, TableNode):
            actions |= set(node.actions)
        elif isinstance(node, ActionCallNode):
            actions.add(node.action)
    return actions


def _check_value_sets(parser: Parser, value_sets: Mapping[str, object]) -> None:
    for state in parser.states.values():
        for case in state.cases:
            if case.value_set is not None and case.value_set not in value_sets:
                raise ProgramError(f"the parser uses value set {case.value_set}, which is not there")
