"""The dissector for Wireshark and tshark: a Lua file, made from the one definition of the header."""

from __future__ import annotations

from pathlib import Path
from string import Template

from cais_tools.errors import NotPermitted, UsageError
from cais_tools.wire.header import (
    ETHERTYPE_CAIS,
    HEADER_BYTES,
    HEADER_FIELDS,
    LANE_BYTES,
    LEAST_ETHERNET_PAYLOAD,
    SWITCH_MAC,
    Field,
    Op,
)

__all__ = ["PLUGIN_NAME", "dissector", "install", "plugin_folder"]

PLUGIN_NAME = "cais.lua"
_TEMPLATE = Path(__file__).with_name("wireshark.lua")
_HEXADECIMAL = ("reserved",)


class _Template(Template):
    """`@{name}`, because Lua has its own use for `$`."""

    delimiter = "@"


def dissector() -> str:
    """Return the Lua source. Every field is `cais.NAME` in a display filter; each lane is a `cais.lane`."""
    return _Template(_TEMPLATE.read_text("utf-8")).substitute(
        ethertype=f"0x{ETHERTYPE_CAIS:04x}",
        header_bytes=HEADER_BYTES,
        lane_bytes=LANE_BYTES,
        least_payload=LEAST_ETHERNET_PAYLOAD,
        switch_mac=SWITCH_MAC.replace(":", ""),
        ops=", ".join(f'[{op.value}] = "{op.label}"' for op in Op),
        fields="\n".join(_field(field) for field in HEADER_FIELDS),
        widths=", ".join(f'{{ "{field.name}", {field.bits // 8} }}' for field in HEADER_FIELDS),
    )


def _field(field: Field) -> str:
    base = "base.HEX" if field.name in _HEXADECIMAL else "base.DEC"
    names = ", ops" if field.name == "op_type" else ""
    return f'fields.{field.name} = ProtoField.uint{field.bits}("cais.{field.name}", "{field.name}", {base}{names})'


def plugin_folder() -> Path:
    """Where Wireshark and tshark look for a user's Lua files (their "Personal Lua Plugins")."""
    return Path.home() / ".local" / "lib" / "wireshark" / "plugins"


def install(target: Path | None = None) -> Path:
    """Write the dissector into a folder, or to a file; by default where Wireshark finds it. Return its path.

    Raises NotPermitted, or UsageError where it cannot be written.
    """
    path = plugin_folder() / PLUGIN_NAME if target is None else target
    if path.is_dir():
        path = path / PLUGIN_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dissector(), "utf-8")
    except PermissionError as err:
        raise NotPermitted(f"cannot write {path}: {err.strerror}") from err
    except OSError as err:
        raise UsageError(f"cannot write {path}: {err.strerror}") from err
    return path
