"""A P4Info message as the server uses it: everything by id, with names and widths. Sans I/O.

P4Runtime 1.4, section 6 "The P4Info Message". What the P4Info says of a program must be true of the program
that it came with: `pipeline.py` checks that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from cais_tools.p4rt import p4info_pb2, p4types_pb2
from cais_tools.p4rt.p4info import wrong_width
from cais_tools.switch.server.status import invalid
from cais_tools.switch.server.translation import Translation, Translations

__all__ = [
    "ActionSchema",
    "ArraySchema",
    "Field",
    "HeaderSchema",
    "MatchField",
    "MeterType",
    "ProfileSchema",
    "Schema",
    "TableSchema",
    "ValueSetSchema",
    "build_schema",
]

_Found = TypeVar("_Found")

MatchKind = p4info_pb2.MatchField.MatchType
MeterType = p4info_pb2.MeterSpec.Type
_Scope = p4info_pb2.ActionRef.Scope

# Match kinds that need a priority (section 9.1).
_PRIORITY_KINDS = frozenset(
    {p4info_pb2.MatchField.TERNARY, p4info_pb2.MatchField.RANGE, p4info_pb2.MatchField.OPTIONAL}
)


@dataclass(frozen=True)
class Field:
    """An action parameter or a field of a controller header; `width` in bits, 0 where the type has none (errors).

    `strings`: the values are strings to clients (`@p4runtime_translation(..., string)`).
    """

    id: int
    name: str
    width: int
    strings: Translation | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class MatchField(Field):
    kind: MatchKind


@dataclass(frozen=True)
class ActionSchema:
    id: int
    name: str
    params: tuple[Field, ...]


@dataclass(frozen=True)
class TableSchema:
    id: int
    name: str
    fields: tuple[MatchField, ...]
    actions: Mapping[int, ActionSchema]
    scopes: Mapping[int, _Scope]
    size: int
    is_const: bool
    const_default: bool
    idle_timeout: bool
    profile: int
    direct_counter: int
    direct_meter: int
    meter_type: MeterType
    """Of the direct meter."""

    @property
    def needs_priority(self) -> bool:
        return any(each.kind in _PRIORITY_KINDS for each in self.fields)

    def action_id(self, name: str) -> int:
        """The id of the table's action of that name; 0 for one that the P4Info keeps to itself."""
        return next((action.id for action in self.actions.values() if action.name == name), 0)


@dataclass(frozen=True)
class ProfileSchema:
    id: int
    name: str
    tables: tuple[int, ...]
    with_selector: bool
    size: int
    max_group_size: int
    weights_disallowed: bool
    counts_members: bool
    """Whether a group's size is the number of its members, and not the sum of their weights."""
    max_member_weight: int

    def group_size(self, weights: Sequence[int]) -> int:
        return len(weights) if self.counts_members else sum(weights)


@dataclass(frozen=True)
class ArraySchema:
    """A counter, meter, register or digest: `size` cells; `type_spec` for those that hold data."""

    id: int
    name: str
    size: int = 0
    type_spec: p4types_pb2.P4DataTypeSpec | None = None
    meter_type: MeterType = p4info_pb2.MeterSpec.TWO_RATE_THREE_COLOR


@dataclass(frozen=True)
class ValueSetSchema:
    """A parser value set: at most `size` members, each a match on `fields`."""

    id: int
    name: str
    fields: tuple[MatchField, ...]
    size: int


@dataclass(frozen=True)
class HeaderSchema:
    """A controller header (`@controller_header`), fields in the order in which they stand on the wire."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Schema:
    p4info: p4info_pb2.P4Info
    tables: Mapping[int, TableSchema]
    actions: Mapping[int, ActionSchema]
    profiles: Mapping[int, ProfileSchema]
    counters: Mapping[int, ArraySchema]
    direct_counters: Mapping[int, int]
    meters: Mapping[int, ArraySchema]
    direct_meters: Mapping[int, int]
    registers: Mapping[int, ArraySchema]
    digests: Mapping[int, ArraySchema]
    value_sets: Mapping[int, ValueSetSchema]
    packet_in: HeaderSchema | None
    packet_out: HeaderSchema | None

    def table(self, table_id: int) -> TableSchema:
        return _find(self.tables, table_id, "table")

    def profile(self, profile_id: int) -> ProfileSchema:
        return _find(self.profiles, profile_id, "action profile")

    def counter(self, counter_id: int) -> ArraySchema:
        return _find(self.counters, counter_id, "counter")

    def meter(self, meter_id: int) -> ArraySchema:
        return _find(self.meters, meter_id, "meter")

    def register(self, register_id: int) -> ArraySchema:
        return _find(self.registers, register_id, "register")

    def value_set(self, value_set_id: int) -> ValueSetSchema:
        return _find(self.value_sets, value_set_id, "value set")

    def digest(self, digest_id: int) -> ArraySchema:
        return _find(self.digests, digest_id, "digest")


def _find(known: Mapping[int, _Found], wanted: int, kind: str) -> _Found:
    found = known.get(wanted)
    if found is None:
        raise invalid(f"the P4Info has no {kind} with id {wanted} (0x{wanted:08x})")
    return found


def build_schema(p4info: p4info_pb2.P4Info) -> Schema:
    """Index a P4Info. Raises P4Error(INVALID_ARGUMENT) naming what contradicts itself or is not understood."""
    wrong = wrong_width(p4info)
    if wrong is not None:
        raise invalid(f"the P4Info is damaged: {wrong}")
    _refuse_duplicates(p4info)
    _refuse_unknown_tables(p4info)
    strings = Translations(p4info.type_info)
    actions = {action.preamble.id: _action(action, strings) for action in p4info.actions}
    headers = {header.preamble.name: _header(header, strings) for header in p4info.controller_packet_metadata}
    return Schema(
        p4info=p4info,
        tables={table.preamble.id: _table(table, actions, p4info, strings) for table in p4info.tables},
        actions=actions,
        profiles={profile.preamble.id: _profile(profile) for profile in p4info.action_profiles},
        counters={c.preamble.id: ArraySchema(c.preamble.id, c.preamble.name, c.size) for c in p4info.counters},
        direct_counters={c.preamble.id: c.direct_table_id for c in p4info.direct_counters},
        meters={
            m.preamble.id: ArraySchema(m.preamble.id, m.preamble.name, m.size, meter_type=m.spec.type)
            for m in p4info.meters
        },
        direct_meters={m.preamble.id: m.direct_table_id for m in p4info.direct_meters},
        registers={
            r.preamble.id: ArraySchema(r.preamble.id, r.preamble.name, r.size, r.type_spec) for r in p4info.registers
        },
        digests={
            d.preamble.id: ArraySchema(d.preamble.id, d.preamble.name, type_spec=d.type_spec) for d in p4info.digests
        },
        value_sets={
            v.preamble.id: ValueSetSchema(v.preamble.id, v.preamble.name, _match_fields(v.match, strings), v.size)
            for v in p4info.value_sets
        },
        packet_in=headers.get("packet_in"),
        packet_out=headers.get("packet_out"),
    )


def _refuse_duplicates(p4info: p4info_pb2.P4Info) -> None:
    seen: dict[int, str] = {}
    kinds: Iterable[Iterable[object]] = (
        p4info.tables,
        p4info.actions,
        p4info.action_profiles,
        p4info.counters,
        p4info.direct_counters,
        p4info.meters,
        p4info.direct_meters,
        p4info.registers,
        p4info.digests,
        p4info.value_sets,
    )
    for kind in kinds:
        for item in kind:
            preamble: p4info_pb2.Preamble = getattr(item, "preamble")  # noqa: B009 - every one of them has it
            if preamble.id == 0:
                raise invalid(f"{preamble.name!r} in the P4Info has no id")
            if preamble.id in seen:
                raise invalid(
                    f"{seen[preamble.id]!r} and {preamble.name!r} have the same id {preamble.id} in the P4Info"
                )
            seen[preamble.id] = preamble.name


def _refuse_unknown_tables(p4info: p4info_pb2.P4Info) -> None:
    tables = {table.preamble.id for table in p4info.tables}
    for profile in p4info.action_profiles:
        for table_id in profile.table_ids:
            if table_id not in tables:
                name = profile.preamble.name
                raise invalid(f"action profile {name} refers to table {table_id}, which the P4Info does not have")


def _action(action: p4info_pb2.Action, strings: Translations) -> ActionSchema:
    params = tuple(
        Field(param.id, param.name, param.bitwidth, strings=strings.of(param.type_name)) for param in action.params
    )
    return ActionSchema(action.preamble.id, action.preamble.name, params)


def _table(
    table: p4info_pb2.Table, actions: Mapping[int, ActionSchema], p4info: p4info_pb2.P4Info, strings: Translations
) -> TableSchema:
    name = table.preamble.name
    missing = [ref.id for ref in table.action_refs if ref.id not in actions]
    if missing:
        raise invalid(f"table {name} refers to action {missing[0]}, which the P4Info does not have")
    resources = set(table.direct_resource_ids)
    meter = next((each for each in p4info.direct_meters if each.preamble.id in resources), None)
    return TableSchema(
        id=table.preamble.id,
        name=name,
        fields=_match_fields(table.match_fields, strings),
        actions={ref.id: actions[ref.id] for ref in table.action_refs},
        scopes={ref.id: _scope(ref) for ref in table.action_refs},
        size=table.size,
        is_const=table.is_const_table,
        const_default=table.const_default_action_id != 0,
        idle_timeout=table.idle_timeout_behavior == p4info_pb2.Table.NOTIFY_CONTROL,
        profile=table.implementation_id,
        direct_counter=next((c.preamble.id for c in p4info.direct_counters if c.preamble.id in resources), 0),
        direct_meter=meter.preamble.id if meter is not None else 0,
        meter_type=meter.spec.type if meter is not None else p4info_pb2.MeterSpec.TWO_RATE_THREE_COLOR,
    )


def _match_fields(fields: Iterable[p4info_pb2.MatchField], strings: Translations) -> tuple[MatchField, ...]:
    return tuple(
        MatchField(each.id, each.name, each.bitwidth, each.match_type, strings=strings.of(each.type_name))
        for each in fields
    )


def _scope(ref: p4info_pb2.ActionRef) -> _Scope:
    # p4c before 2018 left the scope to the annotations.
    if ref.scope == p4info_pb2.ActionRef.TABLE_AND_DEFAULT:
        for annotation in ref.annotations:
            if annotation.startswith("@defaultonly"):
                return p4info_pb2.ActionRef.DEFAULT_ONLY
            if annotation.startswith("@tableonly"):
                return p4info_pb2.ActionRef.TABLE_ONLY
    return ref.scope


def _profile(profile: p4info_pb2.ActionProfile) -> ProfileSchema:
    return ProfileSchema(
        id=profile.preamble.id,
        name=profile.preamble.name,
        tables=tuple(profile.table_ids),
        with_selector=profile.with_selector,
        size=profile.size,
        max_group_size=profile.max_group_size,
        # Stubs before 1.5.0 do not know these fields.
        weights_disallowed=getattr(profile, "weights_disallowed", False),
        counts_members=_has(profile, "sum_of_members"),
        max_member_weight=profile.sum_of_members.max_member_weight if _has(profile, "sum_of_members") else 0,
    )


def _has(message: p4info_pb2.ActionProfile, name: str) -> bool:
    return name in message.DESCRIPTOR.fields_by_name and message.HasField(name)  # pyright: ignore[reportArgumentType]


def _header(header: p4info_pb2.ControllerPacketMetadata, strings: Translations) -> HeaderSchema:
    name = header.preamble.name
    for each in header.metadata:
        if strings.of(each.type_name) is not None:
            raise invalid(
                f"controller header {name}, field {each.name} is translated to strings (@p4runtime_translation): "
                "its width is not in the P4Info"
            )
    fields = tuple(Field(each.id, each.name, each.bitwidth) for each in header.metadata)
    if any(each.width < 1 for each in fields) or sum(each.width for each in fields) % 8:
        raise invalid(f"controller header {name} is no whole number of bytes")
    return HeaderSchema(name, fields)
