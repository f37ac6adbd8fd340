"""The switch and the links of a smoke test: started or attached to, and put away afterwards whatever happens."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cais_tools.errors import CaisError, Refused, Unreachable
from cais_tools.links import Link, open_link
from cais_tools.links.cable import Cable
from cais_tools.links.faults import FaultyLink
from cais_tools.links.pcap import PcapWriter, RecordingLink
from cais_tools.session import SessionOptions, SwitchSession, connect, load_shipped
from cais_tools.session.cais import CaisSwitch
from cais_tools.smoke.collective import rules_for
from cais_tools.smoke.process import SwitchProcess
from cais_tools.smoke.settings import Settings
from cais_tools.smoke.trace import TraceLink
from cais_tools.wire import Job
from cais_tools.worker import Membership

__all__ = ["Fabric", "open_fabric"]

_LOOK_EVERY = 0.1
_ASK_EVERY = 1.0


@dataclass
class Fabric:
    """Everything between the ranks. `links` and `members` are by rank."""

    address: str
    switch: CaisSwitch
    links: Sequence[TraceLink]
    faulty: Sequence[FaultyLink]
    members: Sequence[Membership]
    look: Callable[[], None]
    """Raises Unreachable when the switch has gone; called ten times a second."""
    death: Unreachable | None = None
    """How the switch went, once that is known."""
    found_dead: threading.Event = field(default_factory=threading.Event)

    @property
    def group_id(self) -> int:
        return self.members[0].group_id

    @property
    def lanes(self) -> int:
        return self.members[0].lanes

    @property
    def ports(self) -> list[int]:
        """The switch's ports, by rank."""
        return [self.members[0].ports[rank] for rank in range(len(self.members))]

    def new_job(self) -> Job:
        return self.switch.start_job(self.group_id)

    def heard(self) -> dict[int, int]:
        """Frames that the switch has received, by port."""
        cells = self.switch.session.read_counters({"port_in": self.ports})["port_in"]
        return {port: data.packets for port, data in cells.items()}

    def check(self) -> None:
        """Raise Unreachable when the switch has gone; to be called when something has failed, within `watched`."""
        # Whoever misses the switch first is seldom the one who looks for it.
        if self.found_dead.wait(2 * _LOOK_EVERY) and self.death is not None:
            raise self.death

    @contextlib.contextmanager
    def watched(self, on_death: Callable[[], None]) -> Generator[None]:
        """Call `on_death` from another thread as soon as the switch is found dead."""
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(_LOOK_EVERY):
                try:
                    self.look()
                except Unreachable as error:
                    self.death = error
                    self.found_dead.set()
                    on_death()
                    return
                except CaisError:
                    continue  # slow to answer is not dead

        thread = threading.Thread(target=watch, name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@contextlib.contextmanager
def open_fabric(settings: Settings) -> Generator[Fabric]:
    """Start or reach the switch, load the program where none is, and add the group and its rules.

    Raises Unreachable, NotPermitted (raw sockets), NotPrimary, Refused: another program runs there, the group is in
    use, a port does not exist.
    """
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(PcapWriter(settings.write)) if settings.write else None
        if settings.device is None:
            address, links, look = _start(settings, stack)
            session = stack.enter_context(connect(address))
        else:
            links = {port: _closing(open_link(spec), stack) for port, spec in settings.ports.items()}
            options = SessionOptions(device_id=settings.device_id, take_over=settings.take_over, tls=settings.tls)
            session = stack.enter_context(connect(settings.device, options))
            address, look = str(session.target), _asking(session)
        switch = _cais(session)
        faulty = [
            FaultyLink(link, replace(settings.faults, seed=_seed(settings.faults.seed, rank)))
            for rank, link in enumerate(links.values())
        ]
        outer: Sequence[Link] = faulty if settings.faults.any else list(links.values())
        traced = [TraceLink(RecordingLink(link, writer) if writer else link) for link in outer]
        members = _add_group(switch, settings, list(links), stack)
        yield Fabric(address, switch, traced, faulty, members, look)


def _start(settings: Settings, stack: contextlib.ExitStack) -> tuple[str, dict[int, Link], Callable[[], None]]:
    """An embedded switch, and a cable from each of its ports to us."""
    cables = {rank + 1: Cable() for rank in range(settings.plan.ranks)}
    for cable in cables.values():
        stack.callback(cable.close)
    process = SwitchProcess({port: f"cable:0:{cable.local_port}" for port, cable in cables.items()})
    stack.callback(process.stop)
    for port, cable in cables.items():
        cable.connect(int(process.links[port].split(":")[1]))
    return process.address, dict(cables), process.check


def _closing(link: Link, stack: contextlib.ExitStack) -> Link:
    stack.callback(link.close)
    return link


def _asking(session: SwitchSession) -> Callable[[], None]:
    """Whether the device still has our program: asked for once a second."""
    calls = 0

    def look() -> None:
        nonlocal calls
        calls += 1
        if calls % round(_ASK_EVERY / _LOOK_EVERY) == 0:
            session.check_pipeline()

    return look


def _cais(session: SwitchSession) -> CaisSwitch:
    """What runs there, if it is CAIS in any build; the shipped program, if nothing does."""
    if session.program_info() is None:
        session.load(load_shipped())
    return CaisSwitch(session)


def _add_group(
    switch: CaisSwitch, settings: Settings, ports: list[int], stack: contextlib.ExitStack
) -> list[Membership]:
    group_id = settings.group_id
    if group_id in switch.state().groups:
        raise Refused(
            f"group {group_id} is in use on {switch.session.target}",
            hint="take another one for the test: --group-id N",
        )
    if settings.device is not None:
        # Before there is anything to remove, so that Ctrl-C leaves nothing behind whenever it comes.
        stack.callback(_remove, switch, group_id)
    group = switch.ensure_group(group_id, ports).group
    switch.add_rules(rules_for(settings.plan.operations, group_id, ports))
    by_rank = dict(enumerate(ports))
    return [Membership(group_id, rank, len(ports), group.slots, switch.lanes, by_rank) for rank in range(len(ports))]


def _remove(switch: CaisSwitch, group_id: int) -> None:
    """Leave the device as it was; where the group or the device is not there, there is nothing to be removed."""
    with contextlib.suppress(CaisError):
        switch.remove_group(group_id)


def _seed(seed: int, rank: int) -> int:
    return int(np.random.SeedSequence([seed, rank]).generate_state(1)[0])
