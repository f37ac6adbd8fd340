"""Packets a second of the embedded switch and of bmv2 on three programs, as ratios of one run.

    python -m tests.benchmarks.bench_programs [--count 20000] [--rounds 3]

A basic router (longest prefix match, checksums), a layer 2/3 switch with a ternary access list (`programs/`), and the
CAIS program at 64 lanes. The router's and the switch's frames are compared with those of the program in process, one by
one; the sums of CAIS with NumPy. Needs root, `ip` and simple_switch_grpc. Only the ratio counts: the switches run in
turn, several times, and the best of each is compared. `engine` is the program alone, on one core, without any I/O.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cais_tools.links import Link, open_link
from cais_tools.links.cable import Cable
from cais_tools.session import SessionOptions, connect
from cais_tools.wire.header import Op
from tests.benchmarks import bench_engine, bench_switches
from tests.benchmarks.forward import forward
from tests.benchmarks.traffic import Scenario, acl_switch, router
from tests.conformance.targets import DEVICE_ID, PORTS, cais_switch, simple_switch, veth_pair

BMV2, VETH, CABLES, ENGINE = "bmv2, veth", "embedded, veth", "embedded, cables", "engine"
# bmv2 loses frames of larger windows: its port queues hold 64 packets.
WINDOWS = {BMV2: 16, VETH: 256, CABLES: 512}
BMV2_SHARE = 8
"""bmv2 gets an eighth of the frames: it is so much slower, and the rate is what is compared."""


@dataclass
class Result:
    """The best rates of one program, packets a second by switch."""

    program: str
    rates: dict[str, float] = field(default_factory=dict[str, float])

    def offer(self, name: str, rate: float) -> None:
        self.rates[name] = max(rate, self.rates.get(name, 0.0))


# --- router and layer 2/3 switch ---


@contextmanager
def over_veth(start: Callable[[dict[int, str]], AbstractContextManager[str]]) -> Generator[tuple[str, Link, Link]]:
    with ExitStack() as stack:
        ends = {port: stack.enter_context(veth_pair()) for port in (1, 2)}
        address = stack.enter_context(start({port: pair[0] for port, pair in ends.items()}))
        links = [open_link(pair[1]) for pair in ends.values()]
        for link in links:
            stack.callback(link.close)
        yield address, links[0], links[1]


@contextmanager
def embedded(ports: dict[int, str]) -> Generator[str]:
    with cais_switch(ports) as (address, _):
        yield address


@contextmanager
def bmv2(ports: dict[int, str]) -> Generator[str]:
    with tempfile.TemporaryDirectory() as scratch, simple_switch(ports, Path(scratch) / "log") as address:
        yield address


@contextmanager
def over_cables() -> Generator[tuple[str, Link, Link]]:
    with ExitStack() as stack:
        links = {port: Cable() for port in (1, 2)}
        for link in links.values():
            stack.callback(link.close)
        specs = {port: f"cable:0:{link.local_port}" for port, link in links.items()}
        address, bound = stack.enter_context(cais_switch(specs))
        for port, link in links.items():
            link.connect(int(bound[port].split(":")[1]))
        yield address, links[1], links[2]


def measure(scenario: Scenario, rounds: int) -> Result:
    result = Result(scenario.name)
    expected = scenario.expected()
    few = expected[len(expected) // BMV2_SHARE][0] + 1
    with ExitStack() as stack:
        places = {
            CABLES: stack.enter_context(over_cables()),
            VETH: stack.enter_context(over_veth(embedded)),
            BMV2: stack.enter_context(over_veth(bmv2)),
        }
        for address, _, _ in places.values():
            program(address, scenario)
        for _ in range(rounds):
            result.offer(ENGINE, engine_rate(scenario))
            for name, (_, source, sink) in places.items():
                count = few if name == BMV2 else len(scenario.frames)
                wanted = [each for each in expected if each[0] < count]
                rate = forward(source, sink, scenario.frames[:count], wanted, window=WINDOWS[name])
                result.offer(name, rate.per_second)
    return result


def program(address: str, scenario: Scenario) -> None:
    with connect(address, SessionOptions(device_id=DEVICE_ID)) as session:
        session.load(scenario.pipeline())
        session.insert(*scenario.entries)


def engine_rate(scenario: Scenario) -> float:
    engine = scenario.switch().engine
    start = time.process_time()
    for first in range(0, len(scenario.frames), 64):
        for queued in engine.process_ingress(1, scenario.frames[first : first + 64]):
            engine.process_egress(queued)
    return len(scenario.frames) / (time.process_time() - start)


# --- CAIS ---


def measure_cais(count: int, rounds: int) -> Result:
    result = Result("cais, 64 lanes")
    packets = bench_engine.contributions(64, 2000)
    with ExitStack() as stack:
        fabrics = {name: stack.enter_context(start()) for name, start in bench_switches.targets().items()}
        for fabric in fabrics.values():
            fabric.add_group(0, PORTS, bench_switches.SLOTS)
            fabric.add_rule(0, Op.ALLREDUCE, outputs=PORTS)
        for _ in range(rounds):
            engine = bench_engine.prepare()
            result.offer(ENGINE, bench_engine.run(engine, packets)[0])
            for name, fabric in fabrics.items():
                share = BMV2_SHARE if name == BMV2 else 1
                result.offer(name, bench_switches.measure(name, fabric, count // share).per_second)
    return result


# --- report ---


def report(results: list[Result]) -> None:
    sys.stdout.write(f"{'program':<16} {'switch':<18} {'packets/s':>10} {'x bmv2':>7}\n")
    for result in results:
        reference = result.rates[BMV2]
        for name, rate in result.rates.items():
            sys.stdout.write(f"{result.program:<16} {name:<18} {rate:10.0f} {rate / reference:7.1f}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="packets (CAIS: of all ranks together)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if BMV2 not in bench_switches.targets():
        sys.stderr.write("nothing to compare with\n")
        return 1
    count, rounds = arguments.count, arguments.rounds
    report([measure(router(count), rounds), measure(acl_switch(count), rounds), measure_cais(count // 4, rounds)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
