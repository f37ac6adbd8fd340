"""What `cais top` costs: CPU time with a fleet at an interval of a second, memory over a very long replay.

    python -m tests.benchmarks.bench_top cpu [--devices 20] [--groups 64] [--ports 64] [--seconds 30]
    python -m tests.benchmarks.bench_top live [the same]
    python -m tests.benchmarks.bench_top memory [--ticks 50000]

`cpu` shows recorded snapshots in a terminal of 120x40, as the screen gets them from switches; `live` has embedded
switches in another process, and counts what gRPC takes, too. Both print the CPU time in per cent of one core, of the
whole process, from when the first curves are there; it should be under 10 %. `memory` prints by how much the process
has grown from the first thousand ticks on; it should be under 5 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from cais_tools.session import SessionOptions, connect, load_shipped
from cais_tools.session.cais import CaisSwitch
from cais_tools.switch.embedded import EmbeddedSwitch, SwitchConfig
from cais_tools.top.observation import Failure, Observation, Program
from cais_tools.top.record import encode, encode_header
from cais_tools.top.screen.app import TopApp
from tests.functional.top.pilot import settle
from tests.integration.cli.terminals import InTerminal, in_terminal
from tests.integration.fleets import toml
from tests.unit.top.scenes import RULES, START, Scripted, a_snapshot, observation, slots_of, sources

_WARM_UP_S = 8.0
_FIRST_TICKS = 1000
_CLOCK_HZ = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def write_recording(path: Path, *, devices: int, groups: int, ports: int, ticks: int, interval: float = 1.0) -> None:
    """Devices under a load of their own each, so that all numbers change at every tick."""
    some = sources(devices, ports)
    with path.open("w") as file:
        file.write(encode_header(some, interval) + "\n")
        for tick in range(1, ticks + 1):
            for number, source in enumerate(some):
                load = 1.0 + number / devices
                seen = observation(source.name, 0, a_snapshot(tick, groups=groups, ports=ports, load=load))
                rules = RULES if tick % 10 == 1 else None
                file.write(encode(replace(seen, time=START + tick * interval, rules=rules)) + "\n")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_HZ


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


@contextmanager
def drained(terminal: InTerminal) -> Generator[None]:
    """Somebody must read what is drawn; `output` has the newest part of it."""
    is_over = threading.Event()

    def drain() -> None:
        while not is_over.is_set():
            terminal._read(0.1)
            terminal.output = terminal.output[-65536:]

    reader = threading.Thread(target=drain)
    reader.start()
    try:
        yield
    finally:
        is_over.set()
        reader.join()


def measure_cpu(arguments: list[str], seconds: float) -> None:
    with in_terminal("top", *arguments, columns=120, lines=40) as terminal:
        terminal.read_until(lambda output: b"OPS/S" in output)
        with drained(terminal):
            time.sleep(_WARM_UP_S)
            pid = terminal.process.pid
            before, began = cpu_seconds(pid), time.monotonic()
            time.sleep(seconds)
            used, took = cpu_seconds(pid) - before, time.monotonic() - began
            say(f"{100 * used / took:.1f} % of one core, {resident_bytes(pid) / 1e6:.0f} MB")
            terminal.press(b"q")
            terminal.process.wait(30)


def serve(folder: Path, chosen: argparse.Namespace) -> None:
    """Switches with groups whose ranks are behind all ports; they are told in cais.toml, once they are ready."""
    with ExitStack() as stack:
        addresses: dict[str, str] = {}
        for number in range(1, chosen.devices + 1):
            ports: dict[int, str] = dict.fromkeys(range(1, chosen.ports + 1), "cable:0:9")
            switch = stack.enter_context(EmbeddedSwitch(SwitchConfig("127.0.0.1:0", ports)))
            with connect(switch.address, SessionOptions(timeout=60)) as session:
                session.load(load_shipped())
                for group in range(chosen.groups):
                    ranks = [(4 * group + rank) % chosen.ports + 1 for rank in range(4)]
                    CaisSwitch(session).ensure_group(group, ranks, 16)
            addresses[f"leaf{number}"] = switch.address
        (folder / "cais.toml").write_text(toml(addresses, chosen.ports))
        say("ready")
        sys.stdin.read()


def measure_live(folder: Path, chosen: argparse.Namespace) -> None:
    numbers = [f"--{name}={getattr(chosen, name)}" for name in ("devices", "groups", "ports")]
    switches = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.bench_top", "serve", f"--folder={folder}", *numbers],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert switches.stdout is not None
    try:
        switches.stdout.readline()
        measure_cpu(["--config", str(folder / "cais.toml"), "--device", "all"], chosen.seconds)
    finally:
        switches.communicate(timeout=60)


def measure_memory(ticks: int) -> None:
    """The model and the screen take in as many ticks as there would be in half a day, as fast as they can."""
    asyncio.run(_soak(ticks))


async def _soak(ticks: int) -> None:
    feed = Scripted([], sources(2, 8))
    app = TopApp(feed)
    async with app.run_test(size=(120, 40)) as pilot:
        first = 0
        for tick in range(1, ticks + 1):
            for number, device in enumerate(("leaf1", "leaf2")):
                app.take(soak_observation(device, tick, number))
            if tick % 50 == 0:
                await settle(pilot)
            if tick == _FIRST_TICKS:
                first = _collected()
        grown = _collected() - first
        say(f"{grown / 1e6:+.2f} MB from tick {_FIRST_TICKS} to {ticks}, {resident_bytes(os.getpid()) / 1e6:.0f} MB")


def soak_observation(device: str, tick: int, number: int) -> Observation:
    """Now and then it is lost, loaded anew, or in trouble: the log gets entries all the time."""
    if number and tick % 400 > 395:
        return Observation(device, START + tick, failure=Failure("Unreachable", f"{device} is gone", None, 3))
    open_slots = slots_of(tick % 7)
    program = Program("cais", tick // 1000)
    snapshot = a_snapshot(tick % 1000 + 1, open_slots=3900 if tick % 200 < 50 else 3)
    return observation(device, tick, snapshot, open_slots=open_slots, rules=RULES, program=program)


def _collected() -> int:
    gc.collect()
    return resident_bytes(os.getpid())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cpu", "live", "memory", "serve"])
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--ticks", type=int, default=50_000)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "serve":
        serve(chosen.folder, chosen)
        return
    if chosen.what == "memory":
        measure_memory(chosen.ticks)
        return
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "fleet.ndjson"
        if chosen.what == "cpu":
            ticks = int(chosen.seconds + 2 * _WARM_UP_S)
            write_recording(file, devices=chosen.devices, groups=chosen.groups, ports=chosen.ports, ticks=ticks)
            measure_cpu(["--replay", str(file)], chosen.seconds)
        else:
            measure_live(Path(scratch), chosen)


if __name__ == "__main__":
    main()
