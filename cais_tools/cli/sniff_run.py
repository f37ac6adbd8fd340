"""What `cais sniff` does with the packets: shows, writes, counts them; and how it ends."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cais_tools.cli.errors import INTERRUPTED, TERMINATED
from cais_tools.cli.output import emit_json, note
from cais_tools.cli.sniff_packets import Report
from cais_tools.cli.sniff_source import capture_on, names_and_filter, read_from
from cais_tools.errors import UsageError
from cais_tools.links import parse_ports
from cais_tools.sniff.batch import Direction, LinkType
from cais_tools.sniff.dump import Rotation, Writer
from cais_tools.sniff.live import LiveSource
from cais_tools.sniff.printing import Style
from cais_tools.sniff.sieve import Counts, Passed, Sieve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cais_tools.sniff.bpf import Expression
    from cais_tools.sniff.files import FileSource, FilesSource
    from cais_tools.sniff.filters import FieldFilter
    from cais_tools.sniff.ring import Statistics

__all__ = ["Request", "run"]

_DIRECTIONS = {"in": Direction.IN, "out": Direction.OUT, "inout": None}
_DAMAGED = 1


@dataclass(frozen=True)
class Request:
    """The command line."""

    words: Sequence[str]
    interfaces: Sequence[str]
    files: Sequence[str]
    write: str | None
    rotation: Rotation
    unbuffered: bool
    fields: FieldFilter
    ports: str | None
    count: int | None
    snaplen: int | None
    direction: str
    buffer: int
    style: Style
    json: bool
    expect: str | None
    views: Sequence[str]
    """What is shown instead of packets: slots, verify, stats."""


class _Signals:
    """Ctrl-C and SIGTERM end a capture in good order, a second Ctrl-C at once; SIGUSR1 asks for a summary."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.ask: Callable[[], None] = lambda: None
        self.tick: Callable[[], None] = lambda: None
        self._asked = False

    def stopped(self) -> bool:
        """Asked several times a second, whether packets come or not."""
        self.tick()
        if self._asked:
            self._asked = False
            self.ask()
        return self.received is not None

    def _stop(self, number: int, _frame: object) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = number

    def _ask(self, _number: int, _frame: object) -> None:
        self._asked = True

    @property
    def exit_code(self) -> int:
        codes: dict[int | None, int] = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
        return codes.get(self.received, 0)

    @contextlib.contextmanager
    def caught(self) -> Generator[None]:
        handlers = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop, signal.SIGUSR1: self._ask}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(request: Request) -> int:
    """Capture or read until the end; return the exit code.

    That is the verdict's, else 1 for a damaged file, else 130 or 143 where a signal was the end.
    """
    ports = parse_ports(request.ports) if request.ports else {}
    if request.fields.ports is not None and not ports:
        raise UsageError("--port: which interface is at which port?", hint="--ports 1=veth1,2=veth2,...")
    signals = _Signals()
    source, expression = _open(request, {name: number for number, name in ports.items()}, signals)
    live = source if isinstance(source, LiveSource) else None
    sieve = Sieve(
        source,
        expression=expression if live is None or (expression is not None and not expression.for_kernel) else None,
        fields=request.fields,
        direction=_DIRECTIONS[request.direction],
        snaplen=request.snaplen,
        limit=request.count,
        all_records=request.write is not None,
        ports={name: number for number, name in ports.items()},
    )
    signals.ask = lambda: _summary(sieve, live, request)
    report = Report(
        request.expect, request.views, source.interfaces, json=request.json, style=request.style, live=live is not None
    )
    signals.tick = report.tick
    with signals.caught(), contextlib.closing(sieve.passed()) as passed:
        _handle(request, sieve, passed, report, signals)
    if expression is not None:  # also of a capture without packets it is said when the expression makes no sense
        expression.check([interface.link_type for interface in source.interfaces] or [LinkType.ETHERNET])
    verdict = report.finish()
    _summary(sieve, live, request)
    return verdict or (_DAMAGED if source.damaged else signals.exit_code)


def _open(
    request: Request, ports: Mapping[str, int], signals: _Signals
) -> tuple[FileSource | FilesSource | LiveSource, Expression | None]:
    if request.files:
        if request.interfaces:
            raise UsageError("-i and -r do not go together", hint="capture, or read a capture")
        return read_from(request.files, request.words, note, signals.stopped)
    names, expression = names_and_filter(request.interfaces, request.words, ports)
    source = capture_on(names, expression, note, signals.stopped, request.buffer)
    if not request.json:
        note(f"listening on {', '.join(names)}")
    return source, expression


def _handle(request: Request, sieve: Sieve, packets: Iterator[Passed], report: Report, signals: _Signals) -> None:
    in_file = bool(request.files)  # a live capture ends by itself, with what the kernel still holds
    writer = _writer(request, sieve)
    try:
        for passed in packets:
            report.feed(passed.decoded)
            if writer is not None:
                writer.write(passed.batch)
                if writer.full:
                    break
            elif not request.views:
                report.show_packets(passed.decoded)
            if in_file and signals.stopped():
                break
    finally:
        if writer is not None:
            writer.close()


def _writer(request: Request, sieve: Sieve) -> Writer | None:
    if request.write is None:
        return None
    if request.write == "-" and sys.stdout.isatty():
        raise UsageError("-w - would write a capture to the terminal", hint="cais sniff -w - ... | tcpdump -r -")
    interfaces = sieve.source.interfaces
    link_type = interfaces[0].link_type if interfaces else LinkType.ETHERNET
    return Writer(request.write, request.rotation, link_type, unbuffered=request.unbuffered)


def _summary(sieve: Sieve, live: LiveSource | None, request: Request) -> None:
    """The closing lines, as tcpdump has them."""
    counts, kernel = sieve.counts, live.statistics() if live is not None else []
    undecoded = [each for each in sieve.source.interfaces if each.link_type not in set(LinkType)]
    if request.json:
        emit_json("cais.sniff/1", {**_counts(counts), "interfaces": _kernel(kernel)}, sys.stderr)
        return
    note(f"{_packets(counts.captured)} captured: {_kinds(counts, bool(request.fields))}")
    if live is not None:
        note(f"{_packets(sum(each.received for _, each in kernel))} received by filter")
        note(f"{_packets(sum(each.dropped for _, each in kernel))} dropped by kernel{_by_interface(kernel)}")
    for each in undecoded:
        note(f"{each.name}: packets of link type {each.link_type} are counted, not decoded")


def _packets(count: int) -> str:
    return f"{count} packet" if count == 1 else f"{count} packets"


def _kinds(counts: Counts, filtered: bool) -> str:
    kinds = [f"{counts.cais} CAIS" + (f" ({counts.passed} as asked for)" if filtered else "")]
    if counts.malformed:
        kinds.append(f"{counts.malformed} too short for a CAIS header")
    return ", ".join([*kinds, f"{counts.other} other"])


def _by_interface(kernel: Sequence[tuple[str, Statistics]]) -> str:
    if len(kernel) < 2:
        return ""
    return ": " + ", ".join(f"{name} {each.dropped} of {each.received}" for name, each in kernel)


def _counts(counts: Counts) -> dict[str, int]:
    kinds = {"cais": counts.cais, "passed": counts.passed, "malformed": counts.malformed, "other": counts.other}
    return {"captured": counts.captured, **kinds}


def _kernel(kernel: Sequence[tuple[str, Statistics]]) -> list[dict[str, str | int]]:
    return [{"name": name, "received": each.received, "dropped": each.dropped} for name, each in kernel]
