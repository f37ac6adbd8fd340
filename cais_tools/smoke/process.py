"""The embedded switch as a process of its own, which never outlives this one."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from cais_tools.errors import CaisError, Unreachable
from cais_tools.share import is_checkout

__all__ = ["SwitchProcess", "end_with_parent"]

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


class SwitchProcess:
    """`cais switch` with these ports, {port: link spec}.

    `address` is where its P4Runtime server listens, `links` the specs of the ports as they were opened.
    """

    def __init__(self, ports: Mapping[int, str]) -> None:
        # -P: what lies in the current directory is no module of ours, least of all when root runs this.
        command = [sys.executable, "-P", "-m", "cais_tools.cli", "switch", "--json", "--grpc", "127.0.0.1:0"]
        for port, spec in ports.items():
            command += ["--port", f"{port}={spec}"]
        command += ["--parent", str(os.getpid())]
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        # A session of its own: Ctrl-C is for us, and we end the switch when we are done with it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            start_new_session=True,
            env=_environment(),
        )
        try:
            self.address, self.links = self._parse_ready(self._wait_until_ready())
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raise Unreachable when the switch has ended, with the last words that it left."""
        code = self._process.poll()
        if code is None:
            return
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        raise Unreachable(f"the switch process {self.pid} has ended ({how}){self._last_words()}")

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._messages.close()

    def _wait_until_ready(self) -> bytes:
        """The first line that it writes."""
        assert self._process.stdout is not None
        end = time.monotonic() + _START_SECONDS
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise Unreachable(f"the switch process was not ready in {_START_SECONDS:.0f} s")
                part = os.read(self._process.stdout.fileno(), 65536)
                if not part:
                    raise self._start_failure()
                line += part
        return line

    def _parse_ready(self, line: bytes) -> tuple[str, dict[int, str]]:
        try:
            ready = json.loads(line)
            return str(ready["grpc"]), {int(port["port"]): str(port["link"]) for port in ready["ports"]}
        except (ValueError, KeyError, TypeError):
            said = line.decode(errors="replace").strip()
            raise Unreachable(
                f"the switch process does not say where it listens, but {said!r}{self._last_words()}"
            ) from None

    def _start_failure(self) -> CaisError:
        """The error of the child is ours."""
        self._process.wait(_STOP_SECONDS)
        self._messages.seek(0)
        for line in reversed(self._messages.read().decode(errors="replace").splitlines()):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                document = json.loads(line)
                failure = CaisError(f"the switch did not start: {document['error']}", hint=document["hint"])
                failure.exit_code = document["exit_code"]
                return failure
        return Unreachable(f"the switch did not start (exit code {self._process.returncode}){self._last_words()}")

    def _last_words(self) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""


def _environment() -> dict[str, str]:
    """The child must find this very package, also in a checkout that is not installed."""
    environment = dict(os.environ)
    if is_checkout():
        here = str(Path(__file__).resolve().parents[2])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (here, environment.get("PYTHONPATH"))))
    return environment


def end_with_parent(parent: int) -> None:
    """Have the kernel send SIGTERM to this process when its parent ends, even by SIGKILL.

    Ends at once where the parent has ended before.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        raise Unreachable(f"process {parent}, for which this switch was to run, has ended")
