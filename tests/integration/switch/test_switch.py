"""The switch as a whole: its log, faults, how it starts and ends."""

from __future__ import annotations

import contextlib
import logging
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cais_tools.links import open_link
from cais_tools.p4rt import code_pb2
from cais_tools.switch.device import Device
from cais_tools.switch.embedded import SwitchConfig, run_switch
from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.pre import Replica
from tests.integration.netns import network_namespace
from tests.integration.switch.client import (
    INSERT,
    PATIENCE,
    Client,
    Names,
    Network,
    multicast_group,
    primary,
    program,
)

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def network() -> Iterator[Network]:
    with Network([1, 2, 3]) as network:
        yield network


def test_log_packets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "cais_tools.switch.device")
    drop = "drop port 0, 1 packets (there is no such port)"
    with Network([1, 2], log_packets=True) as network, primary(network, "optional") as client:
        network.send(1, b"\xab\xcdxyz")  # the table is empty: egress_spec stays 0
        end = time.monotonic() + PATIENCE
        while drop not in caplog.messages and time.monotonic() < end:
            time.sleep(0.01)
        names = Names(program("optional").p4info)
        client.write(INSERT, names.entry("ingress.opt", priority=1, action=names.action("ingress.send_2")))
        network.send(1, b"\xab\xcd")
        network.receive(2)
    lines = [line for line in caplog.messages if "port" in line]
    assert lines == ["in   port 1, 5 bytes", drop, "in   port 1, 2 bytes", "out  port 2, 2 bytes"]


def test_frames_cut_short_and_a_cable_unplugged_do_not_end_the_switch(network: Network) -> None:
    with primary(network, "simple_router") as client:
        network.send(1, b"\x00", b"\x00" * 13, bytes(12) + b"\x08\x00\x45")
        network.cables[1]._socket.send(b"no bundle")
        client.load(program("multicast"))
        client.write(INSERT, multicast_group(1, (2, 0), (3, 0)))
        network.hosts[2].close()
        for _ in range(5):
            network.send(1, b"\x00\x01alive")
            assert network.receive(3) == [b"\x00\x00alive"]
        assert network.switch.device.failures == 0


def test_run_switch_calls_back_and_ends_when_told() -> None:
    stop, addresses = threading.Event(), list[str]()
    config = SwitchConfig(grpc_address="127.0.0.1:0", ports={1: "cable:0:9"})

    def ready(switch: object) -> None:
        addresses.append(getattr(switch, "address", ""))
        stop.set()

    thread = threading.Thread(target=run_switch, args=(config,), kwargs={"ready": ready, "stop": stop})
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert addresses[0].startswith("127.0.0.1:")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(number: signal.Signals) -> None:
    code = (
        "from cais_tools.switch.embedded import SwitchConfig, run_switch\n"
        "config = SwitchConfig(grpc_address='127.0.0.1:0', ports={1: 'cable:0:9'})\n"
        "ended = run_switch(config, ready=lambda switch: print(switch.address, flush=True))\n"
        "print(ended)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with Client(address, device_id=1) as client:
        assert client.status() == code_pb2.OK
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, f"{number.value}\n", "")


def test_frames_over_network_interfaces() -> None:
    with network_namespace() as namespace, contextlib.ExitStack() as stack:
        for port in (1, 2, 3):
            namespace.veth(f"sw{port}", f"host{port}")
        links = namespace.run(lambda: {port: open_link(f"sw{port}") for port in (1, 2, 3)})
        hosts = namespace.run(lambda: {port: open_link(f"host{port}") for port in (1, 2, 3)})
        for link in (*links.values(), *hosts.values()):
            stack.callback(link.close)
        device = Device(links)
        engine = Engine(load_program(program("multicast").p4_device_config), clock=device.clock)
        engine.pre.insert_group(7, [Replica(2, 1), Replica(3, 2)])
        with device.lock:
            device.install(engine)
        device.start()
        stack.callback(device.stop)
        frames = [b"\x00\x07" + bytes([number]).ljust(100, b".") for number in range(100)]
        assert hosts[1].send(frames) == 100
        for port, instance in ((2, b"\x00\x01"), (3, b"\x00\x02")):
            received: list[bytes] = []
            while len(received) < 100:
                assert select.select([hosts[port]], [], [], PATIENCE)[0]
                received += hosts[port].recv()
            assert received == [instance + frame[2:] for frame in frames]
