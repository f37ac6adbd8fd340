"""What a running `cais switch` lets one see: traces, recordings, and its state."""

from __future__ import annotations

import fcntl
import json
import select
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cais_tools.links.cable import Cable
from cais_tools.links.pcap import read_pcap
from cais_tools.session import Lpm, TableEntry, connect
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.benchmarks.traffic import router
from tests.functional.runner import command, environment, error_of, invoke

ROUTE = TableEntry(
    "ipv4_lpm", {"dst_addr": Lpm("10.0.0.0", 8)}, "forward", {"next_hop": "02:00:00:00:01:01", "port": 2}
)


def program(address: str) -> None:
    with connect(address) as session:
        session.load(router(1).pipeline())
        session.insert(ROUTE)


class Running:
    """`cais switch` with ports 1 and 2, a router loaded, and our ends of its cables."""

    def __init__(self, process: subprocess.Popen[str], hosts: list[Cable]) -> None:
        self.process = process
        self.hosts = hosts
        assert process.stdout is not None
        self.read: Callable[[], str] = process.stdout.readline
        self.ready: dict[str, Any] = json.loads(self.read())
        for host, port in zip(hosts, self.ready["ports"], strict=True):
            host.connect(int(port["link"].split(":")[1]))
        program(self.ready["grpc"])


@contextmanager
def running(*options: str) -> Generator[Running]:
    hosts = [Cable(), Cable()]
    ports = [text for number, host in enumerate(hosts, 1) for text in ("--port", f"{number}=cable:0:{host.local_port}")]
    process = subprocess.Popen(
        command("switch", "--grpc", "127.0.0.1:0", "--json", *ports, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield Running(process, hosts)
    finally:
        process.terminate()
        process.communicate(timeout=20)
        for host in hosts:
            host.close()


def test_a_trace_as_json() -> None:
    frame = router(1).frames[0]
    with running("--trace") as switch:
        switch.hosts[0].send([frame])
        ingress, egress = json.loads(switch.read()), json.loads(switch.read())
    assert (ingress["schema"], ingress["stage"], ingress["packet"]) == ("cais.trace/1", "ingress", 1)
    assert ingress["outcome"]["ports"] == [2]
    (applied,) = [each for each in ingress["events"] if each["event"] == "table"]
    assert (applied["hit"], applied["entry"]) == (True, "0xa000000/8")
    assert (egress["stage"], egress["port"], egress["outcome"]["what"]) == ("egress", 2, "sent")


def test_the_switch_ends_when_nobody_reads_its_trace() -> None:
    frame = router(1).frames[0]
    with running("--trace") as switch:
        assert switch.process.stdout is not None
        switch.process.stdout.close()
        switch.hosts[0].send([frame] * 2)
        assert switch.process.wait(20) == 141
        assert switch.process.stderr is not None
        assert switch.process.stderr.read() == ""


def test_a_trace_whose_reader_has_stopped_does_not_keep_the_switch() -> None:
    frame = router(1).frames[0]
    with running("--trace") as switch:
        assert switch.process.stdout is not None
        pipe = switch.process.stdout.fileno()
        # It is full with the first of the packet's two lines.
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        switch.hosts[0].send([frame])
        assert select.select([pipe], [], [], 20)[0]
        switch.process.terminate()
        assert switch.process.wait(20) == 143


def test_a_trace_tells_what_is_missing() -> None:
    traces: list[Any] = []
    hosts = [Cable()]
    config = SwitchConfig("127.0.0.1:0", {1: f"cable:0:{hosts[0].local_port}"}, on_trace=traces.append)
    with EmbeddedSwitch(config) as switch:
        hosts[0].connect(int(switch.ports[1].split(":")[1]))
        for count in (1, 3):
            hosts[0].send([router(1).frames[0]])
            while len(traces) < count:
                time.sleep(0.01)
            program(switch.address)
    hosts[0].close()
    assert [each.stage for each in traces] == ["ingress", "ingress", "queue"]
    assert [traces[0].outcome.reason, traces[2].outcome.reason] == ["no program is loaded", "there is no such port"]


def test_recordings_hold_what_passes_each_port(tmp_path: Path) -> None:
    frame = router(1).frames[0]
    with running("--record", str(tmp_path / "seen.pcap"), "--trace") as switch:
        switch.hosts[0].send([frame])
        assert all(switch.read() for _ in range(2))
    ((_, received),) = read_pcap(tmp_path / "seen-port1.pcap")
    ((_, sent),) = read_pcap(tmp_path / "seen-port2.pcap")
    assert received == frame
    assert (sent[:6], sent[26:]) == (bytes.fromhex("020000000101"), frame[26:])


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with EmbeddedSwitch(SwitchConfig("127.0.0.1:0", {1: "cable:0:9", 2: "cable:0:9"})) as switch:
        assert invoke("load", "--device", switch.address).exit_code == 0
        rule = ("--group-id", "4", "--input-ports", "1,2", "--output-ports", "1,2")
        assert invoke("add-rule", *rule, "--device", switch.address).exit_code == 0
        yield switch.address


def inspect(address: str, *arguments: str) -> list[str]:
    result = invoke("switch", "inspect", "--device", address, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_all_names(address: str) -> None:
    lines = inspect(address)
    assert lines[0].split() == ["kind", "name", "size"]
    assert lines[1].split() == ["table", "CaisIngress.aggregation.groups", "1", "of", "256", "entries"]
    assert any(
        line.split() == ["register", "CaisIngress.aggregation.claim.slot_state", "4096", "cells"] for line in lines
    )
    document = json.loads(inspect(address, "--json")[0])
    assert document["schema"] == "cais.inspect/1"
    assert {"name": "CaisIngress.counters.port_in", "size": 512} in document["counters"]


def test_a_table(address: str) -> None:
    header, entry, default = inspect(address, "rules")
    assert header.split()[-4:] == ["priority", "action", "packets", "bytes"]
    assert entry.split()[:4] == ["4", "0", "any", "any"]
    assert "aggregate(output_set=16)" in entry
    assert default.split() == ["default", "-", "NoAction()", "-", "-"]
    document = json.loads(inspect(address, "rules", "--json")[0])
    assert document["entries"][0]["counter"] == {"packets": 0, "bytes": 0}
    assert document["entries"][0]["match"] == {"hdr.cais.group_id": 4, "hdr.cais.op_type": 0}


def test_cells(address: str) -> None:
    assert inspect(address, "slot_state[7]") == ["index  value  hex", "    7      0  0x0"]
    assert inspect(address, "slot_state") == ["4096 of 4096 cells are 0"]
    document = json.loads(inspect(address, "slot_state[2-3]", "--json")[0])
    assert document["cells"] == [{"index": 2, "value": 0}, {"index": 3, "value": 0}]
    assert inspect(address, "port_in[1]") == ["index  packets  bytes", "    1        0      0"]
    assert inspect(address, "port_in")[-1] == "512 of 512 cells are 0"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("slot_stat", "no table, register or counter 'slot_stat'", "slot_state"),
        ("slot_state[4096]", "no index 4096", "0 to 4095"),
        ("slot_state[3-1]", "ends before it begins", None),
        ("slot_state[x]", "no name of a cell", "slot_state[7]"),
        ("rules[1]", "is a table", None),
    ],
)
def test_what_cannot_be_inspected(address: str, name: str, message: str, hint: str | None) -> None:
    error = error_of(invoke("switch", "inspect", "--device", address, name, "--json"))
    assert error["exit_code"] == 2
    assert message in error["error"]
    assert hint is None or hint in error["hint"]


def test_a_target_that_shows_no_registers() -> None:
    config = SwitchConfig("127.0.0.1:0", {1: "cable:0:9", 2: "cable:0:9"}, device_id=0, profile="bmv2")
    with EmbeddedSwitch(config) as switch:
        assert invoke("load", "--device", switch.address).exit_code == 0
        error = error_of(invoke("switch", "inspect", "--device", switch.address, "slot_state[1]", "--json"))
    assert error["exit_code"] == 5
    assert "UNIMPLEMENTED" in error["error"]
    assert "bmv2" in error["hint"]


def test_help_fits_80_columns() -> None:
    result = invoke("switch", "inspect", "--help", env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "inspect" in invoke("switch", "--help").stdout
