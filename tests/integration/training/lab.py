"""Four ranks in threads of this process, their leader's hub, and a switch of its own; the test is the controller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from cais_tools.links.cable import Cable
from cais_tools.links.faults import FaultModel, FaultyLink
from cais_tools.session import SwitchSession, connect, load_shipped
from cais_tools.session.cais import CaisSwitch, RuleSpec, Span
from cais_tools.training import directives as d
from cais_tools.training.coordinator import KINDS, Limits
from cais_tools.training.group import Group
from cais_tools.training.hub import Hub
from cais_tools.training.member import Member
from cais_tools.training.operations import Operation
from cais_tools.training.schedule import Decision
from cais_tools.training.star import Star, StarServer
from cais_tools.training.transit import SwitchPath
from cais_tools.wire import Op
from cais_tools.worker import Membership, Timing, layout
from tests.integration.switches import RunningSwitch, running_switch

RANKS, GROUP, SECRET = 4, 3, "a secret of 32 characters at most"[:32]
PORTS = tuple(range(1, RANKS + 1))
SHARED, OWNED = Span(0, 0x7FFF), Span(0x8000, 0xFFFF)
EVERYTHING = Decision(True, "a test", break_even=tuple((kind, 0) for kind in KINDS))
TIMING = Timing(timeout=60.0)

__all__ = ["EVERYTHING", "GROUP", "PORTS", "RANKS", "SHARED", "Lab", "a_lab", "integers"]


def integers(rank: int, size: int = 1000, seed: int = 0) -> np.ndarray[Any, np.dtype[np.int32]]:
    """A rank's tensor, whose sums wrap."""
    limits = np.iinfo(np.int32)
    return np.random.default_rng([seed, rank]).integers(limits.min, limits.max, size, np.int32)


class Lab:
    """`reports` is what the controller has been told."""

    def __init__(self, process: RunningSwitch, stack: ExitStack, faults: FaultModel | None, stall: float) -> None:
        self.process = process
        self.session: SwitchSession = stack.enter_context(connect(process.address))
        self.session.load(load_shipped())
        self.switch = CaisSwitch(self.session)
        self.reports: list[d.Report] = []
        self.answers: Callable[[d.Report], d.Directive | None] = lambda _: None
        self.slots = self._install()
        self.hub = Hub("127.0.0.1", RANKS, SECRET, self._reported)
        stack.callback(self.hub.close)
        self._cables: list[Cable] = stack.enter_context(_plugged(process))
        self.groups = self._join(faults, stall)
        self.members: list[Member] = [group._member for group in self.groups]
        for group in self.groups:
            stack.callback(group.abort)

    def _install(self) -> int:
        group = self.switch.ensure_group(GROUP, PORTS, 256).group
        rules = [RuleSpec(GROUP, op, SHARED, Span(), PORTS, PORTS) for op in (0, 3, 4, 5)]
        for rank, port in enumerate(PORTS):
            share = layout.share(RANKS, rank)
            chunks = Span(share.start, share.stop - 1)
            others = tuple(other for other in PORTS if other != port)
            rules.append(RuleSpec(GROUP, Op.ALLREDUCE, OWNED, chunks, PORTS, (port,)))
            rules += [RuleSpec(GROUP, op, SHARED, chunks, (port,), others) for op in (1, 2)]
        self.switch.add_rules(rules)
        return group.slots

    def _join(self, faults: FaultModel | None, stall: float) -> list[Group]:
        server = StarServer("127.0.0.1", RANKS, SECRET)
        self.hub.open(self.new_epoch(), EVERYTHING, server.port, Limits(block=8, controller=5.0))
        groups: dict[int, Group] = {}

        def join(rank: int) -> None:
            member = Member(rank, stall, 20.0)
            port = member.join(self.hub.address, SECRET)
            star = Star(rank, RANKS, ("127.0.0.1", port), SECRET, 20.0, server if rank == 0 else None)
            membership = Membership(GROUP, rank, RANKS, self.slots, self.switch.lanes)
            link = self._cables[rank] if faults is None else FaultyLink(self._cables[rank], _seeded(faults, rank))
            groups[rank] = Group(member, SwitchPath(link, membership, TIMING), star)

        threads = [threading.Thread(target=join, args=(rank,)) for rank in range(RANKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        return [groups[rank] for rank in range(RANKS)]

    def new_epoch(self) -> int:
        return self.switch.start_job(GROUP).epoch

    def _reported(self, report: d.Report) -> None:
        self.reports.append(report)
        answer = self.answers(report)
        if answer is not None:
            self.hub.directive(answer)

    def attach(self, decision: Decision = EVERYTHING) -> None:
        """Be a controller that answers everything."""

        def answer(report: d.Report) -> d.Directive | None:
            match report:
                case d.NeedBlock(first, count, _):
                    return d.Block(first, count, decision)
                case d.NeedEpoch(request):
                    return d.NewEpoch(request, self.new_epoch())
                case _:
                    return None

        self.answers = answer
        self.hub.controller(attached=True)

    def submit(self, kind: str, arrays: Sequence[Any], *, root: int = 0) -> list[Future[Any]]:
        """The same operation on every rank."""
        return [
            group.submit(Operation(kind, array, array.dtype.name, root))
            for group, array in zip(self.groups, arrays, strict=True)
        ]

    def run(self, kind: str, arrays: Sequence[Any], *, root: int = 0) -> list[Any]:
        return [future.result(30) for future in self.submit(kind, arrays, root=root)]

    def sum(self, seed: int = 0, size: int = 1000) -> None:
        """An all-reduce whose result is compared."""
        arrays = [integers(rank, size, seed) for rank in range(RANKS)]
        expected = np.sum(arrays, axis=0, dtype=np.int32)
        for result in self.run("ALL_REDUCE", arrays):
            np.testing.assert_array_equal(result, expected)

    def told(self, kind: type[Any]) -> list[Any]:
        return [report for report in self.reports if isinstance(report, kind)]

    def wait_for(self, kind: type[Any], seconds: float = 10.0) -> Any:
        """The first report of a kind."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.told(kind):
                return found[0]
            time.sleep(0.01)
        raise AssertionError(f"no {kind.__name__} within {seconds} s; there are {self.reports}")


def _seeded(faults: FaultModel, rank: int) -> FaultModel:
    return FaultModel(faults.loss, faults.duplicate, faults.reorder, faults.corrupt, rank)


@contextmanager
def _plugged(process: RunningSwitch) -> Generator[list[Cable]]:
    """The hosts' ends, where the switch's cables lead."""
    cables = [Cable(*_host_end(port["link"])) for port in process.ready["ports"]]
    try:
        yield cables
    finally:
        for cable in cables:
            cable.close()


def _host_end(link: str) -> tuple[int, int]:
    _, local, peer = link.split(":")
    return int(peer), int(local)


@contextmanager
def a_lab(faults: FaultModel | None = None, stall: float = 1.0) -> Generator[Lab]:
    with ExitStack() as stack:
        probes = [stack.enter_context(_free_port()) for _ in range(RANKS)]
        peers = [probe.local_port for probe in probes]
        for probe in probes:
            probe.close()
        process = stack.enter_context(running_switch(*(f"{rank + 1}=cable:0:{peers[rank]}" for rank in range(RANKS))))
        yield Lab(process, stack, faults, stall)


@contextmanager
def _free_port() -> Generator[Cable]:
    yield Cable()
