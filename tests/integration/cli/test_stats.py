"""show-stats after real frames."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

from cais_tools.links.cable import Cable
from cais_tools.wire import Op
from cais_tools.wire.frames import build_frames
from tests.functional.runner import invoke
from tests.integration.switches import running_switch


@pytest.fixture
def wired() -> Generator[tuple[str, list[Cable]]]:
    """A loaded switch with a group of two, and our ends of its cables."""
    cables = [Cable(), Cable()]
    with running_switch(*(f"{port}=cable:0:{cable.local_port}" for port, cable in enumerate(cables, 1))) as running:
        for cable, port in zip(cables, running.ready["ports"], strict=True):
            cable.connect(int(port["link"].split(":")[1]))
        assert invoke("load", "--device", running.address).exit_code == 0
        rule = ("--group-id", "4", "--input-ports", "1,2", "--output-ports", "1,2")
        assert invoke("add-rule", *rule, "--device", running.address).exit_code == 0
        yield running.address, cables
    for cable in cables:
        cable.close()


def _frame(op: int = Op.ALLREDUCE, group_id: int = 4, seq_num: int = 1) -> bytes:
    (frame,) = build_frames(
        op=Op.ALLREDUCE,
        group_id=group_id,
        rank=0,
        layer_id=0,
        total_chunks=1,
        chunk_ids=0,
        seq_nums=np.array([seq_num], np.uint32),
        tags=0,
        payload_len=256,
        payload=np.ones((1, 64), np.int32),
    )
    frame = bytearray(frame.tobytes())
    frame[14] = op
    return bytes(frame)


def _stats(address: str, packets: int) -> dict[str, Any]:
    """The statistics, once the switch has seen so many packets."""
    end = time.monotonic() + 20
    while True:
        result = invoke("show-stats", "--device", address, "--interval", "20ms", "--json")
        assert result.exit_code == 0, result.stderr
        stats = json.loads(result.stdout)
        if sum(port["packets_in"] for port in stats["ports"]) >= packets:
            return stats
        assert time.monotonic() < end


def test_bad_frames_are_counted_each_kind_for_itself(wired: tuple[str, list[Cable]]) -> None:
    address, (first, _) = wired
    lying = bytearray(_frame())
    lying[29] = 0xFF  # payload_len over the payload
    first.send([_frame()[:30], _frame()[:200], bytes(lying), _frame(op=6), _frame(group_id=5)])
    stats = _stats(address, 5)
    assert stats["bad_frames"] == {"short": 2, "payload_len": 1}
    outcomes = {group["group_id"]: group["outcomes_packets"] for group in stats["groups"]}
    assert outcomes[4]["unknown_op"] == 1
    assert outcomes[5]["no_member"] == 1
    assert outcomes[4]["opened"] == 0
    assert stats["slots_in_use"] == 0
    text = invoke("show-stats", "--device", address, "--interval", "20ms").stdout
    assert "bad frames: 2 short, 1 payload_len" in text


def test_slots_operations_and_traffic(wired: tuple[str, list[Cable]]) -> None:
    address, (first, second) = wired
    first.send([_frame(seq_num=1), _frame(seq_num=2)])
    second.send([_frame(seq_num=1)])
    stats = _stats(address, 3)
    assert stats["slots_in_use"] == 1
    assert stats["sram_usage"] == pytest.approx(1 / stats["slots"])
    (group,) = stats["groups"]
    assert group["outcomes_packets"]["completed"] == 1
    assert group["outcomes_packets"]["opened"] == 2
    ports = {port["port"]: port for port in stats["ports"]}
    assert (ports[1]["packets_in"], ports[2]["packets_in"]) == (2, 1)
    assert (ports[1]["packets_out"], ports[2]["packets_out"]) == (1, 1)
    assert ports[1]["bytes_in"] == 2 * len(_frame())
    assert stats["since_load"]["avg_queue_delay_us"] is not None
    assert [
        rule["packets"] for rule in json.loads(invoke("dump-rules", "--device", address, "--json").stdout)["rules"]
    ] == [3]


def test_tables_are_whole_when_piped_to_a_narrow_reader(wired: tuple[str, list[Cable]]) -> None:
    address, (first, _) = wired
    first.send([_frame()])
    _stats(address, 1)
    text = invoke("show-stats", "--device", address, "--interval", "20ms", env={"COLUMNS": "40"}).stdout
    header = next(line for line in text.splitlines() if line.startswith("port"))
    assert header.split()[-1] == "us"
    assert "…" not in text
    assert len(header) > 40
