"""The switches that the session's tests run against: the embedded one, and bmv2 where it is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest

from cais_tools.errors import Unreachable
from cais_tools.links import Link, open_link
from cais_tools.links.cable import Cable
from cais_tools.session import SessionOptions, connect
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from tests.conformance.targets import veth_pair

PORTS = (1, 2, 3, 4, 5)
CONFORMANCE = Path(__file__).resolve().parents[4] / "shared" / "conformance"


class SwitchUnderTest(ABC):
    """A switch with ports 1 to 5 at a fixed address, which can be started anew.

    `hosts` are the other ends of the ports' cables; none where the switch could get no interfaces.
    """

    hosts: Mapping[int, Link]
    refuses_unknown_ports: bool
    wrong_device_id_is_seen_on_connecting: bool

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    def close(self) -> None:
        self.stop()
        for host in self.hosts.values():
            host.close()


class Embedded(SwitchUnderTest):
    def __init__(self, profile: Literal["spec", "bmv2"]) -> None:
        super().__init__()
        self.refuses_unknown_ports = self.wrong_device_id_is_seen_on_connecting = profile == "spec"
        self._profile: Literal["spec", "bmv2"] = profile
        self._device_id = 1 if profile == "spec" else 0
        self.hosts = self._cables = {port: Cable() for port in PORTS}
        self._switch: EmbeddedSwitch | None = None

    def start(self) -> None:
        ports = {port: f"cable:0:{host.local_port}" for port, host in self._cables.items()}
        config = SwitchConfig(self.address, ports, device_id=self._device_id, profile=self._profile)
        self._switch = EmbeddedSwitch(config)
        self._switch.start()
        for port, spec in self._switch.ports.items():
            self._cables[port].connect(int(spec.split(":")[1]))

    def stop(self) -> None:
        if self._switch is not None:
            self._switch.stop()


class Bmv2(SwitchUnderTest):
    """With veth interfaces, or without root with none: bmv2 takes entries for any port."""

    refuses_unknown_ports = False
    wrong_device_id_is_seen_on_connecting = False

    def __init__(self) -> None:
        super().__init__()
        self._program = shutil.which("simple_switch_grpc")
        if self._program is None:
            pytest.skip("simple_switch_grpc is not on PATH")
        self._process: subprocess.Popen[bytes] | None = None
        self._wires = ExitStack()
        self._interfaces: list[str] = []
        self.hosts = self._plug_in() if os.geteuid() == 0 and shutil.which("ip") else {}

    def _plug_in(self) -> dict[int, Link]:
        pairs = {port: self._wires.enter_context(veth_pair()) for port in PORTS}
        for port, (ours, _) in pairs.items():
            self._interfaces += ["-i", f"{port}@{ours}"]
        return {port: open_link(theirs) for port, (_, theirs) in pairs.items()}

    def start(self) -> None:
        assert self._program is not None
        command = [self._program, "--no-p4", "-L", "off", *self._interfaces, "--", "--grpc-server-addr", self.address]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait_until_it_listens()

    def _wait_until_it_listens(self) -> None:
        ended = time.monotonic() + 30
        while True:
            try:
                connect(self.address, SessionOptions(read_only=True)).close()
            except Unreachable:
                assert time.monotonic() < ended, "simple_switch_grpc does not listen"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        super().close()
        self._wires.close()
