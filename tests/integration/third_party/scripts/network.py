"""What a script asks of the test that started it: frames at the switch's ports, and a restart of the switch.

Runs in another virtual environment than the tests: the standard library is all there is.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any


def _ask(name: str, *arguments: object) -> Any:
    sys.stdout.write(f"@@ {json.dumps([name, *arguments])}\n")
    sys.stdout.flush()
    return json.loads(sys.stdin.readline())


def run(script: Callable[[], None]) -> None:
    """Run a script to its end: its client's threads must not hold it when something fails."""
    try:
        script()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def step(name: str) -> None:
    """Say in the log what comes now."""
    sys.stderr.write(f"{name}\n")


def send(port: int, *frames: bytes) -> None:
    _ask("send", port, [frame.hex() for frame in frames])


def receive(port: int, count: int = 1) -> list[bytes]:
    """The next frames that leave by a port."""
    return [bytes.fromhex(frame) for frame in _ask("receive", port, count)]


def receive_any(ports: Sequence[int], count: int) -> list[int]:
    """How many of the next `count` frames leave by each of these ports."""
    return _ask("receive_any", ports, count)


def restart() -> None:
    """Another switch at the same address, with nothing loaded."""
    _ask("restart")
