"""`cais smoke --device`: a switch that runs already, over veth pairs in a network namespace."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.functional.runner import command, environment, error_of
from tests.integration.netns import NetworkNamespace, network_namespace

RANKS = 3
PORTS = ",".join(f"{port}=host{port}" for port in range(1, RANKS + 1))
QUICK = ("--steps", "1", "--size", "2KiB", "--seed", "1", "--ports", PORTS)
GRPC = "127.0.0.1:9559"


@dataclass
class Lab:
    """A switch in a namespace of its own; port N leads to the interface hostN."""

    namespace: NetworkNamespace
    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the namespace, and in a folder that may be littered."""
        return self.namespace.run(
            lambda: subprocess.run(
                command(*arguments),
                capture_output=True,
                text=True,
                env=environment(),
                cwd=self.folder,
                check=False,
                timeout=90,
            )
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = self.namespace.run(
            lambda: subprocess.Popen(
                list(arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, env=environment()
            )
        )
        self.started.append(process)
        return process

    def start_embedded(self) -> None:
        ports = [argument for port in range(1, RANKS + 1) for argument in ("--port", f"{port}=switch{port}")]
        self.start(*command("switch", "--grpc", GRPC, *ports))
        self.wait_until_it_answers()

    def start_bmv2(self, program: str) -> None:
        interfaces = [argument for port in range(1, RANKS + 1) for argument in ("-i", f"{port}@switch{port}")]
        self.start(program, "--no-p4", "-L", "off", *interfaces, "--", "--grpc-server-addr", GRPC)
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        end = time.monotonic() + 30
        while self.run("dump-rules", "--device", GRPC).returncode == 3:
            assert time.monotonic() < end, "the switch does not listen"

    def stop(self) -> None:
        for process in self.started:
            process.terminate()
            process.wait(20)


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    with network_namespace() as namespace:
        namespace.ip("link set lo up")
        for port in range(1, RANKS + 1):
            namespace.veth(f"switch{port}", f"host{port}")
        lab = Lab(namespace, tmp_path)
        try:
            yield lab
        finally:
            lab.stop()


@pytest.fixture(params=["embedded", "bmv2"])
def running(request: pytest.FixtureRequest, lab: Lab) -> Lab:
    if request.param == "embedded":
        lab.start_embedded()
        return lab
    program = shutil.which("simple_switch_grpc")
    if program is None:
        pytest.skip("simple_switch_grpc is not on PATH")
    lab.start_bmv2(program)
    return lab


def test_the_smoke_test_passes_and_leaves_the_device_as_it_was(running: Lab) -> None:
    """Twice: the first run loads the program, the second finds it."""
    other = ("--group-id", "9", "--input-ports", "1,2", "--output-ports", "1,2", "--device", GRPC)
    for _ in range(2):
        finished = running.run("smoke", "--device", GRPC, "--json", *QUICK)
        assert finished.returncode == 0, finished.stderr
        report = json.loads(finished.stdout)
        assert report["passed"] is True
        assert report["ranks"] == RANKS
        assert all(row["mismatches"] == 0 for row in report["operations"])
        running.run("add-rule", *other)
        left = json.loads(running.run("dump-rules", "--device", GRPC, "--json").stdout)["rules"]
        assert [rule["group_id"] for rule in left] == [9]


def test_a_group_in_use_is_left_alone(lab: Lab) -> None:
    lab.start_embedded()
    assert lab.run("load", "--device", GRPC).returncode == 0
    rule = ("--group-id", "0", "--input-ports", "1,2", "--output-ports", "1,2", "--device", GRPC)
    assert lab.run("add-rule", *rule).returncode == 0
    refused = lab.run("smoke", "--device", GRPC, *QUICK)
    assert refused.returncode == 5
    assert "group 0 is in use" in refused.stderr
    assert "--group-id" in refused.stderr
    assert lab.run("smoke", "--device", GRPC, "--group-id", "1", *QUICK).returncode == 0


def test_a_link_that_is_down_is_named(lab: Lab) -> None:
    lab.start_embedded()
    lab.namespace.ip("link set switch2 down")
    finished = lab.run("smoke", "--device", GRPC, "--timeout", "500ms", *QUICK)
    assert finished.returncode == 3
    assert "rank 1 (port 2)" in finished.stderr


def test_links_in_the_wrong_order_are_found(lab: Lab) -> None:
    """The original's mistake: sums still come out right, but what one rank owns goes to another."""
    lab.start_embedded()
    crossed = ("--ports", "1=host2,2=host1,3=host3", "--steps", "1", "--size", "2KiB")
    finished = lab.run("smoke", "--device", GRPC, *crossed)
    assert finished.returncode == 1
    assert "does not name this rank's port as an output" in finished.stderr
    assert "does each link of --ports lead to its port?" in finished.stderr
    assert lab.run("smoke", "--device", GRPC, *crossed, "--ops", "sum").returncode == 0


def test_a_link_to_a_port_outside_the_group_is_named(lab: Lab) -> None:
    lab.start_embedded()
    wrong = ("--ports", "1=host1,2=host3", "--steps", "1", "--size", "2KiB", "--timeout", "300ms")
    finished = lab.run("smoke", "--device", GRPC, *wrong)
    assert finished.returncode == 3
    assert "rank 1 (port 2) has sent frames of which none has reached the switch" in finished.stderr


def test_interfaces_that_do_not_exist(lab: Lab) -> None:
    finished = lab.run("smoke", "--device", GRPC, "--ports", "1=host1,2=nosuchif0", "--json")
    assert finished.returncode == 2
    assert "nosuchif0" in error_of(finished)["error"]


def test_a_device_that_dies_in_the_middle(lab: Lab) -> None:
    lab.start_embedded()
    recorded = lab.folder / "life.pcap"
    long = ("--timeout", "60s", *QUICK, "--steps", "100000", "--write", str(recorded))
    process = lab.start(*command("smoke", "--device", GRPC, *long))
    end = time.monotonic() + 30
    while not recorded.is_file() or recorded.stat().st_size < 100_000:
        assert time.monotonic() < end, "no operation runs"
        time.sleep(0.05)
    lab.started[0].send_signal(signal.SIGKILL)
    assert process.wait(30) == 3
