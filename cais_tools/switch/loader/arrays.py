"""Registers, counters, meters, calculations, checksums and field lists of a bmv2 JSON."""

from __future__ import annotations

from cais_tools.switch.expressions import Const, Expr
from cais_tools.switch.hashing import ALGORITHMS
from cais_tools.switch.headers import Header
from cais_tools.switch.loader.expressions import ExpressionReader, hex_value
from cais_tools.switch.loader.limits import array_size, field_width
from cais_tools.switch.loader.names import Json, Names
from cais_tools.switch.program import Calculation, Checksum, CounterSpec, FieldList, MeterSpec, Payload, RegisterSpec
from cais_tools.switch.refusals import ProgramError

__all__ = [
    "read_calculation",
    "read_calculations",
    "read_checksums",
    "read_counters",
    "read_field_lists",
    "read_meters",
    "read_registers",
]


def read_registers(root: Json) -> dict[str, RegisterSpec]:
    return {
        each["name"]: RegisterSpec(
            each["name"],
            array_size(f"register {each['name']}", int(each["size"])),
            field_width(f"register {each['name']}", int(each["bitwidth"])),
        )
        for each in root.get("register_arrays", [])
    }


def read_counters(root: Json) -> dict[str, CounterSpec]:
    return {
        each["name"]: CounterSpec(
            each["name"],
            array_size(f"counter {each['name']}", int(each.get("size") or 0)),
            each["binding"] if each.get("is_direct") else None,
        )
        for each in root.get("counter_arrays", [])
    }


def read_meters(root: Json, names: Names) -> dict[str, MeterSpec]:
    meters: dict[str, MeterSpec] = {}
    for each in root.get("meter_arrays", []):
        name = each["name"]
        if each.get("rate_count", 2) != 2:
            raise ProgramError(f"meter {name} has {each['rate_count']} rates; only two are supported")
        direct = bool(each.get("is_direct"))
        meters[name] = MeterSpec(
            name,
            array_size(f"meter {name}", int(each.get("size") or 0)),
            in_bytes=each["type"] == "bytes",
            table=each["binding"] if direct else None,
            result=names.field(*each["result_target"]) if direct else None,
        )
    return meters


def read_calculation(name: str, algorithm: Json, inputs: list[Json], names: Names) -> Calculation:
    """A calculation with inputs as bmv2's `calculations` and selectors have them."""
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ProgramError(
            f"the hash algorithm {algorithm} of {name} is not supported",
            hint=f"supported: {', '.join(sorted(ALGORITHMS))}",
        )
    return Calculation(name, algorithm, tuple(_input(each, names) for each in inputs))


def _input(json: Json, names: Names) -> tuple[Expr, int] | Header | Payload:
    kind = json["type"]
    if kind == "field":
        header, field = json["value"]
        width = names.field(header, field).width
        return ExpressionReader(names).field(header, field), width
    if kind == "hexstr":
        return Const(hex_value(json["value"])), field_width("a constant of a calculation", int(json["bitwidth"]))
    if kind == "header":
        return names.packet_header(json["value"])
    if kind == "payload":
        return Payload()
    raise ProgramError(f"calculations over a {kind} are not supported")


def read_calculations(root: Json, names: Names) -> dict[str, Calculation]:
    return {
        each["name"]: read_calculation(each["name"], each["algo"], each["input"], names)
        for each in root.get("calculations", [])
    }


def read_checksums(root: Json, names: Names, calculations: dict[str, Calculation]) -> tuple[Checksum, ...]:
    checksums: list[Checksum] = []
    for each in root.get("checksums", []):
        if each["type"] != "generic":
            raise ProgramError(f"checksums of type {each['type']} are not supported")
        if each["calculation"] not in calculations:
            raise ProgramError(f"checksum {each['name']} refers to an unknown calculation {each['calculation']}")
        condition = each.get("if_cond")
        checksums.append(
            Checksum(
                each["name"],
                names.field(*each["target"]),
                calculations[each["calculation"]],
                verify=bool(each.get("verify", True)),
                update=bool(each.get("update", True)),
                condition=None if condition is None else ExpressionReader(names).read(condition),
            )
        )
    return tuple(checksums)


def read_field_lists(lists: list[Json], names: Names) -> dict[int, FieldList]:
    """`field_lists` or `learn_lists`, by id."""
    reader = ExpressionReader(names)
    return {
        int(each["id"]): FieldList(
            int(each["id"]),
            each["name"],
            tuple(expr for element in each["elements"] for expr in _element(element, names, reader)),
        )
        for each in lists
    }


def _element(json: Json, names: Names, reader: ExpressionReader) -> list[Expr]:
    if json["type"] == "header":
        header = names.header(json["value"])
        return [reader.field(header.name, field.name) for field in header.fields]
    return [reader.read(json)]
