"""A veth pair in a namespace of its own, frames on one end, and `cais sniff` as a process on the other."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from tests.functional.runner import command, environment
from tests.integration.netns import NetworkNamespace

PATIENCE = 20.0


def send(namespace: NetworkNamespace, interface: str, frames: Sequence[bytes]) -> None:
    def run() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
            sock.bind((interface, 0))
            for frame in frames:
                sock.send(frame)

    namespace.run(run)


class Sniffer:
    """A running `cais sniff`, whose output is read as it comes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.out = self.err = ""
        self._streams = (process.stdout.fileno(), process.stderr.fileno())
        for fd in self._streams:
            os.set_blocking(fd, False)

    def look(self) -> None:
        out, err = (b"".join(iter(lambda fd=fd: _read(fd), b"")).decode() for fd in self._streams)
        self.out += out
        self.err += err

    def wait_for(self, done: Callable[[], bool]) -> None:
        give_up = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < give_up, (self.out, self.err)
            time.sleep(0.02)
            self.look()

    def said(self, text: str, times: int = 1) -> None:
        self.wait_for(lambda: self.err.count(text) >= times)

    def shown(self, lines: int) -> list[str]:
        self.wait_for(lambda: self.out.count("\n") >= lines)
        return self.out.splitlines()

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.look()
        return code

    def number(self, what: str) -> int:
        """The number before `what` in the closing lines."""
        found = re.search(rf"(\d+) packets? {what}", self.err)
        assert found, self.err
        return int(found[1])


def _read(fd: int) -> bytes:
    """What there is; nothing where there is nothing, or never will be."""
    try:
        return os.read(fd, 65_536)
    except BlockingIOError:
        return b""


@contextmanager
def sniffing(namespace: NetworkNamespace, *arguments: str) -> Generator[Sniffer]:
    """Run `cais sniff` in the namespace, from the moment on that it listens."""
    process = namespace.run(
        lambda: subprocess.Popen(
            command("sniff", *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            stdin=subprocess.DEVNULL,
        )
    )
    try:
        sniffer = Sniffer(process)
        sniffer.said("listening on")
        yield sniffer
    finally:
        process.kill()
        process.communicate()
