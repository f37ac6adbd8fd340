"""Contributions a second of the embedded switch and of bmv2: same program, same host program, one run.

    python -m tests.benchmarks.bench_switches [--count 4000] [--rounds 3]

Four ranks, 64 lanes, every sum checked. Needs root, `ip`, simple_switch_grpc; what is missing is left out, saying so.
The ratio counts, not the rate: all switches are measured in turn, several times, and the best of each is compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from cais_tools.links import open_link
from cais_tools.links.cable import Cable
from cais_tools.session.program import load_shipped
from cais_tools.wire.header import Op
from tests.benchmarks.blast import Rate, blast
from tests.conformance.fabric import Fabric
from tests.conformance.targets import PORTS, bmv2_fabric, cais_switch, loaded_fabric, veth_pair

SLOTS = 256
# bmv2's port queues hold 64 packets: a larger window loses results there.
WINDOWS = {"bmv2, veth": 16, "embedded, veth": 128, "embedded, cables": 128}


@contextmanager
def embedded_over_veth() -> Generator[Fabric]:
    with ExitStack() as stack:
        ends = {port: stack.enter_context(veth_pair()) for port in PORTS}
        address, _ = stack.enter_context(cais_switch({port: pair[0] for port, pair in ends.items()}))
        links = {port: open_link(pair[1]) for port, pair in ends.items()}
        for link in links.values():
            stack.callback(link.close)
        yield stack.enter_context(loaded_fabric(address, links, load_shipped()))


@contextmanager
def embedded_over_cables() -> Generator[Fabric]:
    with ExitStack() as stack:
        links = {port: Cable() for port in PORTS}
        for link in links.values():
            stack.callback(link.close)
        specs = {port: f"cable:0:{link.local_port}" for port, link in links.items()}
        address, bound = stack.enter_context(cais_switch(specs))
        for port, link in links.items():
            link.connect(int(bound[port].split(":")[1]))
        yield stack.enter_context(loaded_fabric(address, links, load_shipped()))


@contextmanager
def bmv2_over_veth() -> Generator[Fabric]:
    with tempfile.TemporaryDirectory() as scratch, bmv2_fabric(load_shipped(), Path(scratch) / "log") as fabric:
        yield fabric


def targets() -> dict[str, Callable[[], AbstractContextManager[Fabric]]]:
    found: dict[str, Callable[[], AbstractContextManager[Fabric]]] = {"embedded, cables": embedded_over_cables}
    if os.geteuid() != 0 or shutil.which("ip") is None:
        sys.stderr.write("no veth: needs root and ip (iproute2)\n")
        return found
    found["embedded, veth"] = embedded_over_veth
    if shutil.which("simple_switch_grpc") is None:
        sys.stderr.write("no bmv2: simple_switch_grpc is not on PATH\n")
    else:
        found["bmv2, veth"] = bmv2_over_veth
    return found


def measure(name: str, fabric: Fabric, count: int) -> Rate:
    fabric.start_job(0)
    return blast(fabric.links, count=count, window=WINDOWS[name], lanes=fabric.lanes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4000, help="packets of each rank")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    best: dict[str, Rate] = {}
    with ExitStack() as stack:
        fabrics = {name: stack.enter_context(start()) for name, start in targets().items()}
        for fabric in fabrics.values():
            fabric.add_group(0, PORTS, SLOTS)
            fabric.add_rule(0, Op.ALLREDUCE, outputs=PORTS)
        for _ in range(arguments.rounds):
            for name, fabric in fabrics.items():
                rate = measure(name, fabric, arguments.count // (8 if name.startswith("bmv2") else 1))
                if name not in best or rate.per_second > best[name].per_second:
                    best[name] = rate
    report(best)


def report(best: dict[str, Rate]) -> None:
    reference = best.get("bmv2, veth")
    sys.stdout.write(f"{'switch':<18} {'contributions/s':>16} {'resent':>7} {'x bmv2':>7}\n")
    for name, rate in best.items():
        ratio = f"{rate.per_second / reference.per_second:7.1f}" if reference else "      -"
        sys.stdout.write(f"{name:<18} {rate.per_second:16.0f} {rate.resent:7} {ratio}\n")


if __name__ == "__main__":
    main()
