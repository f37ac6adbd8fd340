"""How many contributions a second the engine takes on one core, without any I/O.

`python -m tests.benchmarks.bench_engine`: four ranks send sums through the shipped program; three contributions are
added to a slot, the fourth completes it and is sent to all four. The last result is checked. `--profile` shows where
time goes, `--source` prints the generated code.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cais_tools.switch.actions import ActionCall
from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.matches import Exact, Range
from cais_tools.switch.pre import Replica

PROGRAM = Path(__file__).resolve().parents[2] / "p4" / "build" / "cais.json"
RANKS, SLOTS, GROUP, OUTPUT_SET = 4, 256, 1, 16


def prepare(path: Path = PROGRAM, *, clock: Callable[[], int] | None = None) -> Engine:
    """The program with one group of four members, all of them outputs."""
    engine = Engine(load_program(path.read_text()), clock=clock)
    tables = {name.rpartition(".")[2]: table for name, table in engine.tables.items()}

    def act(table: str, suffix: str, *args: int) -> ActionCall:
        names = [engine.program.actions[ident].name for ident in tables[table].spec.actions]
        return ActionCall(next(name for name in names if name.endswith(suffix)), args)

    ports = range(1, RANKS + 1)
    engine.pre.insert_group(OUTPUT_SET, [Replica(port, 0) for port in ports])
    for port in ports:
        tables["receivers"].insert([Exact(OUTPUT_SET), Exact(port)], act("receivers", "deliver"))
        member = act("members", "set_member", 1 << (port - 1))
        tables["members"].insert([Exact(GROUP), Exact(port)], member)
    group = act("groups", "set_group", 0, SLOTS - 1, (1 << RANKS) - 1, 1)
    tables["groups"].insert([Exact(GROUP)], group)
    everything = Range(0, 0xFFFF)
    rule = act("rules", "aggregate", OUTPUT_SET)
    tables["rules"].insert([Exact(GROUP), Exact(0), everything, everything], rule, 1)
    return engine


def lanes_of(engine: Engine) -> int:
    return next(len(header.fields) for header in engine.program.headers if header.name == "payload")


def contributions(lanes: int, steps: int) -> list[tuple[int, bytes]]:
    """(port, frame) in the order of arrival."""
    values = random.Random(7)
    ethernet = bytes.fromhex("03ca1500000102000000000188b5")
    packets: list[tuple[int, bytes]] = []
    for step in range(steps):
        for port in range(1, RANKS + 1):
            header = struct.pack("!BBHHHIII", 0, GROUP, 0, step & 0xFFFF, 1, (1 << 24) + step, lanes * 4, 0)
            payload = struct.pack(f"!{lanes}I", *(values.getrandbits(32) for _ in range(lanes)))
            packets.append((port, ethernet + header + payload))
    return packets


def expected(packets: list[tuple[int, bytes]], lanes: int) -> bytes:
    """The payload of the result of the last step."""
    columns = zip(*(struct.unpack(f"!{lanes}I", frame[34:]) for _, frame in packets[-RANKS:]), strict=True)
    return struct.pack(f"!{lanes}I", *(sum(column) & 0xFFFFFFFF for column in columns))


def run(engine: Engine, packets: list[tuple[int, bytes]]) -> tuple[float, list[bytes]]:
    """Contributions in a second of processor time (other processes do not count), and all frames that came out."""
    out: list[bytes] = []
    ingress, egress = engine.process_ingress, engine.process_egress
    start = time.process_time()
    for port, frame in packets:
        for queued in ingress(port, (frame,)):
            result = egress(queued, deq_timedelta=3)
            if result is not None:
                out.append(result)
    return len(packets) / (time.process_time() - start), out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--source", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    engine = prepare(options.program)
    loaded = time.perf_counter() - start
    if options.source:
        sys.stdout.write(engine.source)
        return 0
    lanes = lanes_of(engine)
    packets = contributions(lanes, options.steps)
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(run, engine, packets)
        pstats.Stats(profile).sort_stats("tottime").print_stats(12)
        return 0
    rate, out = run(engine, packets)
    correct = len(out) == len(packets) and out[-1][34:] == expected(packets, lanes)
    verdict = "all results right" if correct else f"WRONG: {len(out)} frames out"
    sys.stdout.write(f"{lanes} lanes, loaded in {loaded:.2f} s: {rate:,.0f} contributions/s, {verdict}\n")
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
