"""A network namespace of its own for a test: nothing of the machine is touched, and it goes with the test."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pytest

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000


class NetworkNamespace:
    """Runs functions in a thread that lives in the namespace; sockets opened there stay in it."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self._executor = executor

    def run(self, function: Callable[[], T]) -> T:
        return self._executor.submit(function).result()

    def ip(self, arguments: str) -> str:
        """Run `ip` with these arguments; what it prints."""
        command = ["ip", *arguments.split()]
        return self.run(lambda: subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def veth(self, left: str, right: str) -> None:
        """Add a pair of veth interfaces, both up."""
        self.ip(f"link add {left} type veth peer name {right}")
        for name in (left, right):
            self.ip(f"link set {name} up")
        for name in (left, right):
            self.wait_until_up(name)

    def wait_until_up(self, name: str) -> None:
        """Wait until frames pass: the kernel attaches the queue some time after `up`, and loses frames before."""
        give_up = time.monotonic() + 10.0
        while not _passes_frames(json.loads(self.ip(f"-json link show {name}"))[0]):
            assert time.monotonic() < give_up, f"{name} does not come up"
            time.sleep(0.01)


@contextmanager
def network_namespace() -> Generator[NetworkNamespace]:
    """Open a namespace without interfaces; skip the test where that is not possible."""
    if os.geteuid() != 0:
        pytest.skip("needs root for a network namespace")
    if shutil.which("ip") is None:
        pytest.skip("needs ip (iproute2)")
    with ThreadPoolExecutor(1) as executor:
        if executor.submit(_unshare).result() != 0:
            pytest.skip("this machine allows no network namespaces")
        yield NetworkNamespace(executor)


def _passes_frames(interface: dict[str, object]) -> bool:
    return interface["operstate"] == "UP" and interface["qdisc"] != "noop"


def _unshare() -> int:
    result = ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET)
    if result == 0:
        # Or the kernel's own neighbour discovery would stand between the frames of the tests.
        with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w") as setting:
            setting.write("1")
    return result
