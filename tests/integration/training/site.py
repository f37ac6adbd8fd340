"""A training job as users have it: a switch, a controller and ranks, each a process that may be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cais_tools.controller.client import ControllerClient
from tests.functional.runner import ROOT, command, environment

RANKS = 4
FOLDER = Path(__file__).parent

__all__ = ["RANKS", "Site", "a_site"]


def _free(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Site:
    """`faults` go to every host's link, as `open_link` takes them."""

    folder: Path
    faults: str = ""
    switch_port: int = field(default_factory=lambda: _free(socket.SOCK_STREAM))
    controller_port: int = field(default_factory=lambda: _free(socket.SOCK_STREAM))
    udp: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    processes: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    def __post_init__(self) -> None:
        self.udp = [(_free(socket.SOCK_DGRAM), _free(socket.SOCK_DGRAM)) for _ in range(RANKS)]
        links = "\n".join(
            f'{rank + 1} = "cable:{host}:{port}{self.faults}"' for rank, (port, host) in enumerate(self.udp)
        )
        # So slow a link that even the smallest sums are worth the way through the switch.
        device = f'[devices.lab]\naddress = "127.0.0.1:{self.switch_port}"\nlink_gbps = 0.0001\n'
        (self.folder / "cais.toml").write_text(f"{device}[devices.lab.links]\n{links}\n")

    @property
    def controller(self) -> str:
        return f"127.0.0.1:{self.controller_port}"

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        """`cais` with these arguments."""
        process = subprocess.Popen(
            command(*arguments),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**environment(), **environ},
        )
        self.processes.append(process)
        return process

    def start_switch(self) -> subprocess.Popen[str]:
        ports = [f"--port={rank + 1}=cable:{port}:{host}" for rank, (port, host) in enumerate(self.udp)]
        process = self.start("switch", "--json", "--grpc", f"127.0.0.1:{self.switch_port}", *ports)
        assert process.stdout is not None
        assert process.stdout.readline()
        return process

    def start_controller(self) -> subprocess.Popen[str]:
        state = self.folder / "state.sqlite"
        process = self.start("controller", "--json", "--listen", self.controller, "--state", str(state))
        assert process.stdout is not None
        assert process.stdout.readline()
        return process

    def cais(self, *arguments: str) -> Any:
        """What a command answers with --json."""
        done = subprocess.run(
            command(*arguments, "--json"),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=30,
            env={**environment(), "CAIS_CONTROLLER": self.controller},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def wait_for_device(self) -> None:
        end = time.monotonic() + 30
        with ControllerClient(self.controller) as client:
            while not (device := client.statistics().devices[0]).reachable:
                assert time.monotonic() < end, f"the controller does not reach the switch: {device.error}"
                time.sleep(0.05)

    def start_ranks(self, script: str = "rank.py", **environ: str) -> list[subprocess.Popen[str]]:
        """The ranks of a job, each running a script that lies beside this file."""
        job = {"WORLD_SIZE": str(RANKS), "CAIS_JOB": f"job-{time.monotonic_ns()}", "CAIS_CONTROLLER": self.controller}
        command = (sys.executable, str(FOLDER / script))
        return [self.start_python(*command, **{**job, **environ}, RANK=str(rank)) for rank in range(RANKS)]

    def start_python(self, *command: str, **environ: str) -> subprocess.Popen[str]:
        """A process of a job."""
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment(), "CAIS_CONTROLLER": self.controller, **environ},
        )
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.wait(10)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def results(ranks: list[subprocess.Popen[str]], seconds: float = 60) -> list[dict[str, Any]]:
    """What the ranks say at their end."""
    said: list[dict[str, Any]] = []
    for rank in ranks:
        out, err = rank.communicate(timeout=seconds)
        assert rank.returncode == 0, err
        said.append(json.loads(out.strip().splitlines()[-1]))
    return said


def wait_for_step(rank: subprocess.Popen[str], step: int) -> None:
    """Until a rank says that it has come so far."""
    assert rank.stdout is not None
    for line in rank.stdout:
        with contextlib.suppress(ValueError):
            if int(line) >= step:
                return
    raise AssertionError(f"rank ended before step {step}")


@contextmanager
def a_site(folder: Path, faults: str = "") -> Generator[Site]:
    with ExitStack() as stack:
        site = Site(folder, faults)
        stack.callback(site.stop)
        site.start_switch()
        site.start_controller()
        site.wait_for_device()
        yield site
