"""What may be asked over gNMI, and the answer to Get (specification, section 3.3)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final

from cais_tools.gnmi import Path, from_message, gnmi_pb2, in_text, to_message
from cais_tools.p4rt import code_pb2
from cais_tools.switch.server.gnmi.tree import Leaf, has_wildcards, leaf_value, nodes, subtree_value, under
from cais_tools.switch.server.status import P4Error, invalid

__all__ = ["ENCODINGS", "MODEL", "answer", "check", "notification"]

MODEL: Final = gnmi_pb2.ModelData(name="openconfig-platform", organization="OpenConfig working group", version="0.24.0")
ENCODINGS: Final = (gnmi_pb2.JSON, gnmi_pb2.JSON_IETF, gnmi_pb2.PROTO)

# Of one request: what a tree of a handful of leaves can be asked for, many times over.
_MAX_PATHS: Final = 64
_MAX_ELEMS: Final = 64


def check(
    prefix: gnmi_pb2.Path,
    paths: Sequence[gnmi_pb2.Path],
    encoding: gnmi_pb2.Encoding,
    models: Iterable[gnmi_pb2.ModelData],
) -> None:
    """Raises P4Error where no path of the request can be answered."""
    if encoding not in ENCODINGS:
        known = ", ".join(gnmi_pb2.Encoding.Name(each) for each in ENCODINGS)
        raise P4Error(code_pb2.UNIMPLEMENTED, f"encoding {encoding} is not supported; these are: {known}")
    unknown = [model.name for model in models if model.name != MODEL.name]
    if unknown:
        raise invalid(f"model {unknown[0]} is not supported; only {MODEL.name} is")
    if len(paths) > _MAX_PATHS:
        raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"{len(paths)} paths in one request; {_MAX_PATHS} is the most")
    for path in paths:
        if len(prefix.elem) + len(path.elem) > _MAX_ELEMS:
            raise P4Error(code_pb2.RESOURCE_EXHAUSTED, f"a path has more than {_MAX_ELEMS} elements")
        for origin in (prefix.origin, path.origin):
            if origin not in ("", "openconfig"):
                raise invalid(f"origin {origin} is not known; only openconfig is")


def answer(request: gnmi_pb2.GetRequest, path: gnmi_pb2.Path, leaves: Sequence[Leaf]) -> gnmi_pb2.Notification:
    """What one path of the request means: each node with all that is below it; in PROTO encoding each leaf.

    A path with wildcards may mean no node, and then there is nothing in the answer (finsy asks for all interfaces, and
    takes that to mean none). Raises P4Error where a path without wildcards means none.
    """
    wanted = from_message(request.prefix, path)
    found = nodes(leaves, wanted)
    if not found and not has_wildcards(wanted):
        raise P4Error(code_pb2.NOT_FOUND, f"there is no {in_text(wanted)}")
    values: list[tuple[Path, gnmi_pb2.TypedValue]] = []
    for node in found:
        below = under(leaves, node)
        if request.encoding == gnmi_pb2.PROTO or below[0].path == node:
            values.extend((leaf.path, leaf_value(leaf.value, request.encoding)) for leaf in below)
        else:
            values.append((node, subtree_value(node, below, request.encoding)))
    return notification(values, [], request.prefix)


def notification(
    values: Iterable[tuple[Path, gnmi_pb2.TypedValue]], gone: Iterable[Path], prefix: gnmi_pb2.Path
) -> gnmi_pb2.Notification:
    """Paths are whole; of the request's prefix only origin and target come back (section 2.2.2.1)."""
    told = gnmi_pb2.Notification(
        timestamp=time.time_ns(),
        update=[gnmi_pb2.Update(path=to_message(path), val=value) for path, value in values],
        delete=[to_message(path) for path in gone],
    )
    if prefix.origin or prefix.target:
        told.prefix.CopyFrom(gnmi_pb2.Path(origin=prefix.origin, target=prefix.target))
    return told
