"""The switches that the data-plane checks run on."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cais_tools.errors import CaisError
from cais_tools.links import Link, open_link
from cais_tools.links.cable import Cable
from cais_tools.session.pipeline import Pipeline
from cais_tools.session.session import SwitchSession, connect
from cais_tools.session.target import SessionOptions
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.conformance.fabric import Fabric

PORTS = (1, 2, 3, 4)
DEVICE_ID = 1
_VETH_NUMBERS = itertools.count()


def skip_without_bmv2() -> None:
    if shutil.which("simple_switch_grpc") is None:
        pytest.skip("simple_switch_grpc is not on PATH")
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("bmv2 needs veth interfaces: root and ip (iproute2)")


@contextmanager
def bmv2_fabric(pipeline: Pipeline, log: Path) -> Generator[Fabric]:
    """simple_switch_grpc over veth pairs; everything goes when the context ends."""
    with ExitStack() as stack:
        hosts = {port: stack.enter_context(veth_pair()) for port in PORTS}
        address = stack.enter_context(simple_switch({port: ends[0] for port, ends in hosts.items()}, log))
        links = {port: open_link(ends[1]) for port, ends in hosts.items()}
        for link in links.values():
            stack.callback(link.close)
        yield stack.enter_context(loaded_fabric(address, links, pipeline))


@contextmanager
def embedded_fabric(pipeline: Pipeline) -> Generator[Fabric]:
    """The embedded switch in this process, over cables."""
    with ExitStack() as stack:
        hosts = {port: Cable() for port in PORTS}
        for host in hosts.values():
            stack.callback(host.close)
        ports = {port: f"cable:0:{host.local_port}" for port, host in hosts.items()}
        config = SwitchConfig(grpc_address="127.0.0.1:0", ports=ports, device_id=DEVICE_ID)
        switch = stack.enter_context(EmbeddedSwitch(config))
        for port, host in hosts.items():
            host.connect(int(switch.ports[port].split(":")[1]))
        yield stack.enter_context(loaded_fabric(switch.address, hosts, pipeline))


@contextmanager
def loaded_fabric(address: str, links: Mapping[int, Link], pipeline: Pipeline) -> Generator[Fabric]:
    lanes = sum("slot_lane_" in register.preamble.name for register in pipeline.p4info.registers)
    fabric = Fabric(links, lambda: connect(address, SessionOptions(device_id=DEVICE_ID)), lanes=lanes)
    try:
        fabric.load(pipeline)
        yield fabric
    finally:
        fabric.close()


@contextmanager
def veth_pair() -> Generator[tuple[str, str]]:
    """A veth pair (switch's end, host's end) on which the kernel itself is silent."""
    number = f"{os.getpid() % 100000}n{next(_VETH_NUMBERS)}"
    ends = (f"cs{number}", f"ch{number}")
    run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    try:
        for end in ends:
            Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
            run("ip", "link", "set", end, "up")
        yield ends
    finally:
        run("ip", "link", "delete", ends[0])


@contextmanager
def simple_switch(interfaces: dict[int, str], log: Path, *options: str) -> Generator[str]:
    """Yield the gRPC address of a bmv2 that is ready; `options` are simple_switch_grpc's own."""
    address = f"127.0.0.1:{free_tcp_port()}"
    command = ["simple_switch_grpc", "--no-p4", "--device-id", str(DEVICE_ID)]
    for port, interface in interfaces.items():
        command += ["-i", f"{port}@{interface}"]
    command += ["--", "--grpc-server-addr", address, *options]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            wait_until_it_answers(address, process)
            yield address
        finally:
            process.kill()
            process.wait()


@contextmanager
def cais_switch(ports: Mapping[int, str]) -> Generator[tuple[str, dict[int, str]]]:
    """`cais switch` as a process of its own; yield its gRPC address and its end of each link."""
    command = [sys.executable, "-m", "cais_tools.cli", "switch", "--json", "--grpc", "127.0.0.1:0"]
    for port, link in ports.items():
        command += ["--port", f"{port}={link}"]
    with subprocess.Popen([*command, "--device-id", str(DEVICE_ID)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield ready["grpc"], {port["port"]: port["link"] for port in ready["ports"]}
        finally:
            process.kill()


def wait_until_it_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while True:
        session: SwitchSession | None = None
        try:
            session = connect(address, SessionOptions(device_id=DEVICE_ID))
        except CaisError:
            assert process.poll() is None, "simple_switch_grpc has ended"
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
        finally:
            if session is not None:
                session.close()


def free_tcp_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
