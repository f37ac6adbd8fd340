"""A forwarding pipeline config made ready to run: P4Info and program checked against each other.

P4Runtime 1.4, sections 7 and 14.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from cais_tools.p4rt import p4info_pb2, p4runtime_pb2
from cais_tools.switch.actions import ActionCall
from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.matches import MatchKind
from cais_tools.switch.program import Program, TableNode
from cais_tools.switch.refusals import ProgramError, StateError
from cais_tools.switch.server.digests import DigestBuffers
from cais_tools.switch.server.entities import EntityStore, Ports, Undo
from cais_tools.switch.server.p4data import width_of
from cais_tools.switch.server.profile import Front, Profile
from cais_tools.switch.server.schema import ActionSchema, Schema, TableSchema, build_schema
from cais_tools.switch.server.status import P4Error, as_p4_error, invalid

__all__ = ["Pipeline", "build_pipeline", "check_p4info", "reconcile", "without_removed"]

_LOG = logging.getLogger(__name__)

_KINDS: dict[int, tuple[MatchKind, ...]] = {
    p4info_pb2.MatchField.EXACT: (MatchKind.EXACT, MatchKind.VALID),
    p4info_pb2.MatchField.LPM: (MatchKind.LPM,),
    p4info_pb2.MatchField.TERNARY: (MatchKind.TERNARY,),
    p4info_pb2.MatchField.RANGE: (MatchKind.RANGE,),
    # bmv2's JSON writes optional keys as ternary ones.
    p4info_pb2.MatchField.OPTIONAL: (MatchKind.OPTIONAL, MatchKind.TERNARY),
}


@dataclass(frozen=True)
class Pipeline:
    """A program with its state; it can be written and read before it runs."""

    config: p4runtime_pb2.ForwardingPipelineConfig
    schema: Schema
    engine: Engine
    store: EntityStore
    digests: DigestBuffers
    front: Front

    def write(self, update: p4runtime_pb2.Update) -> Undo:
        """Apply a client's update. Raises P4Error."""
        prepared = self.front.update(update)
        try:
            return self.store.write(prepared)
        except (P4Error, StateError) as error:
            raise self.front.write_failure(prepared, as_p4_error(error)) from error

    def read(self, wanted: p4runtime_pb2.Entity) -> Iterator[p4runtime_pb2.Entity]:
        """What a client's request selects. Raises P4Error, perhaps only while it is iterated."""
        prepared = self.front.request(wanted)
        try:
            for entity in self.store.read(prepared):
                yield self.front.found(prepared, entity)
        except (P4Error, StateError) as error:
            failure = self.front.read_failure(prepared, as_p4_error(error))
            if failure is not None:
                raise failure from error


def build_pipeline(
    config: p4runtime_pb2.ForwardingPipelineConfig,
    ports: Ports,
    clock: Callable[[], int],
    profile: Profile | None = None,
) -> Pipeline:
    """Load a config. Raises P4Error(INVALID_ARGUMENT) with the reason where it cannot be realized."""
    if not config.p4_device_config:
        raise invalid("the config has no p4_device_config: it must hold the bmv2 JSON of the program")
    try:
        program = load_program(config.p4_device_config.decode())
    except UnicodeDecodeError as error:
        raise invalid("p4_device_config is no JSON: it is not even text") from error
    except ProgramError as error:
        raise invalid(f"{error.message} ({error.hint})" if error.hint else error.message) from error
    schema = without_removed(build_schema(config.p4info), program)
    check_p4info(schema, program)
    _size_translations(schema, program)
    engine = Engine(_with_sizes(program, schema), clock=clock, on_log=_LOG.info)
    for table in schema.tables.values():
        if not table.is_const:
            engine.tables[table.name].open_entries()
    buffers = DigestBuffers()
    kept = p4runtime_pb2.ForwardingPipelineConfig()
    kept.CopyFrom(config)
    front = (profile or Profile()).front(schema, engine)
    return Pipeline(kept, schema, engine, EntityStore(schema, engine, ports, buffers, clock), buffers, front)


def without_removed(schema: Schema, program: Program) -> Schema:
    """Without the tables that have no key and no effect: p4c removes them from the program, not from its P4Info."""
    kept = {ident: table for ident, table in schema.tables.items() if table.fields or table.name in program.tables}
    return replace(schema, tables=kept)


def _size_translations(schema: Schema, program: Program) -> None:
    """Tell each translation how wide its values are in the data plane: as wide as the narrowest use."""
    for table in schema.tables.values():
        for field, key in zip(table.fields, program.tables[table.name].keys, strict=True):
            if field.strings is not None:
                field.strings.width = min(field.strings.width, key.width)
    widths = {action.name: [param.width for param in action.params] for action in program.actions.values()}
    for action in schema.actions.values():
        for field, width in zip(action.params, widths.get(action.name, ()), strict=False):
            if field.strings is not None:
                field.strings.width = min(field.strings.width, width)


def _with_sizes(program: Program, schema: Schema) -> Program:
    """With the sizes that P4Info promises: for a table with entries p4c writes their number into the JSON instead."""
    sizes = {table.name: table.size for table in schema.tables.values()}
    tables = {
        name: replace(node, max_size=max(node.max_size, sizes.get(name, 0))) if node.entries else node
        for name, node in program.tables.items()
    }
    return replace(program, tables=tables)


def check_p4info(schema: Schema, program: Program) -> None:
    """Raises P4Error where the P4Info names what the program does not have, or has in another form."""
    for table in schema.tables.values():
        _check_table(schema, table, _node(program, table.name), program)
    _check_names("counter", [c.name for c in schema.counters.values()], program.counters)
    _check_names("meter", [m.name for m in schema.meters.values()], program.meters)
    _check_names("register", [r.name for r in schema.registers.values()], program.registers)
    _check_names("action profile", [p.name for p in schema.profiles.values()], program.profiles)
    for name, node in program.tables.items():
        if node.keys and not node.const_entries and all(table.name != name for table in schema.tables.values()):
            raise _mismatch(f"the P4Info has no table {name}")
    _check_names("value set", [each.name for each in schema.value_sets.values()], program.value_sets)
    for value_set in schema.value_sets.values():
        width = sum(program.value_sets[value_set.name].key_widths)
        if sum(field.width for field in value_set.fields) != width:
            raise _mismatch(f"value set {value_set.name} has {width} bits in the program")
    lists = {each.name for each in program.learn_lists.values()}
    _check_names("digest", [digest.name for digest in schema.digests.values()], lists)
    for register in schema.registers.values():
        spec = program.registers[register.name]
        width = width_of(register.type_spec, schema.p4info.type_info) if register.type_spec is not None else None
        if (register.size, width or spec.width) != (spec.size, spec.width):
            raise _mismatch(f"register {register.name} has {spec.size} cells of {spec.width} bits in the program")
    for counter in schema.counters.values():
        if counter.size != program.counters[counter.name].size:
            raise _mismatch(f"counter {counter.name} has {program.counters[counter.name].size} cells in the program")


def _node(program: Program, name: str) -> TableNode:
    node = program.tables.get(name)
    if node is None:
        raise _mismatch(f"the program has no table {name}")
    return node


def _check_names(kind: str, wanted: Sequence[str], known: Collection[str]) -> None:
    for name in wanted:
        if name not in known:
            raise _mismatch(f"the program has no {kind} {name}")


def _check_table(schema: Schema, table: TableSchema, node: TableNode, program: Program) -> None:
    if len(node.keys) != len(table.fields):
        raise _mismatch(f"table {table.name} has {len(node.keys)} keys in the program, not {len(table.fields)}")
    for field, key in zip(table.fields, node.keys, strict=True):
        if key.kind not in _KINDS.get(field.kind, ()):
            raise _mismatch(f"key {field.name} of table {table.name} is matched {key.kind.value} in the program")
        # A key of a translated type may be wider in the P4Info; the values that fit are the same. Errors have no width.
        if 0 < field.width < key.width:
            raise _mismatch(f"key {field.name} of table {table.name} has {key.width} bits in the program")
    actions = {program.actions[ident].name: program.actions[ident] for ident in node.actions}
    for action in table.actions.values():
        if action.name not in actions:
            raise _mismatch(f"table {table.name} has no action {action.name} in the program")
        _check_params(action, [param.width for param in actions[action.name].params])
    if bool(table.direct_counter) and not node.with_counters:
        raise _mismatch(f"table {table.name} has no direct counter in the program")
    if bool(table.direct_meter) and node.direct_meter is None:
        raise _mismatch(f"table {table.name} has no direct meter in the program")
    profile = schema.profiles[table.profile].name if table.profile in schema.profiles else None
    if table.profile and profile is None:
        raise _mismatch(f"table {table.name} refers to action profile {table.profile}, which the P4Info does not have")
    if profile != node.profile:
        raise _mismatch(f"table {table.name} has action profile {node.profile or 'none'} in the program")


def _check_params(action: ActionSchema, widths: Sequence[int]) -> None:
    if len(action.params) != len(widths) or any(
        field.strings is None and field.width < width for field, width in zip(action.params, widths, strict=True)
    ):
        raise _mismatch(f"action {action.name} has parameters of {list(widths)} bits in the program")


def _mismatch(text: str) -> P4Error:
    return invalid(f"P4Info and program do not belong together: {text}")


_KEPT = (
    "packet_replication_engine_entry.multicast_group_entry",
    "packet_replication_engine_entry.clone_session_entry",
    "action_profile_member",
    "action_profile_group",
    "table_entry",
    "meter_entry",
    "digest_entry",
    "value_set_entry",
)


def reconcile(old: Pipeline, new: Pipeline) -> None:
    """Bring the state of the old pipeline into the new one (RECONCILE_AND_COMMIT).

    Raises P4Error(INVALID_ARGUMENT) naming the first entry that the new program has no place for. Counters and
    registers of the same name and form keep their values; the packets of the meantime are counted by the old ones.
    """
    for table in new.engine.tables.values():
        for entry in table.entries():
            if not entry.is_const:
                table.delete(entry.match, entry.priority)
    for kind in _KEPT:
        for entity in old.store.read(_wildcard(kind)):
            if entity.table_entry.is_const:
                continue
            _replay(new, entity, p4runtime_pb2.Update.INSERT, kind)
    for entity in old.store.read(_wildcard("table_entry", default=True)):
        _replay_default(old, new, entity)
    for name, array in new.engine.counters.items():
        before = old.engine.counters.get(name)
        if before is not None and before.size == array.size:
            for cell, value in zip(array.cells, before.cells, strict=True):
                cell[:] = value
    for name, register in new.engine.registers.items():
        values = old.engine.registers.get(name)
        if values is not None and (values.size, values.width) == (register.size, register.width):
            register.values[:] = values.values


def _wildcard(kind: str, *, default: bool = False) -> p4runtime_pb2.Entity:
    """A request for everything of a kind, direct resources included."""
    entity = p4runtime_pb2.Entity()
    message = entity
    for part in kind.split("."):
        message = getattr(message, part)
        message.SetInParent()
    if kind == "table_entry":
        entity.table_entry.is_default_action = default
        if not default:
            entity.table_entry.counter_data.SetInParent()
            entity.table_entry.meter_config.SetInParent()
    return entity


def _replay(new: Pipeline, entity: p4runtime_pb2.Entity, kind: p4runtime_pb2.Update.Type, name: str) -> None:
    if name == "meter_entry" and not entity.meter_entry.HasField("config"):
        return
    if name in ("meter_entry", "value_set_entry"):
        kind = p4runtime_pb2.Update.MODIFY
    update = p4runtime_pb2.Update(type=kind, entity=entity)
    try:
        new.store.write(update)
    except (P4Error, StateError) as error:
        text = as_p4_error(error).message
        raise invalid(f"the new program cannot keep a {name.rpartition('.')[2]}: {text}") from error


def _replay_default(old: Pipeline, new: Pipeline, entity: p4runtime_pb2.Entity) -> None:
    """A default entry that the client changed is kept; the others are the new program's."""
    name = old.schema.tables[entity.table_entry.table_id].name
    table = old.engine.tables[name]
    default = table.spec.default
    unchanged = default is not None and table.default_action == ActionCall(default.action, default.args)
    if entity.table_entry.is_const or unchanged or not isinstance(table.default_action, ActionCall):
        return
    _replay(new, entity, p4runtime_pb2.Update.MODIFY, "table_entry")
