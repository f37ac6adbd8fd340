"""Numbers as switches tell them: there are as many ways as there are encodings, and more."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from cais_tools.gnmi import gnmi_pb2

__all__ = ["number"]


def number(value: gnmi_pb2.TypedValue) -> float | None:
    """The number in a value; None where it is none.

    RFC 7951 has decimal64 as a JSON string. Some switches wrap a leaf into an object with its name.
    """
    kind = value.WhichOneof("value")
    match kind:
        case None | "bool_val" | "bytes_val" | "proto_bytes":
            return None
        case "decimal_val":
            return _finite(value.decimal_val.digits / 10**value.decimal_val.precision)
        case "json_val" | "json_ietf_val":
            try:
                return _in_json(json.loads(getattr(value, kind)))
            except (ValueError, RecursionError):
                return None
        case _:
            return _finite(getattr(value, kind))


def _in_json(value: Any) -> float | None:
    while isinstance(value, Mapping) and len(value) == 1:  # pyright: ignore[reportUnknownArgumentType]
        (value,) = value.values()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return _finite(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _finite(value: str | float) -> float | None:
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None
