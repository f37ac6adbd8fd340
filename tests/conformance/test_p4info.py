"""P4Info and program, as p4c writes them together, belong together; with another program's they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cais_tools.p4rt.p4info import parse_p4info
from cais_tools.switch.loader import load_program
from cais_tools.switch.server.pipeline import check_p4info, without_removed
from cais_tools.switch.server.schema import build_schema
from cais_tools.switch.server.status import P4Error

FOLDER = Path(__file__).parents[3] / "shared" / "conformance"
PROGRAMS = sorted(FOLDER.glob("*/*.json"))


def check(json: Path, p4info: Path) -> None:
    program = load_program(json.read_text())
    check_p4info(without_removed(build_schema(parse_p4info(p4info.read_bytes())), program), program)


@pytest.mark.skipif(not PROGRAMS, reason=f"{FOLDER} is not there")
@pytest.mark.parametrize("json", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_and_its_p4info(json: Path) -> None:
    check(json, json.with_suffix(".p4info.txtpb"))


@pytest.mark.skipif(not PROGRAMS, reason=f"{FOLDER} is not there")
def test_a_program_and_the_p4info_of_another() -> None:
    folder = FOLDER / "p4runtime"
    names = ["action_profile", "counter", "digest", "meter", "optional", "simple_router", "ternary"]
    for name in names:
        for other in names:
            if other != name:
                with pytest.raises(P4Error, match="do not belong together"):
                    check(folder / f"{name}.json", folder / f"{other}.p4info.txtpb")
