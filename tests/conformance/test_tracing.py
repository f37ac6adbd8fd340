"""p4c's packet tests once more, with a trace of every packet: the frames are the same, and every trace can be told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.tracing import PassTrace, text_of
from tests.conformance.stf import StfRun
from tests.conformance.test_stf import DATA, TESTS

pytestmark = pytest.mark.skipif(not TESTS, reason=f"the conformance data is not there: {DATA}")


def run(test: Path) -> tuple[StfRun, list[PassTrace]]:
    stf = StfRun(Engine(load_program(test.with_suffix(".json").read_text())))
    passes: list[PassTrace] = []
    stf.engine.trace(passes.append)
    for line in test.read_text().splitlines():
        if text := line.partition("#")[0].strip():
            stf.execute(text)
    return stf, passes


@pytest.mark.parametrize("test", TESTS, ids=lambda path: path.stem)
def test_stf_with_a_trace(test: Path) -> None:
    stf, passes = run(test)
    assert stf.problems() == []
    sent = [each.outcome for each in passes if each.outcome.what == "sent"]
    assert sum(map(len, stf.seen.values())) == len(sent)
    assert sorted(len(frame) for frames in stf.seen.values() for frame in frames) == sorted(
        each.length for each in sent
    )
    for each in passes:
        json.dumps(each.as_dict(), allow_nan=False)
        assert text_of(each).splitlines()[-1].startswith("  => ")


def test_packets_keep_their_number_wherever_they_go() -> None:
    _, passes = run(DATA / "v1model-special-ops-bmv2.stf")
    by_packet: dict[int, list[str]] = {}
    for each in passes:
        by_packet.setdefault(each.packet, []).append(f"{each.stage} {each.origin} {each.outcome.what}")
    assert by_packet[1] == ["ingress packet resubmitted", "ingress resubmitted forwarded", "egress packet sent"]
    assert by_packet[2] == [
        "ingress packet forwarded",
        "egress packet recirculated",
        "ingress recirculated forwarded",
        "egress packet sent",
    ]
    assert by_packet[3] == ["ingress packet forwarded", "egress clone sent", "egress packet sent"]
    assert by_packet[4] == ["ingress packet forwarded", "egress packet sent", "egress clone sent"]
    assert by_packet[5] == ["ingress packet multicast", *["egress replica sent"] * 3]
