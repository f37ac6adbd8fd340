"""From the typed program to Python functions.

`generate` writes the source, `link` compiles it and binds the names in it to the tables, arrays and functions of an
engine. The source is plain Python (`Functions.source`): what it does can be read, and stepped through.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cais_tools.switch.codegen.functions import generate
from cais_tools.switch.codegen.layout import Codec
from cais_tools.switch.codegen.support import SUPPORT
from cais_tools.switch.hashing import internet_checksum
from cais_tools.switch.program import Program

__all__ = ["Functions", "generate", "link"]


@dataclass(frozen=True, slots=True)
class Functions:
    """A program's functions (see `codegen.functions`) and their source."""

    source: str
    ingress: Callable[..., Any]
    egress: Callable[..., Any]
    reparse: Callable[..., Any] | None


def link(program: Program, runtime: Mapping[str, object], *, tracing: bool = False) -> Functions:
    """Compile the functions of a program; `runtime` has the names that only an engine can provide.

    With `tracing` it also has `trace`, see `generate`.
    """
    source = generate(program, tracing=tracing)
    namespace: dict[str, Any] = {
        "from_bytes": int.from_bytes,
        "internet_checksum": internet_checksum,
        "random_between": random.Random().randint,
        **SUPPORT,
        **_structs(program),
        **runtime,
    }
    exec(compile(source, f"<{program.name or 'program'}>", "exec"), namespace)
    return Functions(source, namespace["ingress"], namespace["egress"], namespace.get("reparse"))


def _structs(program: Program) -> dict[str, object]:
    names: dict[str, object] = {}
    for header in program.headers:
        if not header.metadata and header.fields and header.varbit is None:
            packer = struct.Struct(Codec(header).format)
            names[f"pack_{header.ident}"] = packer.pack
            names[f"unpack_{header.ident}"] = packer.unpack_from
    return names
