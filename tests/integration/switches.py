"""`cais switch` as users run it: a process, found ready by its JSON line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.functional.runner import command, environment


@dataclass
class RunningSwitch:
    process: subprocess.Popen[str]
    ready: dict[str, Any]

    @property
    def address(self) -> str:
        return self.ready["grpc"]


@contextmanager
def running_switch(*ports: str, options: Sequence[str] = ()) -> Generator[RunningSwitch]:
    """A switch on any free address; by default with ports 1 to 4 whose cables lead nowhere."""
    specs = ports or tuple(f"{port}=cable:0:{9}" for port in (1, 2, 3, 4))
    arguments = [argument for spec in specs for argument in ("--port", spec)]
    process = subprocess.Popen(
        command("switch", "--grpc", "127.0.0.1:0", "--json", *arguments, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    try:
        yield RunningSwitch(process, json.loads(process.stdout.readline()))
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(20)
        process.stdout.close()
