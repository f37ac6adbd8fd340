"""Every hash algorithm of simple_switch, over random bytes: ours and bmv2's results are the same."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.pipeline import Pipeline
from cais_tools.switch.hashing import ALGORITHMS
from tests.conformance.fuzz.sides import Sides, both
from tests.unit.switch.programs import const, field, minimal, table

NAMES = sorted(ALGORITHMS)
SIZE = (1 << 64) - 1
PACKETS = 60
SEED = 3

needs_bmv2 = pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not on PATH")


def program() -> dict[str, Any]:
    """A packet leaves with header `r`: for each algorithm the hash of all that came in."""
    root = minimal()
    root["header_types"].append({"name": "r_t", "id": 3, "fields": [[name, 64, False] for name in NAMES]})
    root["headers"].append({"name": "r", "id": 3, "header_type": "r_t", "metadata": False})
    root["deparsers"][0]["order"] = ["r", "h"]
    everything = [{"type": "header", "value": "h"}, {"type": "payload"}]
    root["calculations"] = [
        {"name": f"calc_{name}", "id": number, "algo": name, "input": everything} for number, name in enumerate(NAMES)
    ]
    steps = [{"op": "add_header", "parameters": [{"type": "header", "value": "r"}]}]
    steps += [
        {
            "op": "modify_field_with_hash_based_offset",
            "parameters": [
                field("r", name),
                const(0),
                {"type": "calculation", "value": f"calc_{name}"},
                const(SIZE),
            ],
        }
        for name in NAMES
    ]
    steps.append({"op": "assign", "parameters": [field("standard_metadata", "egress_spec"), const(1)]})
    table(root, "t", [], {"act": ([], steps)}, default="act")
    return root


def frames() -> list[bytes]:
    rng = random.Random(SEED)
    made = [rng.randbytes(rng.randrange(4, 70)) for _ in range(PACKETS)]
    return [rng.choice(made) for _ in range(PACKETS)] + made


def answers(sides: Sides, sent: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    ours = [frame for each in sent for _, frame in sides.process(1, each)]
    for ident, each in enumerate(sent, 1):
        sides.dataplane.send(ident, 1, each)
    return ours, [each.frame for each in sides.dataplane.receive(len(sent), 10.0)]


@needs_bmv2
def test_as_bmv2(tmp_path: Path) -> None:
    text = json.dumps(program()).encode()
    pipeline = Pipeline(text, P4InfoIndex.parse(b"pkg_info { arch: 'v1model' }", "none"), "hashes")
    with both(pipeline, tmp_path) as sides:
        ours, theirs = answers(sides, frames())
    assert len(theirs) == len(ours) == 2 * PACKETS
    for our, their in zip(ours, theirs, strict=True):
        for place, name in enumerate(NAMES):
            part = slice(8 * place, 8 * place + 8)
            assert our[part] == their[part], name
        assert our == their
