"""What no compiled program of ours has, against bmv2: rare primitives, masks of keys, selectors of each algorithm."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cais_tools.p4rt.p4info import P4InfoIndex
from cais_tools.session.entities import (
    ActionProfileGroup,
    ActionProfileMember,
    GroupMember,
    TableEntry,
    Update,
    UpdateType,
)
from cais_tools.session.pipeline import Pipeline
from tests.conformance.fuzz.sides import Sides, both
from tests.conformance.fuzz.subjects import P4RUNTIME, read_subject
from tests.unit.switch import operators, parser_programs
from tests.unit.switch.steps import FRAME, PROGRAMS

pytestmark = pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not on PATH")
needs_data = pytest.mark.skipif(not P4RUNTIME.is_dir(), reason=f"the conformance data is not there: {P4RUNTIME}")
NO_INFO = P4InfoIndex.parse(b"pkg_info { arch: 'v1model' }", "none")


def ports(sides: Sides, frames: list[bytes]) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    ours = [each for frame in frames for each in sides.process(2, frame)]
    for ident, frame in enumerate(frames, 1):
        sides.dataplane.send(ident, 2, frame)
    # bmv2's ports have threads of their own: only packets of one port come in order.
    theirs = sorted(sides.dataplane.receive(len(frames), 5.0), key=lambda each: each.ident)
    return ours, [(each.port, each.frame) for each in theirs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_rare_primitives(name: str, tmp_path: Path) -> None:
    program, out = PROGRAMS[name]
    with both(Pipeline(json.dumps(program).encode(), NO_INFO, name), tmp_path) as sides:
        ours, theirs = ports(sides, [FRAME])
    assert ours == theirs == [(1, out)]


@pytest.mark.parametrize("name", operators.PROGRAMS)
def test_operators(name: str, tmp_path: Path) -> None:
    program, out = operators.PROGRAMS[name]
    with both(Pipeline(json.dumps(program).encode(), NO_INFO, name), tmp_path) as sides:
        ours, theirs = ports(sides, [operators.FRAME])
    assert ours == theirs == [(1, out)]


def test_parsers(tmp_path: Path) -> None:
    cases = [case for name in parser_programs.FRAMES for case in parser_programs.frames(name)]
    config = json.dumps(parser_programs.parser_program()).encode()
    with both(Pipeline(config, NO_INFO, "parser"), tmp_path) as sides:
        ours, theirs = ports(sides, [frame for frame, _ in cases])
    assert ours == theirs == [(1, out) for _, out in cases]


def changed(name: str, edit: Any) -> Pipeline:
    """The pipeline of a program with its JSON changed."""
    pipeline = read_subject(name).pipeline
    root = json.loads(pipeline.config)
    edit(root["pipelines"][0])
    return Pipeline(json.dumps(root).encode(), pipeline.index, name)


@needs_data
@pytest.mark.parametrize("algorithm", ["round_robin", "round_robin_consistent", "crc16_custom", "hash_ex", "xxh64"])
def test_selectors(algorithm: str, tmp_path: Path) -> None:
    pipeline = changed("action_profile", lambda each: each["action_profiles"][0]["selector"].update(algo=algorithm))
    members = [ActionProfileMember("ActProfWS", each, "send", {"eg_port": each}) for each in (1, 2, 3)]
    group = ActionProfileGroup("ActProfWS", 1, frozenset(GroupMember(each) for each in (1, 2, 3)))
    entry = TableEntry("IndirectWS", {"in_": 0xAB}, group_id=1)
    frames = [b"\xab" + (number * 0x9E3779B1 % 7919).to_bytes(4, "big") for number in range(40)]
    with both(pipeline, tmp_path) as sides:
        assert not sides.write([Update(UpdateType.INSERT, each) for each in (*members, group, entry)])
        ours, theirs = ports(sides, frames + frames[::-1])
    assert len(ours) == 80
    assert {port for port, _ in ours} == {1, 2, 3}
    assert ours == theirs


@needs_data
@pytest.mark.parametrize("mask", ["0x0f", "0xf0"])
def test_masks_of_exact_keys(mask: str, tmp_path: Path) -> None:
    pipeline = changed("action_profile", lambda each: each["tables"][0]["key"][0].update(mask=mask))
    member = ActionProfileMember("ActProfWS", 1, "send", {"eg_port": 1})
    entries = [TableEntry("IndirectWS", {"in_": value}, member_id=1) for value in (0xA5, 0x77)]
    with both(pipeline, tmp_path) as sides:
        assert not sides.write([Update(UpdateType.INSERT, each) for each in (member, *entries)])
        ours, theirs = ports(sides, [bytes([value, 0, 0, 0, 0]) for value in range(256)])
    assert 0 < sum(port == 1 for port, _ in ours) < 256
    assert ours == theirs
