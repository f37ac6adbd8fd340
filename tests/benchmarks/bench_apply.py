"""Ten thousand rules: `rules apply` against the same inserts of finsy and of p4runtime-shell, same server, one run.

    python -m tests.benchmarks.bench_apply [--count 10000] [--rounds 3] [--clients DIR]

Against the embedded switch, and against bmv2 where simple_switch_grpc is on PATH. The other clients come from PyPI into
virtual environments of their own (kept in DIR); what pip cannot install is left out, saying so. Ours reads the switch,
compares and writes; theirs only write. Ratios count: the clients take turns, and the best round of each is compared.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cais_tools.config import parse_document
from cais_tools.errors import Unreachable
from cais_tools.session import SessionOptions, connect, load_shipped
from cais_tools.session.cais import CaisSwitch
from cais_tools.session.cais.applying import apply_wanted, examine
from cais_tools.session.cais.checks import SwitchFacts
from cais_tools.session.cais.findings import Document
from cais_tools.session.cais.reading import read_wanted
from cais_tools.session.cais.wanted import wanted_of
from cais_tools.session.cais.writing import as_toml, merged_tables
from cais_tools.share import shared_folder
from tests.integration.switches import running_switch
from tests.integration.third_party.environment import Environment

CLIENTS = Path(__file__).parent / "clients"
REQUIREMENTS = {"finsy": "finsy==0.30.0", "p4runtime-shell": "p4runtime-shell==0.0.6"}
SCRIPTS = {"finsy": "finsy_rules.py", "p4runtime-shell": "shell_rules.py"}
GROUPS = 4
TIMEOUT = 60.0

Seconds = dict[str, float]
"""By step: insert, read, again."""


def document(count: int) -> str:
    groups = [f"[[groups]]\nid = {group}\nports = [1, 2, 3, 4]\nslots = 256\n" for group in range(GROUPS)]
    rules = [
        f'[[rules]]\ngroup = {number % GROUPS}\nop = "allreduce"\nlayer = {number // GROUPS}\nchunk = "0-127"\n'
        for number in range(count)
    ]
    return "\n".join(groups + rules)


@contextmanager
def embedded() -> Generator[tuple[str, int]]:
    with running_switch() as switch:
        yield switch.address, 1


@contextmanager
def bmv2() -> Generator[tuple[str, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = ["simple_switch_grpc", "--no-p4", "-L", "off", "--", "--grpc-server-addr", address]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                connect(address, SessionOptions(read_only=True)).close()
                break
            except Unreachable:
                time.sleep(0.05)
        yield address, 0
    finally:
        process.kill()
        process.wait()


def ours(address: str, device_id: int, election: int, count: int) -> Seconds:
    """Apply, dump, and apply what was dumped again, for which there must be nothing to do."""
    options = SessionOptions(device_id=device_id, election_id=election << 64, timeout=TIMEOUT)
    text = document(count)
    with connect(address, options) as session:
        session.load(load_shipped())
        switch = CaisSwitch(session)
        began = time.perf_counter()
        wanted, findings = read_wanted(Document("rules.toml", *parse_document(text, "rules.toml")))
        read = time.perf_counter()
        applied = apply_wanted(switch, wanted)
        inserted = time.perf_counter()
        dumped = as_toml(merged_tables({"switch": wanted_of(switch.state())}), "dumped")
        dump = time.perf_counter()
        again, _ = read_wanted(Document("dumped.toml", *parse_document(dumped, "dumped.toml")))
        examined = examine(switch, again, SwitchFacts())
        compared = time.perf_counter()
    assert applied.complete, applied.error
    assert not findings
    assert len(again.rules) == count
    assert not examined.errors
    assert not examined.difference
    return {"parse": read - began, "insert": inserted - read, "read": dump - inserted, "again": compared - dump}


def theirs(python: Path, script: str) -> Callable[[str, int, int, int], Seconds]:
    folder = shared_folder("p4") / "build"

    def run(address: str, device_id: int, election: int, count: int) -> Seconds:
        arguments = [address, str(device_id), str(election), folder / "cais.p4info.txtpb", folder / "cais.json"]
        finished = subprocess.run(
            [python, CLIENTS / script, *arguments, str(count)], capture_output=True, text=True, check=False, timeout=600
        )
        if finished.returncode != 0:
            raise SystemExit(f"{script} failed:\n{finished.stderr[-2000:]}")
        insert, read = map(float, finished.stdout.split()[-2:])
        return {"insert": insert, "read": read}

    return run


def clients(folder: Path) -> dict[str, Callable[[str, int, int, int], Seconds]]:
    found: dict[str, Callable[[str, int, int, int], Seconds]] = {"cais": ours}
    for name, requirement in REQUIREMENTS.items():
        python = folder / name / "bin" / "python"
        try:
            if not python.exists():
                python = Environment(folder / name, [requirement]).python
        except pytest.skip.Exception as skipped:
            sys.stderr.write(f"no {name}: {skipped}\n")
        else:
            found[name] = theirs(python, SCRIPTS[name])
    return found


def measure(
    some: dict[str, Callable[[str, int, int, int], Seconds]], address: str, device_id: int, count: int, rounds: int
) -> dict[str, Seconds]:
    best: dict[str, Seconds] = {}
    election = 0
    for _ in range(rounds):
        for name, run in some.items():
            election += 1
            seconds = run(address, device_id, election, count)
            before = best.get(name, seconds)
            best[name] = {step: min(seconds[step], before[step]) for step in seconds}
    return best


def report(target: str, best: dict[str, Seconds]) -> None:
    reference = best["cais"]
    sys.stdout.write(f"\n{target:<17} {'insert s':>9} {'x cais':>7} {'read s':>9} {'x cais':>7}\n")
    for name, seconds in best.items():
        cells = [f"{seconds[step]:9.2f} {seconds[step] / reference[step]:7.2f}" for step in ("insert", "read")]
        sys.stdout.write(f"{name:<17} {' '.join(cells)}\n")
    sys.stdout.write(
        f"cais: parsing the file {reference['parse']:.2f} s, applying it again {reference['again']:.2f} s\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=Path, help="folder for the environments of the other clients")
    arguments = parser.parse_args()
    targets = {"embedded": embedded}
    if shutil.which("simple_switch_grpc") is None:
        sys.stderr.write("no bmv2: simple_switch_grpc is not on PATH\n")
    else:
        targets["bmv2"] = bmv2
    with tempfile.TemporaryDirectory() as scratch:
        some = clients(arguments.clients or Path(scratch))
        for target, start in targets.items():
            with start() as (address, device_id):
                report(target, measure(some, address, device_id, arguments.count, arguments.rounds))


if __name__ == "__main__":
    main()
