"""P4Info: reading it, and finding things in it by id, full name, alias or unique suffix. Sans I/O."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from google.protobuf import message as protobuf_message
from google.protobuf import text_format

from cais_tools.errors import Refused, UsageError
from cais_tools.p4rt import p4info_pb2

__all__ = ["P4InfoIndex", "UnknownName", "parse_p4info", "wrong_width"]

logger = logging.getLogger(__name__)


_LONGEST_WORDS = 160
_WIDEST = 1 << 16
"""Bits; p4c itself takes no wider type than 2048 unless told."""


class UnknownName(UsageError):
    """A name (or id) that P4Info does not have, or that is the end of several names."""


class _Part(Protocol):
    """A match field, an action parameter or a metadata field: a name and an id of its own, no preamble."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


_PartT = TypeVar("_PartT", bound=_Part)

# The control characters that a text file may hold; every binary P4Info holds others (0x08 tags an id).
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\v")


def parse_p4info(data: bytes | str, source: str = "the P4Info") -> p4info_pb2.P4Info:
    """Parse P4Info in text or binary form. Fields that our protobuf classes do not know are logged and skipped.

    `source` names the file in messages. Raises Refused when it is neither form.
    """
    if isinstance(data, bytes) and _is_binary(data):
        return _parse_binary(data, source)
    text = data if isinstance(data, str) else data.decode()
    try:
        return text_format.Parse(text, p4info_pb2.P4Info())
    except text_format.ParseError as error:
        first = str(error)
    try:
        message = text_format.Parse(text, p4info_pb2.P4Info(), allow_unknown_field=True)
    except text_format.ParseError as error:
        raise Refused(
            f"{source} is no P4Info: {_one_line(error)}",
            hint="p4c writes it with --p4runtime-files FILE.p4info.txtpb",
        ) from None
    logger.warning("%s has fields that this P4Runtime version does not know, ignored: %s", source, first)
    return message


def _is_binary(data: bytes) -> bool:
    if any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in data):
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _parse_binary(data: bytes, source: str) -> p4info_pb2.P4Info:
    message = p4info_pb2.P4Info()
    try:
        message.ParseFromString(data)
    except protobuf_message.DecodeError as error:
        raise Refused(f"{source} is no P4Info, neither text nor binary: {_one_line(error)}") from None
    known = p4info_pb2.P4Info()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() != message.ByteSize():
        logger.warning("%s has fields that this P4Runtime version does not know, ignored", source)
    return message


def _one_line(error: Exception) -> str:
    """What went wrong, without the file itself, which protobuf quotes in full where it is all on one line."""
    words = " ".join(str(error).split())
    return words if len(words) <= _LONGEST_WORDS else f"... {words[-_LONGEST_WORDS:]}"


class _Catalogue:
    """The objects of one kind, found by id or by name."""

    def __init__(self, kind: str, objects: Iterable[Any]) -> None:
        self.kind = kind
        self.objects: list[Any] = list(objects)
        self.by_id: dict[int, Any] = {each.preamble.id: each for each in self.objects}
        self._names = {each.preamble.name: each.preamble.id for each in self.objects}
        self._aliases = {each.preamble.alias: each.preamble.id for each in self.objects if each.preamble.alias}

    def find(self, key: int | str) -> Any:
        if isinstance(key, int):
            if key in self.by_id:
                return self.by_id[key]
            raise UnknownName(f"the P4Info has no {self.kind} with id {key:#010x}", hint=self._have())
        return self.by_id[_resolve(key, self._names, self._aliases, self.kind)]

    def _have(self) -> str:
        return _have(self.kind, list(self._names))


def _resolve(key: str, names: Mapping[str, int], aliases: Mapping[str, int], kind: str) -> int:
    """Full name before alias before unique suffix (at a dot)."""
    for known in (names, aliases):
        if key in known:
            return known[key]
    found = [name for name in names if name.endswith("." + key)]
    if len(found) == 1:
        return names[found[0]]
    if found:
        raise UnknownName(f"{kind} {key!r} is ambiguous: {', '.join(sorted(found))}", hint="give more of the name")
    raise UnknownName(f"there is no {kind} {key!r}", hint=_nearest(key, names, kind))


def _nearest(key: str, names: Iterable[str], kind: str) -> str:
    names = list(names)
    last = key.rpartition(".")[2]
    close = difflib.get_close_matches(last, {name.rpartition(".")[2] for name in names}, n=3)
    if close:
        return "did you mean " + " or ".join(name for name in names if name.rpartition(".")[2] in close) + "?"
    return _have(kind, names)


def _have(kind: str, names: Sequence[str]) -> str:
    if not names:
        return f"the program has no {kind} at all"
    shown = ", ".join(sorted(names)[:8])
    return f"the program has: {shown}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _part(parts: Iterable[_PartT], key: int | str, kind: str) -> _PartT:
    known = {each.name: each for each in parts}
    if isinstance(key, int):
        for each in known.values():
            if each.id == key:
                return each
        raise UnknownName(f"there is no {kind} with id {key}", hint=_have(kind, list(known)))
    return known[_resolve_name(key, known, kind)]


def _resolve_name(key: str, known: Mapping[str, object], kind: str) -> str:
    order = list(known)
    return order[_resolve(key, {name: place for place, name in enumerate(order)}, {}, kind)]


def wrong_width(message: p4info_pb2.P4Info) -> str | None:
    """What has a negative width, or one that no P4 program can have; None where all is well.

    0 stands for values without a width: SDN strings, errors.
    """
    widths: list[tuple[str, int]] = []
    for owners in (message.tables, message.value_sets):
        for owner in owners:
            fields = owner.match_fields if isinstance(owner, p4info_pb2.Table) else owner.match
            widths += [(f"{owner.preamble.name}, {each.name}", each.bitwidth) for each in fields]
    for action in message.actions:
        widths += [(f"{action.preamble.name}, {each.name}", each.bitwidth) for each in action.params]
    for header in message.controller_packet_metadata:
        widths += [(f"{header.preamble.name}, {each.name}", each.bitwidth) for each in header.metadata]
    for register in message.registers:
        bits = register.type_spec.bitstring
        for width in (bits.bit.bitwidth, bits.int.bitwidth, bits.varbit.max_bitwidth):
            widths.append((register.preamble.name, width))
    for name, width in widths:
        if not 0 <= width <= _WIDEST:
            return f"{name} has {width} bits"
    return None


class P4InfoIndex:
    """Everything in a P4Info message by id, full name, alias or unique suffix.

    Each lookup takes an id (int) or a name (str) and returns the P4Info message, or raises UnknownName with the
    nearest names.
    """

    def __init__(self, message: p4info_pb2.P4Info) -> None:
        """Raises Refused where a width in it cannot be."""
        wrong = wrong_width(message)
        if wrong is not None:
            raise Refused(f"the P4Info is damaged: {wrong}", hint="compile the program again")
        self.message = message
        self._tables = _Catalogue("table", message.tables)
        self._actions = _Catalogue("action", message.actions)
        self._counters = _Catalogue("counter", message.counters)
        self._direct_counters = _Catalogue("direct counter", message.direct_counters)
        self._meters = _Catalogue("meter", message.meters)
        self._direct_meters = _Catalogue("direct meter", message.direct_meters)
        self._registers = _Catalogue("register", message.registers)
        self._digests = _Catalogue("digest", message.digests)
        self._action_profiles = _Catalogue("action profile", message.action_profiles)
        self._value_sets = _Catalogue("value set", message.value_sets)
        self._headers = _Catalogue("controller header", message.controller_packet_metadata)

    @classmethod
    def parse(cls, data: bytes | str, source: str = "the P4Info") -> P4InfoIndex:
        return cls(parse_p4info(data, source))

    def table(self, key: int | str) -> p4info_pb2.Table:
        return self._tables.find(key)

    def action(self, key: int | str) -> p4info_pb2.Action:
        return self._actions.find(key)

    def counter(self, key: int | str) -> p4info_pb2.Counter:
        return self._counters.find(key)

    def direct_counter(self, key: int | str) -> p4info_pb2.DirectCounter:
        return self._direct_counters.find(key)

    def meter(self, key: int | str) -> p4info_pb2.Meter:
        return self._meters.find(key)

    def direct_meter(self, key: int | str) -> p4info_pb2.DirectMeter:
        return self._direct_meters.find(key)

    def register(self, key: int | str) -> p4info_pb2.Register:
        return self._registers.find(key)

    def digest(self, key: int | str) -> p4info_pb2.Digest:
        return self._digests.find(key)

    def action_profile(self, key: int | str) -> p4info_pb2.ActionProfile:
        return self._action_profiles.find(key)

    def value_set(self, key: int | str) -> p4info_pb2.ValueSet:
        return self._value_sets.find(key)

    def controller_header(self, key: int | str) -> p4info_pb2.ControllerPacketMetadata:
        """`packet_in` or `packet_out`."""
        return self._headers.find(key)

    def action_of(self, table: p4info_pb2.Table, key: int | str) -> p4info_pb2.Action:
        """An action of this table: a suffix need only be unique among the table's own actions."""
        own = (self._actions.by_id[ref.id] for ref in table.action_refs if ref.id in self._actions.by_id)
        return _Catalogue(f"action of table {table.preamble.name}", own).find(key)

    def action_of_profile(self, profile: p4info_pb2.ActionProfile, key: int | str) -> p4info_pb2.Action:
        """An action of the tables that this action profile implements (they all have the same)."""
        ids = [ref.id for table_id in profile.table_ids for ref in self.table(table_id).action_refs]
        own = (self._actions.by_id[ident] for ident in dict.fromkeys(ids) if ident in self._actions.by_id)
        return _Catalogue(f"action of action profile {profile.preamble.name}", own).find(key)

    def value_set_field(self, value_set: p4info_pb2.ValueSet, key: int | str) -> p4info_pb2.MatchField:
        return _part(value_set.match, key, f"field of value set {value_set.preamble.name}")

    def match_field(self, table: p4info_pb2.Table, key: int | str) -> p4info_pb2.MatchField:
        return _part(table.match_fields, key, f"key of table {table.preamble.name}")

    def param(self, action: p4info_pb2.Action, key: int | str) -> p4info_pb2.Action.Param:
        return _part(action.params, key, f"parameter of action {action.preamble.name}")

    def metadata(
        self, header: p4info_pb2.ControllerPacketMetadata, key: int | str
    ) -> p4info_pb2.ControllerPacketMetadata.Metadata:
        return _part(header.metadata, key, f"metadata of {header.preamble.name}")

    def direct_counter_of(self, table: p4info_pb2.Table) -> p4info_pb2.DirectCounter | None:
        """The table's direct counter, or None."""
        for each in table.direct_resource_ids:
            if each in self._direct_counters.by_id:
                return self._direct_counters.by_id[each]
        return None

    def is_string(self, type_name: str) -> bool:
        """Whether values of this type are SDN strings (`@p4runtime_translation(..., string)`, bitwidth 0)."""
        new_types = self.message.type_info.new_types
        return type_name in new_types and new_types[type_name].translated_type.HasField("sdn_string")
