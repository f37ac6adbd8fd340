"""Open slots on running switches: who is missing, since when, and what happens where nobody can look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cais_tools.errors import Refused
from cais_tools.session.cais import CaisSwitch
from cais_tools.session.program import load_shipped
from cais_tools.switch.engine import Engine
from tests.benchmarks import bench_engine
from tests.conformance.rules import ALL, allreduce_group
from tests.conformance.targets import bmv2_fabric, embedded_fabric, skip_without_bmv2


def test_who_is_missing_and_since_when() -> None:
    with embedded_fabric(load_shipped()) as fabric:
        switch = CaisSwitch(fabric.session)
        allreduce_group(fabric, 0)
        allreduce_group(fabric, 1)
        assert switch.open_slots() == []
        for port in ALL:
            fabric.contribute(port, 3, [1])
        fabric.contribute(1, 4, [1], layer=5, chunk=9)
        fabric.contribute(3, 4, [1], layer=5, chunk=9)
        fabric.contribute(2, 5, [1], group=1)
        fabric.contribute(1, 4, [1], layer=5, chunk=9)
        (oldest, younger) = switch.open_slots()
        assert (oldest.group_id, oldest.slot, oldest.seq_num, oldest.layer, oldest.chunk) == (0, 4, 4, 5, 9)
        assert [member.port for member in oldest.missing] == [2, 4]
        assert [member.rank for member in younger.missing] == [0, 2, 3]
        assert oldest.age_us is not None
        assert younger.age_us is not None
        assert oldest.age_us >= younger.age_us >= 0
        assert switch.open_slots([1]) == [younger]
        for port in (2, 4):
            fabric.contribute(port, 4, [1], layer=5, chunk=9)
        assert [slot.group_id for slot in switch.open_slots()] == [1]
        with pytest.raises(Refused, match="no group 7") as refused:
            switch.open_slots([7])
        assert refused.value.hint == "groups on the switch: 0, 1"


def test_bmv2_shows_no_registers(tmp_path: Path) -> None:
    skip_without_bmv2()
    with bmv2_fabric(load_shipped(), tmp_path / "bmv2.log") as fabric:
        allreduce_group(fabric, 0)
        with pytest.raises(Refused, match="shows no registers") as refused:
            CaisSwitch(fabric.session).open_slots()
        assert refused.value.exit_code == 5
        assert "without --slots" in (refused.value.hint or "")


def test_the_times_are_those_of_the_first_and_of_the_newest_packet() -> None:
    clock = [0]
    engine = bench_engine.prepare(clock=lambda: clock[0])
    packets = bench_engine.contributions(bench_engine.lanes_of(engine), 2)
    for clock[0], place in ((1000, 0), (2000, 1), (5000, 4), (9000, 1), (9500, 0)):
        port, frame = packets[place]
        engine.process_ingress(port, [frame])
    assert _register(engine, "slot_opened")[:2] == [1000, 5000]
    assert _register(engine, "latest") == [9500]


def test_other_packets_move_no_time() -> None:
    now = 1000
    engine = bench_engine.prepare(clock=lambda: now)
    ((port, frame), *_) = bench_engine.contributions(bench_engine.lanes_of(engine), 1)
    engine.process_ingress(port, [frame])
    now = 2000
    engine.process_ingress(9, [frame])  # no member
    engine.process_ingress(port, [frame[:12] + b"\x08\x00" + frame[14:]])
    assert _register(engine, "latest") == [1000]


def _register(engine: Engine, name: str) -> list[int]:
    values = next(array.values for key, array in engine.registers.items() if key.endswith(f".{name}"))
    return list(values)


def test_the_program_says_how_much_a_slot_takes() -> None:
    """The comment in lanes.p4, and what the program has."""
    from cais_tools.session.program import shipped_program
    from cais_tools.share import shared_folder

    arrays = json.loads(shipped_program()[0].read_text())["register_arrays"]
    slots = next(array["size"] for array in arrays if array["name"].endswith("slot_state"))
    per_slot = [array for array in arrays if array["size"] == slots and "slot_lane_" not in array["name"]]
    known = sum(array["bitwidth"] for array in per_slot) // 8
    assert f"and {known} for what it knows about them" in (shared_folder("p4") / "lanes.p4").read_text()
