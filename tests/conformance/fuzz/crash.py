"""Damaged programs and packets for the engine: it refuses the first with ProgramError, and takes any of the second."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cais_tools.switch.engine import Engine
from cais_tools.switch.loader import load_program
from cais_tools.switch.refusals import ProgramError
from tests.conformance.fuzz.mutate import damaged_json
from tests.conformance.fuzz.packets import PacketSource
from tests.conformance.fuzz.subjects import STF, read_subject
from tests.conformance.fuzz.values import ValuePool
from tests.conformance.fuzz.watch import Crash, Hang, bounded, last_lines

__all__ = ["crash_packets", "crash_programs", "exercise", "small_programs"]

_PASSES = 20
_SMALL = 40_000
_PLACE = re.compile(r"[a-z_][\w$?]*((\.[^ ]*?)|\[\d+\])*: .")
_NAMED = re.compile(
    r"the program (is no JSON: |is JSON, but no compiled|was compiled for another architecture)"
    r"|the program brings entries of table "
    r"|the program's (standard_metadata has no|expressions are nested)"
    r"|(the )?(action|table|parser|hash algorithm|field list|clone|resubmit|recirculate|generate_digest)[\w ]* "
)
_FRAMES = (bytes(64), b"\xff" * 200, b"\x01", bytes(range(100)))


def small_programs() -> list[Path]:
    """Programs that are quick to change and load; those with tables first."""
    paths = [path for path in sorted(STF.glob("*.json")) if path.stat().st_size < _SMALL]
    return sorted(paths, key=lambda path: '"entries"' not in path.read_text())


def crash_programs(paths: Sequence[Path], count: int, seed: int) -> Iterator[Crash | None]:
    """Load `count` damaged programs and run packets through what is loaded; one result for each."""
    rng = random.Random(seed)
    texts = {path.stem: path.read_text() for path in paths}
    for number in range(count):
        name = rng.choice(sorted(texts))
        yield exercise(f"program {name}, change {number} of seed {seed}", damaged_json(texts[name], rng))


def exercise(what: str, text: str) -> Crash | None:
    """Load a program and run packets through it; what was raised but ProgramError."""
    try:
        with bounded():
            engine = Engine(load_program(text))
            for frame in _FRAMES:
                _process(engine, 1, frame)
    except ProgramError as error:
        return None if _is_told(str(error)) else Crash(what, f"refused without a place: {error}")
    except (Exception, Hang) as error:
        return Crash(what, last_lines(error))
    return None


def _is_told(refusal: str) -> bool:
    """One line, with the place in the JSON, or the name of what does not fit together with something elsewhere."""
    return "\n" not in refusal and (_PLACE.match(refusal) or _NAMED.match(refusal)) is not None


def crash_packets(name: str, count: int, seed: int) -> list[Crash]:
    """Any bytes into a program: whatever the engine raises."""
    subject = read_subject(name)
    rng = random.Random(f"{seed} {name}")
    source = PacketSource(subject, ValuePool(subject.pipeline.config, rng), rng)
    engine = Engine(subject.program)
    crashes: list[Crash] = []
    for _ in range(count):
        port, frame = source.next()
        if rng.random() < 0.05:
            frame = rng.choice((b"", bytes(1500), rng.randbytes(9000), frame * 3))
        try:
            with bounded():
                _process(engine, port, frame)
        except (Exception, Hang) as error:
            crashes.append(Crash(f"packet {frame.hex()} at port {port} of {name}", last_lines(error)))
    return crashes


def _process(engine: Engine, port: int, frame: bytes) -> None:
    queued = engine.process_ingress(port, [frame])
    for _ in range(_PASSES):
        for each in queued:
            engine.process_egress(each)
        if not engine.pending:
            return
        queued = engine.process_pending()
