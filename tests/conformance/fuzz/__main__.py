"""`python -m tests.conformance.fuzz [differential|crash|replay] ..`: long runs of the fuzzers, for people."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cais_tools.errors import CaisError
from tests.conformance.fuzz.cases import read_case, write_case
from tests.conformance.fuzz.crash import crash_packets, crash_programs, small_programs
from tests.conformance.fuzz.crash_grpc import PROGRAMS, crash_grpc
from tests.conformance.fuzz.differential import Outcome, fuzz_program, replay
from tests.conformance.fuzz.subjects import names, read_subject
from tests.conformance.fuzz.watch import Crash

_ROW = "{:44} {:>8} {:>8} {:>8} {:>12}"


def main() -> int:
    options = _arguments(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        if options.command == "replay":
            return _replay(options.case, Path(folder))
        if options.command == "crash":
            return _crash(options.seconds, options.seed)
        return _differential(options, Path(folder))


def _arguments(words: list[str]) -> argparse.Namespace:
    commands = ("differential", "crash", "replay")
    if not words or words[0] not in (*commands, "-h", "--help"):
        words = ["differential", *words]
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.fuzz")
    parsers = parser.add_subparsers(dest="command", required=True)
    differential = parsers.add_parser("differential", help="the engine and bmv2, outputs compared (the default)")
    differential.add_argument("--packets", type=int, default=10_000, help="of all programs together")
    differential.add_argument("--programs", type=int, default=10, help="how many, our own and those with tables first")
    differential.add_argument("--only", nargs="+", metavar="NAME", help="these programs instead")
    differential.add_argument("--seed", type=int, default=1)
    differential.add_argument("--cases", type=Path, default=Path("differences"), help="folder for what differs")
    crash = parsers.add_parser("crash", help="damaged programs, packets and messages, a third of the time each")
    crash.add_argument("--seconds", type=float, default=60)
    crash.add_argument("--seed", type=int, default=int(time.time()), help="default: another each time")
    parsers.add_parser("replay", help="run a difference again").add_argument("case", type=Path)
    return parser.parse_args(words)


def _differential(options: argparse.Namespace, folder: Path) -> int:
    chosen = options.only or names()[: options.programs]
    start = time.monotonic()
    _say(_ROW.format("program", "entries", "packets", "frames", "differences"))
    outcomes: list[Outcome] = []
    for name in chosen:
        try:
            outcome = fuzz_program(read_subject(name), -(-options.packets // len(chosen)), options.seed, folder)
        except CaisError as error:
            _say(f"{name:44} not comparable: {error}")
            continue
        outcomes.append(outcome)
        _report(outcome, options.cases)
    total = Outcome("all")
    for each in outcomes:
        total.entries, total.packets = total.entries + each.entries, total.packets + each.packets
        total.frames, total.cases = total.frames + each.frames, total.cases + each.cases
        total.refused += each.refused
    _say(_line(total))
    _say(f"{len(outcomes)} programs, seed {options.seed}, {time.monotonic() - start:.0f} s")
    return 1 if total.differences else 0


def _report(outcome: Outcome, cases: Path) -> None:
    _say(_line(outcome))
    for update, ours, theirs in outcome.refused:
        _say(f"    {update}: ours {ours}, bmv2 {theirs}")
    for case in outcome.cases:
        _say(f"    {write_case(cases, case)}: {case}"[:600])


def _line(outcome: Outcome) -> str:
    return _ROW.format(outcome.program, outcome.entries, outcome.packets, outcome.frames, outcome.differences)


def _replay(path: Path, folder: Path) -> int:
    case = read_case(path)
    outcome = replay(read_subject(case.program), case, folder)
    for each in outcome.cases:
        _say(str(each))
    return 1 if outcome.differences else 0


def _crash(seconds: float, seed: int) -> int:
    kinds: dict[str, Callable[[int], Sequence[Crash]]] = {
        "damaged programs (100 each round)": _damaged_programs,
        "packets (100 each round)": lambda number: crash_packets(random.Random(number).choice(names()), 100, number),
        "messages (100 each round)": lambda number: crash_grpc([random.Random(number).choice(PROGRAMS)], 100, number),
    }
    found = 0
    for kind, attack in kinds.items():
        rounds, end = 0, time.monotonic() + seconds / len(kinds)
        while time.monotonic() < end:
            for crash in attack(seed + rounds):
                found += 1
                _say(f"    {crash}")
            rounds += 1
        _say(f"{kind}: {rounds} rounds, seeds {seed} to {seed + rounds - 1}")
    _say(f"{found} crashes")
    return 1 if found else 0


def _damaged_programs(seed: int) -> list[Crash]:
    return [crash for crash in crash_programs(small_programs(), 100, seed) if crash is not None]


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
